//! The bodies of answers. Their length is always known, so nothing is ever chunked (b.10.3).

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::device::ddi;

use super::download::{Broken, Sending};
use super::slots::Busy;

/// What is left of an answer. While it lives, its connection has a request in flight.
pub(super) struct Body {
    content: Content,
    _busy: Busy,
}

enum Content {
    Whole(Bytes),
    File(Sending),
}

impl Body {
    /// An answer that fits in memory.
    pub(super) fn whole(response: ddi::Response, busy: Busy) -> hyper::Response<Self> {
        let content = Content::Whole(response.body.clone());
        Self::with(response, content, busy)
    }

    /// An answer that is read from a file.
    pub(super) fn file(head: ddi::Response, file: Sending, busy: Busy) -> hyper::Response<Self> {
        Self::with(head, Content::File(file), busy)
    }

    fn with(response: ddi::Response, content: Content, busy: Busy) -> hyper::Response<Self> {
        let mut answer = hyper::Response::new(Self { content, _busy: busy });
        *answer.status_mut() = response.status;
        answer.headers_mut().extend(response.headers);
        answer
    }

    fn left(&self) -> u64 {
        match &self.content {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::File(sending) => sending.left(),
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        match &mut self.get_mut().content {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Content::File(sending) => sending.poll_next(cx).map(|next| next.map(|read| read.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
