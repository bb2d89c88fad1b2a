//! A socket whose patience ends: with a header that dribbles in, and with a device that stops reading.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::caps::{Caps, DRAIN, LINGER};
use super::direct::{Direct, is_stand_in};
use super::slots::Slot;

/// A device's socket.
#[derive(Debug)]
pub(super) struct Patient {
    stream: TcpStream,
    slot: Rc<Slot>,
    header: Duration,
    stall: Duration,
    /// Runs from the first byte of a header, and for which request it is.
    header_ends: Option<(u64, Pin<Box<Sleep>>)>,
    /// Runs while the device takes nothing.
    stall_ends: Option<Pin<Box<Sleep>>>,
    hung_up: bool,
    direct: Rc<Direct>,
    /// Until it has shown itself fast, when that began and how much was sent since; and its send buffer from then on.
    fast: Option<(Instant, usize, usize)>,
}

/// A device is fast once it has taken so much at more than so much a second.
const FAST_AFTER: usize = 4 << 20;
const FAST: u128 = 4_000_000;

impl Patient {
    /// Sends what is promised to `direct` where it is given its stand-ins.
    pub(super) fn new(stream: TcpStream, slot: Rc<Slot>, caps: &Caps, direct: Rc<Direct>) -> Self {
        let Caps { header, stall, fast_send_buffer, .. } = *caps;
        let fast = Some((Instant::now(), 0, fast_send_buffer));
        Self { stream, slot, header, stall, header_ends: None, stall_ends: None, hung_up: false, direct, fast }
    }

    /// So many more bytes were sent.
    fn look_how_fast(&mut self, bytes: usize) {
        let Some((since, sent, buffer)) = &mut self.fast else { return };
        *sent += bytes;
        if *sent < FAST_AFTER {
            return;
        }
        if (*sent as u128) * 1_000 > FAST * since.elapsed().as_millis() {
            _ = set_socket_send_buffer_size(&self.stream, *buffer);
            self.fast = None;
        } else {
            (*since, *sent) = (Instant::now(), 0);
        }
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(cx))?;
            match self.direct.send(&self.stream, most) {
                // it was not ready after all
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => {
                    self.look_how_fast(*sent.as_ref().unwrap_or(&0));
                    return Poll::Ready(sent);
                }
            }
        }
    }

    /// Lets the device read our last words: closing a socket with unread bytes in it would throw them away.
    pub(super) async fn part(mut self) {
        if self.hung_up || self.stream.shutdown().await.is_err() {
            return;
        }
        let rest = async {
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

    fn check_write(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
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
        let wrote = if is_stand_in(buf) {
            self.poll_send(cx, buf.len())
        } else {
            Pin::new(&mut self.stream).poll_write(cx, buf)
        };
        self.check_write(cx, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let as_they_are = bufs.iter().take_while(|buf| !is_stand_in(buf)).count();
        let (before, rest) = bufs.split_at(as_they_are);
        let wrote = match rest.first() {
            Some(stand_in) if before.iter().all(|buf| buf.is_empty()) => self.poll_send(cx, stand_in.len()),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, before),
        };
        self.check_write(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
