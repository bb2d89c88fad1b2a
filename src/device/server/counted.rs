//! A body that the heart counts: from its word that the body may begin, to its end.
//!
//! The heart hears of no end but of what it counts: one that was refused would end a body that is still on its way. And none
//! is left out: a device may hang up while the question is under way.

use std::cell::Cell;
use std::rc::Rc;

use tokio::sync::oneshot;
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::device::ddi::Download;
use crate::model::Verdict;

use super::Context;

/// Tells the heart when it is dropped, with how many bytes were handed on.
pub(super) struct Counted {
    context: Rc<Context>,
    download: Rc<Download>,
    sent: Cell<u64>,
}

/// Asks whether a body may begin. The verdict, if it comes in time, and the body that the heart counts from then on.
pub(super) async fn ask(context: &Rc<Context>, download: &Rc<Download>) -> (Option<Verdict>, Option<Counted>) {
    let (tell, said) = oneshot::channel();
    let (asked_by, body) = (Rc::clone(context), Rc::clone(download));
    spawn_local(async move {
        let verdict = asked_by.sink.learn(body.requested()).await;
        let counts = verdict.as_ref().is_some_and(Download::may_begin);
        let counted = counts.then(|| Counted { context: asked_by, download: body, sent: Cell::new(0) });
        // if nobody waits any more it ends here
        _ = tell.send((verdict, counted));
    });
    timeout(context.caps.verdict, said).await.ok().and_then(Result::ok).unwrap_or_default()
}

impl Counted {
    /// So many more bytes were handed on.
    pub(super) fn sent(&self, bytes: usize) {
        self.sent.set(self.sent.get() + bytes as u64);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.context.sink.tell([self.download.ended(self.sent.get())]);
    }
}
