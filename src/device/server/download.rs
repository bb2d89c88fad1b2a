//! An artifact on its way to a device: opened, agreed upon, sent, and its last byte held back until that is committed.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as Wake, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rustix::io::{ReadWriteFlags, preadv2};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use crate::device::ddi::{self, Download};
use crate::model::{Event, Verdict};

use super::counted::{self, Counted};
use super::direct::{self, Direct};
use super::share::Share;
use super::{Context, Opened};

/// Why a body ends before its length: the device sees a cut connection and resumes; it is never given padding.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error("the artifact in the cache cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("reading the artifact was given up: {0}")]
    Abandoned(#[from] tokio::task::JoinError),
    #[error("that the artifact was served could not be recorded")]
    Unrecorded,
    #[error("its order was withdrawn meanwhile")]
    Withdrawn,
}

/// The heart hears of waiting once it is so much: it is worth nothing before a deadline, and those are longer.
const TELL_EVERY: Duration = Duration::from_secs(1);
/// At a body's end less is worth it: a client that reads in small ranges has many.
const WORTH_TELLING: Duration = Duration::from_millis(10);

/// A chunk on its way from the file, and the buffer it came in.
type Reading = Pin<Box<dyn Future<Output = Result<(Bytes, BytesMut), Broken>>>>;

/// The rest of an artifact's bytes.
pub(super) struct Sending {
    moving: Rc<Moving>,
    next: u64,
    /// The chunk that is being read.
    reading: Option<Reading>,
    /// Where the next chunk goes; its memory is used again once the socket has taken the one before.
    buffer: BytesMut,
}

/// A body toward a gateway, until whatever ends it.
struct Moving {
    context: Rc<Context>,
    download: Rc<Download>,
    counted: Counted,
    file: Arc<File>,
    /// Where bytes are promised instead of read.
    direct: Option<Rc<Direct>>,
    /// How long it waited for its turns, as far as the heart has not heard of it.
    paced: Cell<Duration>,
    _share: Share,
    _permit: OwnedSemaphorePermit,
}

/// Gets everything ready for the first byte to leave.
///
/// # Errors
/// The answer, if no byte is to leave.
pub(super) async fn start(
    context: &Rc<Context>,
    download: Download,
    direct: Option<Rc<Direct>>,
) -> Result<(ddi::Response, Sending), ddi::Response> {
    let (asked, download) = (Instant::now(), Rc::new(download));
    let ready = async {
        let share = share(context, &download).await?;
        let permit = permit(context).await?;
        Some((share, permit, open(context, &download).await?))
    };
    let Some((share, permit, file)) = ready.await else {
        context.presence.borrow_mut().excuse(&download.gateway);
        return Err(ddi::too_busy());
    };
    let waited = asked.elapsed();
    let (verdict, counted) = counted::ask(context, &download).await;
    let head = download.respond(&mut context.presence.borrow_mut(), verdict)?;
    let Some(counted) = counted else { return Err(ddi::too_busy()) };
    let next = download.first;
    let moving = Rc::new(Moving {
        context: Rc::clone(context),
        download,
        counted,
        file: Arc::new(file),
        direct,
        paced: Cell::new(waited),
        _share: share,
        _permit: permit,
    });
    Ok((head, Sending { moving, next, reading: None, buffer: BytesMut::new() }))
}

/// The gateway's own leave for one more; waits for one of its bodies to end, if not too many wait.
async fn share(context: &Rc<Context>, download: &Download) -> Option<Share> {
    if let Some(share) = context.shares.try_take(&download.gateway) {
        return Some(share);
    }
    let _waiting = Waiting::new(context)?;
    timeout(context.caps.repair, context.shares.take(&download.gateway)).await.ok()?
}

/// Leave to send a body; waits for another to end, if not too many do.
async fn permit(context: &Rc<Context>) -> Option<OwnedSemaphorePermit> {
    let bodies = Arc::clone(&context.bodies);
    if let Ok(permit) = Arc::clone(&bodies).try_acquire_owned() {
        return Some(permit);
    }
    let _waiting = Waiting::new(context)?;
    timeout(context.caps.repair, bodies.acquire_owned()).await.ok()?.ok()
}

/// One that waits for leave.
struct Waiting(Rc<Context>);

impl Waiting {
    fn new(context: &Rc<Context>) -> Option<Self> {
        let waiting = context.waiting.get();
        (waiting < context.caps.waiting).then(|| {
            context.waiting.set(waiting + 1);
            Self(Rc::clone(context))
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}

/// The file; one that is being verified or repaired holds the request for a while (b.0.7).
async fn open(context: &Context, download: &Download) -> Option<File> {
    let pause = (context.caps.repair / 30).max(Duration::from_millis(10));
    let end = Instant::now() + context.caps.repair;
    loop {
        match (context.open)(&download.artifact.key.digest) {
            Opened::Ready(file) => return Some(file),
            Opened::NotReady if Instant::now() < end => sleep(pause).await,
            Opened::NotReady => return None,
        }
    }
}

impl Sending {
    /// How many bytes are still to come.
    pub(super) fn left(&self) -> u64 {
        self.moving.download.last + 1 - self.next
    }

    /// The next bytes; `None` at the end.
    pub(super) fn poll_next(&mut self, wake: &mut Wake<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        let (moving, next) = (&self.moving, self.next);
        let buffer = &mut self.buffer;
        let reading =
            self.reading.get_or_insert_with(|| Box::pin(chunk(Rc::clone(moving), next, std::mem::take(buffer))));
        let read = ready!(reading.as_mut().poll(wake));
        self.reading = None;
        Poll::Ready(Some(match read {
            Ok((bytes, buffer)) => {
                self.buffer = buffer;
                self.next += bytes.len() as u64;
                self.moving.sent(bytes.len());
                Ok(bytes)
            }
            Err(broken) => {
                self.moving.broke(&broken);
                Err(broken)
            }
        }))
    }
}

/// The chunk at `offset`; the one with the artifact's last byte waits until that is committed.
async fn chunk(moving: Rc<Moving>, offset: u64, mut buffer: BytesMut) -> Result<(Bytes, BytesMut), Broken> {
    let left = moving.download.last + 1 - offset;
    let caps = &moving.context.caps;
    let most = if moving.direct.is_some() { caps.piece.min(direct::MOST) } else { caps.chunk };
    let turn = moving.context.pace.turn_of(most, caps.bodies);
    let length = usize::try_from(left).unwrap_or(usize::MAX).min(turn);
    moving.waited(moving.context.pace.wait(length).await);
    let file = Arc::clone(&moving.file);
    if moving.direct.is_some() {
        if !direct::is_held(&file, offset, length)? {
            spawn_blocking(move || direct::hold(&file, offset, length)).await??;
        }
    } else {
        // here and not in the closure: each thread that allocates keeps memory of its own
        buffer.resize(length, 0);
        if !read_cached(&file, offset, &mut buffer) {
            let read = spawn_blocking(move || file.read_exact_at(&mut buffer, offset).map(|()| buffer));
            buffer = read.await??;
        }
    }
    if length as u64 == left && moving.download.holds_end() {
        let verdict = moving.context.sink.ask(moving.download.served(), moving.context.caps.verdict).await;
        match verdict.ok_or(Broken::Unrecorded)? {
            Verdict::Accepted | Verdict::Deploy => {}
            // without it nothing is installed that nobody answers for
            _ => return Err(Broken::Withdrawn),
        }
    }
    let bytes = match &moving.direct {
        Some(direct) => direct.promise(Arc::clone(&moving.file), offset, length),
        None => buffer.split().freeze(),
    };
    Ok((bytes, buffer))
}

/// Fills `buffer` if the kernel holds all of it in memory, and says whether it did. Most chunks are there, since many
/// gateways take the same artifact; copying one takes less than asking another thread to.
fn read_cached(file: &File, offset: u64, buffer: &mut [u8]) -> bool {
    let length = buffer.len();
    preadv2(file, &mut [IoSliceMut::new(buffer)], offset, ReadWriteFlags::NOWAIT).is_ok_and(|read| read == length)
}

impl Moving {
    /// Bytes were handed on: the gateway lives.
    fn sent(&self, bytes: usize) {
        self.counted.sent(bytes);
        self.context.stats.count(|counts| counts.served_bytes += bytes as u64);
        let seen = self.context.presence.borrow_mut().heard(&self.download.gateway, (self.context.clock)());
        self.context.sink.tell(seen);
    }

    /// The gateway could not help it: its deadline stands still for as long.
    fn waited(&self, time: Duration) {
        self.paced.set(self.paced.get() + time);
        if self.paced.get() >= TELL_EVERY {
            self.tell_paced();
        }
    }

    fn tell_paced(&self) {
        self.context.sink.tell([Event::Paced(self.download.gateway.clone(), self.paced.take())]);
    }

    /// Our fault: a failure that the gateway reports next uses no attempt.
    fn broke(&self, broken: &Broken) {
        self.context.presence.borrow_mut().excuse(&self.download.gateway);
        self.context.stats.count(|counts| counts.broken += 1);
        if let Broken::Unreadable(_) = broken {
            (self.context.unreadable)(&self.download.artifact.key.digest);
        }
        tracing::warn!(gateway = %self.download.gateway, digest = %self.download.artifact.key.digest, error = %broken,
            "an artifact's body was cut");
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        if self.paced.get() >= WORTH_TELLING {
            self.tell_paced();
        }
        if self.direct.as_ref().is_some_and(|direct| direct.is_unreadable()) {
            self.broke(&Broken::Unreadable(io::ErrorKind::UnexpectedEof.into()));
        }
    }
}
