//! A plain socket: sends what stands for bytes of a file from the kernel's memory, all else as it is.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::caps::Caps;
use super::direct::{Direct, is_stand_in};

/// A device's socket with nothing between it and hyper.
#[derive(Debug)]
pub(super) struct Plain {
    stream: TcpStream,
    direct: Rc<Direct>,
    /// Until it has shown itself fast, when that began and how much was sent since; and its send buffer from then on.
    fast: Option<(Instant, usize, usize)>,
}

/// A device is fast once it has taken so much at more than so much a second.
const FAST_AFTER: usize = 4 << 20;
const FAST: u128 = 4_000_000;

impl Plain {
    /// Sends what is promised to `direct` where it is given its stand-ins.
    pub(super) fn new(stream: TcpStream, direct: Rc<Direct>, caps: &Caps) -> Self {
        Self { stream, direct, fast: Some((Instant::now(), 0, caps.fast_send_buffer)) }
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
}

impl AsyncRead for Plain {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Plain {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if is_stand_in(buf) { self.poll_send(cx, buf.len()) } else { Pin::new(&mut self.stream).poll_write(cx, buf) }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let as_they_are = bufs.iter().take_while(|buf| !is_stand_in(buf)).count();
        let (before, rest) = bufs.split_at(as_they_are);
        match rest.first() {
            Some(stand_in) if before.iter().all(|buf| buf.is_empty()) => self.poll_send(cx, stand_in.len()),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, before),
        }
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
