//! Answers with a body that fits in memory. `Content-Length` is always exact, nothing is ever chunked.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};
use serde::Serialize;

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers; `Content-Length` only where it is not the body's (HEAD).
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: Bytes,
}

impl Response {
    pub(super) fn new(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new() }
    }

    pub(super) fn body(mut self, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.fixed(header::CONTENT_TYPE, content_type)
    }

    pub(super) fn fixed(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// A header made of text that is known to be fit for one; another is left out.
    pub(super) fn made(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    /// A header's value.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str().ok())
    }
}

/// The body of an error, in hawkBit's form. Its text must hold no `<` or `>` (b.1): clients report it back.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExceptionInfo<'a> {
    error_code: &'a str,
    message: &'a str,
}

/// An answer with nothing in it.
pub(super) fn empty(status: StatusCode) -> Response {
    Response::new(status)
}

/// An answer in JSON.
pub(super) fn json(body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => Response::new(StatusCode::OK).body("application/json", bytes),
        // Our own structs always serialise; should one ever not, the device tries again.
        Err(_) => too_busy(),
    }
}

/// A refusal that says why.
pub(super) fn refusal(status: StatusCode, code: &'static str, why: &str) -> Response {
    let message: String = why.chars().map(|c| if matches!(c, '<' | '>') || c.is_control() { ' ' } else { c }).collect();
    let body = serde_json::to_vec(&ExceptionInfo { error_code: code, message: &message }).unwrap_or_default();
    Response::new(status).body("application/json", body)
}

/// 404.
pub(super) fn not_found(what: &str) -> Response {
    refusal(StatusCode::NOT_FOUND, "lamplighter.notFound", what)
}

/// 400.
pub(super) fn bad_request(why: &str) -> Response {
    refusal(StatusCode::BAD_REQUEST, "lamplighter.badRequest", why)
}

/// 429: trouble that passes. Never 503, which SWUpdate takes for an access error (b.0.1).
pub fn too_busy() -> Response {
    let why = "temporary trouble, try again in a moment";
    refusal(StatusCode::TOO_MANY_REQUESTS, "lamplighter.tooBusy", why).fixed(header::RETRY_AFTER, "2")
}

/// 413.
pub fn too_large() -> Response {
    refusal(StatusCode::PAYLOAD_TOO_LARGE, "lamplighter.tooLarge", "a body may have 64 KiB")
}
