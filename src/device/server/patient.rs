//! A socket whose patience ends: with a header that dribbles in, and with a device that stops reading.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::caps::{Caps, DRAIN, LINGER};
use super::slots::Slot;
use super::socket::Socket;

/// A device's socket.
#[derive(Debug)]
pub(super) struct Patient {
    stream: Socket,
    slot: Rc<Slot>,
    header: Duration,
    stall: Duration,
    /// Runs from the first byte of a header, and for which request it is.
    header_ends: Option<(u64, Pin<Box<Sleep>>)>,
    /// Runs while the device takes nothing.
    stall_ends: Option<Pin<Box<Sleep>>>,
    hung_up: bool,
}

impl Patient {
    pub(super) fn new(stream: Socket, slot: Rc<Slot>, caps: &Caps) -> Self {
        let Caps { header, stall, .. } = *caps;
        Self { stream, slot, header, stall, header_ends: None, stall_ends: None, hung_up: false }
    }

    /// Lets the device read our last words: closing a socket with unread bytes in it would throw them away.
    pub(super) async fn part(mut self) {
        if self.hung_up {
            return;
        }
        let rest = async {
            // under TLS what the device does not take is still to be sent before that
            if self.stream.shutdown().await.is_err() {
                return;
            }
            let (mut scrap, mut read) = (vec![0; 4096], 0);
            while read < DRAIN {
                match self.stream.read(&mut scrap).await {
                    Ok(0) | Err(_) => return,
                    Ok(bytes) => read += bytes,
                }
            }
        };
        _ = tokio::time::timeout(LINGER, rest).await;
    }

    /// Is the header that is arriving still in time?
    fn check_header(&mut self, cx: &mut Context<'_>, arrived: bool) -> io::Result<()> {
        let Some(request) = self.slot.waits_for() else {
            self.header_ends = None;
            return Ok(());
        };
        if self.header_ends.as_ref().is_some_and(|(of, _)| *of != request) {
            self.header_ends = None;
        }
        if arrived && self.header_ends.is_none() {
            self.header_ends = Some((request, Box::pin(sleep(self.header))));
        }
        let late = self.header_ends.as_mut().is_some_and(|(_, ends)| ends.as_mut().poll(cx).is_ready());
        if late { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }

    fn check_write<T>(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stall_ends = None;
            return wrote;
        }
        let stall = self.stall;
        let ends = self.stall_ends.get_or_insert_with(|| Box::pin(sleep(stall)));
        ready!(ends.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        let arrived = buf.filled().len() > before;
        if matches!(read, Poll::Ready(Ok(()))) && !arrived {
            self.hung_up = true;
        }
        self.check_header(cx, arrived)?;
        read
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.check_write(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.check_write(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // under TLS what was written may still be with us
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.check_write(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
