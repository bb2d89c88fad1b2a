//! Artifacts: what may be downloaded, and the heads of the answers (b.6).

use std::rc::Rc;

use hyper::{Method, StatusCode, header};

use crate::model::{Bytes, ControllerId, Event, Verdict};

use super::range::{Wanted, wanted};
use super::response::{Response, not_found, refusal, too_busy};
use super::{Head, Pending};
use crate::device::{Artifact, Attendance, Entry};

/// Bytes of an artifact that a gateway may have, once the heart agrees.
#[derive(Debug)]
pub struct Download {
    /// Who wants them.
    pub gateway: ControllerId,
    /// Of what.
    pub artifact: Rc<Artifact>,
    /// The first byte.
    pub first: u64,
    /// The last byte, included; never before the first.
    pub last: u64,
    partial: bool,
}

/// What a request for an artifact leads to.
pub(super) enum Outcome {
    Now(Response),
    Ask(Event, Pending),
    Send(Download),
}

impl Download {
    /// How many bytes leave.
    pub fn length(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Is the artifact's last byte among them?
    pub fn holds_end(&self) -> bool {
        self.last + 1 == self.artifact.size
    }

    /// To be asked before the first byte leaves.
    pub fn requested(&self) -> Event {
        Event::Requested(self.gateway.clone(), self.artifact.key.digest, Bytes::Some)
    }

    /// To be asked before the artifact's last byte leaves.
    pub fn served(&self) -> Event {
        Event::Served(self.gateway.clone(), self.artifact.key.digest)
    }

    /// To be told when no more bytes leave, for whatever cause, and how many did.
    pub fn ended(&self, bytes: u64) -> Event {
        Event::BodyEnded(self.gateway.clone(), self.artifact.key.digest, bytes)
    }

    /// Do bytes leave, with this verdict on [`Download::requested`]?
    pub fn may_begin(verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Accepted | Verdict::Deploy | Verdict::AlreadyClosed => true,
            Verdict::Already
            | Verdict::Withdrawn
            | Verdict::Unknown
            | Verdict::OverQuota
            | Verdict::NotYet
            | Verdict::Contradicts(_)
            | Verdict::Needed
            | Verdict::AnotherCluster(_) => false,
        }
    }

    /// The head of the answer, after the verdict on [`Download::requested`]; `None` if there was none.
    ///
    /// # Errors
    /// The whole answer, if there are to be no bytes.
    pub fn respond(&self, presence: &mut Attendance, verdict: Option<Verdict>) -> Result<Response, Response> {
        let refusal = match verdict {
            Some(verdict) if Self::may_begin(&verdict) => return Ok(self.head()),
            Some(_) => not_found("this order is withdrawn"),
            None => too_busy(),
        };
        presence.excuse(&self.gateway);
        Err(refusal)
    }

    fn head(&self) -> Response {
        if !self.partial {
            return described(StatusCode::OK, &self.artifact);
        }
        let range = format!("bytes {}-{}/{}", self.first, self.last, self.artifact.size);
        described(StatusCode::PARTIAL_CONTENT, &self.artifact).made(header::CONTENT_RANGE, &range)
    }
}

/// The artifact, if it belongs to the gateway's fetched, open order (b.0.7).
pub(super) fn visible<'e>(entry: &'e Entry, module: &str, file: Option<&str>) -> Option<&'e Rc<Artifact>> {
    let offer = entry.offer.as_ref().filter(|offer| offer.fetched)?;
    let artifact = &offer.artifact;
    let named = file.is_none_or(|file| file == artifact.file_name);
    (named && module.parse() == Ok(artifact.key.digest.module_id())).then_some(artifact)
}

/// GET or HEAD of an artifact.
pub(super) fn request(gateway: &ControllerId, artifact: &Rc<Artifact>, head: &Head<'_>) -> Outcome {
    if head.header(header::IF_MATCH).is_some_and(|tags| !matches(tags, artifact)) {
        let why = "the artifact is another one than If-Match says";
        return Outcome::Now(refusal(StatusCode::PRECONDITION_FAILED, "lamplighter.ifMatch", why));
    }
    if head.method == Method::HEAD {
        let response = described(StatusCode::OK, artifact);
        return Outcome::Now(response.made(header::CONTENT_LENGTH, &artifact.size.to_string()));
    }
    // A date in If-Range can't be compared: an artifact has no date that survives a lost store. So: the whole file.
    let same = head.header(header::IF_RANGE).is_none_or(|tag| tag == etag(artifact));
    let range = head.header(header::RANGE).filter(|_| same);
    let send = |first, last, partial| {
        Outcome::Send(Download { gateway: gateway.clone(), artifact: Rc::clone(artifact), first, last, partial })
    };
    match wanted(range, artifact.size) {
        Wanted::Whole => send(0, artifact.size.saturating_sub(1), false),
        Wanted::Part(first, last) => send(first, last, true),
        Wanted::Nothing => {
            let event = Event::Requested(gateway.clone(), artifact.key.digest, Bytes::None);
            Outcome::Ask(event, Pending::nothing(gateway.clone(), unsatisfiable(artifact)))
        }
    }
}

/// The md5 sum as a file: digits, two spaces, name, no newline (b.1).
pub(super) fn md5sum(artifact: &Artifact) -> Response {
    let body = format!("{}  {}", artifact.sums.md5, artifact.file_name);
    Response::new(StatusCode::OK)
        .body("text/plain", body)
        .made(header::CONTENT_DISPOSITION, &attachment(&format!("{}.MD5SUM", artifact.file_name)))
}

/// What every answer about an artifact says.
fn described(status: StatusCode, artifact: &Artifact) -> Response {
    Response::new(status)
        .fixed(header::CONTENT_TYPE, "application/octet-stream")
        .made(header::ETAG, &etag(artifact))
        .made(header::CONTENT_DISPOSITION, &attachment(&artifact.file_name))
        .fixed(header::ACCEPT_RANGES, "bytes")
        .fixed(header::X_CONTENT_TYPE_OPTIONS, "nosniff")
}

fn unsatisfiable(artifact: &Artifact) -> Response {
    Response::new(StatusCode::RANGE_NOT_SATISFIABLE)
        .made(header::CONTENT_RANGE, &format!("bytes */{}", artifact.size))
        .made(header::ETAG, &etag(artifact))
}

fn etag(artifact: &Artifact) -> String {
    format!("\"{}\"", artifact.sums.sha1)
}

/// hawkBit compares the bare sha1, HTTP a quoted one: both fit.
fn matches(tags: &str, artifact: &Artifact) -> bool {
    tags.split(',').map(|tag| tag.trim().trim_matches('"')).any(|tag| tag == "*" || tag == artifact.sums.sha1)
}

/// At most 78 characters of the name, quoted unless it is a token (b.6).
fn attachment(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~+".contains(c);
    let name: String = name.chars().filter(|c| !c.is_control() && !matches!(c, '"' | '\\')).take(78).collect();
    if name.chars().all(plain) {
        format!("attachment;filename={name}")
    } else {
        format!("attachment;filename=\"{name}\"")
    }
}
