//! The way to the heart: facts are told, questions are asked. Nobody here waits while holding anything.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::model::{Event, Verdict};

/// A fact, and who waits for the verdict on it. Dropping the sender says that there is none: the commit failed, and the
/// device is told to try again.
pub type Envelope = (Event, Option<oneshot::Sender<Verdict>>);

/// So many facts may wait for a loop that is behind; then devices are sent away before more facts arise.
const MOST_UNTOLD: usize = 1024;

/// The devices' end of the channel to the heart.
#[derive(Debug)]
pub struct Sink {
    sender: mpsc::Sender<Envelope>,
    /// Facts that found the channel full. None may be lost: who is there is told only when it changes.
    untold: RefCell<VecDeque<Event>>,
    more: Notify,
}

impl Sink {
    /// The receiver must be kept when the state is rebuilt from the store.
    pub fn new(sender: mpsc::Sender<Envelope>) -> Self {
        Self { sender, untold: RefCell::default(), more: Notify::new() }
    }

    /// Is the loop so far behind that no more facts should arise?
    pub(super) fn overloaded(&self) -> bool {
        self.untold.borrow().len() >= MOST_UNTOLD
    }

    /// Tells facts, without waiting: those that don't fit are told later, before any that follow.
    pub(super) fn tell(&self, events: impl IntoIterator<Item = Event>) {
        let mut untold = self.untold.borrow_mut();
        untold.extend(events);
        while let Some(event) = untold.pop_front() {
            match self.sender.try_send((event, None)) {
                Ok(()) => {}
                Err(TrySendError::Full((event, _))) => {
                    untold.push_front(event);
                    return self.more.notify_one();
                }
                // The loop has ended for good: there is nobody to tell.
                Err(TrySendError::Closed(_)) => return untold.clear(),
            }
        }
    }

    /// Asks for a verdict, given after the commit. `None`: there is none, or not in time.
    pub(super) async fn ask(&self, event: Event, patience: Duration) -> Option<Verdict> {
        tokio::time::timeout(patience, self.learn(event)).await.ok().flatten()
    }

    /// The same for whoever must know it however late: the verdict counts even if nobody waits for it any more.
    pub(super) async fn learn(&self, event: Event) -> Option<Verdict> {
        self.catch_up().await?;
        let (verdict, answer) = oneshot::channel();
        self.sender.send((event, Some(verdict))).await.ok()?;
        answer.await.ok()
    }

    /// Tells what was left untold as soon as there is room, for ever.
    pub(super) async fn keep_up(&self) {
        loop {
            self.more.notified().await;
            if self.catch_up().await.is_none() {
                return;
            }
        }
    }

    /// `None` if the loop has ended. Takes a fact only once there is room for it, so that it may be dropped at any time.
    async fn catch_up(&self) -> Option<()> {
        while !self.untold.borrow().is_empty() {
            let room = self.sender.reserve().await.ok()?;
            if let Some(event) = self.untold.borrow_mut().pop_front() {
                room.send((event, None));
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ControllerId;

    fn seen(n: u32) -> Event {
        let id: ControllerId = format!("gw-{n}").parse().unwrap();
        Event::Seen(id)
    }

    #[tokio::test]
    async fn facts_that_find_the_channel_full_come_before_the_next_question() {
        let (sender, mut receiver) = mpsc::channel(1);
        let sink = Sink::new(sender);
        sink.tell((0..5).map(seen));
        let hear = async {
            let mut heard = Vec::new();
            while let Some((event, verdict)) = receiver.recv().await {
                heard.push(event);
                if let Some(verdict) = verdict {
                    verdict.send(Verdict::Accepted).unwrap();
                    return heard;
                }
            }
            heard
        };
        let (verdict, heard) = tokio::join!(sink.ask(seen(5), Duration::from_mins(1)), hear);
        assert_eq!(verdict, Some(Verdict::Accepted));
        assert_eq!(heard, (0..6).map(seen).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_loop_that_is_gone_or_drops_the_question_gives_no_verdict() {
        let (sender, mut receiver) = mpsc::channel(4);
        let sink = Sink::new(sender);
        let drop_it = async { drop(receiver.recv().await) };
        let (verdict, ()) = tokio::join!(sink.ask(seen(1), Duration::from_mins(1)), drop_it);
        assert_eq!(verdict, None);
        drop(receiver);
        assert_eq!(sink.ask(seen(1), Duration::from_mins(1)).await, None);
        sink.tell([seen(1)]);
        assert!(!sink.overloaded());
    }

    #[tokio::test]
    async fn a_loop_that_hangs_gives_no_verdict_in_time() {
        let (sender, _receiver) = mpsc::channel(1);
        let sink = Sink::new(sender);
        sink.tell((0..3).map(seen));
        assert_eq!(sink.ask(seen(3), Duration::from_millis(10)).await, None);
    }
}
