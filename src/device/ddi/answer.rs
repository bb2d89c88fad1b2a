//! One request, one answer.

use hyper::{StatusCode, header};

use crate::model::{ActionId, Ask, AttributesMode, Client, ControllerId, Event, Feedback, SiteTime, poll_interval};

use super::access::{authenticate, locate, resource};
use super::artifact::{self, Outcome};
use super::links::Links;
use super::response::{Response, bad_request, empty, not_found};
use super::route::Route;
use super::{Download, Head, Pending, Settings, attributes, deployment, feedback, poll};
use crate::device::{Attendance, Board, Entry, Offer, Progress};

const NO_ORDER: &str = "there is no such order for this gateway, or not any more";

/// What a request leads to.
#[derive(Debug)]
pub enum Answer {
    /// This, at once.
    Now(Response),
    /// The heart is asked first.
    Ask(Event, Pending),
    /// Bytes of an artifact, once its file is open and the heart agrees.
    Send(Download),
}

/// An answer, and what the heart should know besides.
#[derive(Debug)]
pub struct Reply {
    /// Facts to be told before the answer is asked for or sent; none for a plain poll.
    pub seen: Vec<Event>,
    /// The answer.
    pub answer: Answer,
}

/// Answers one request. `body` is complete, and at most [`super::LARGEST_BODY`] long.
pub fn answer(
    board: &Board,
    presence: &mut Attendance,
    settings: &Settings,
    now: SiteTime,
    head: &Head<'_>,
    body: &[u8],
) -> Reply {
    let mut seen = Vec::new();
    let answer = answered(board, presence, settings, now, head, body, &mut seen);
    Reply { seen, answer: answer.unwrap_or_else(Answer::Now) }
}

/// As [`answer`]; the error is an answer too.
fn answered(
    board: &Board,
    presence: &mut Attendance,
    settings: &Settings,
    now: SiteTime,
    head: &Head<'_>,
    body: &[u8],
    seen: &mut Vec<Event>,
) -> Result<Answer, Response> {
    let path = locate(settings, head)?;
    let (id, entry) = authenticate(board, settings, &path, head)?;
    let route = resource(&path, head)?;
    if let Some(peer) = head.peer {
        seen.extend(presence.comes_from(id, peer, matches!(route, Route::Poll), now));
    }
    if matches!(route, Route::Poll) {
        seen.extend(presence.poll(id, now, entry.tell_poll_from));
    } else {
        seen.extend(presence.heard(id, now));
    }
    seen.extend(head.client().and_then(|client| presence.runs(id, client, now)));
    let mut asked = Asked { id, entry, presence, now, head, links: Links::new(settings, head, &path) };
    match route {
        Route::Poll => Ok(asked.poll(settings)),
        Route::Attributes => asked.attributes(body, seen),
        Route::Deployment(action) => asked.deployment(action),
        Route::Feedback(action) => asked.feedback(action, body),
        Route::Cancel(action) => asked.cancel(action),
        Route::CancelFeedback(action) => asked.cancel_feedback(action, body),
        Route::Artifacts(module) => asked.artifacts(module),
        Route::Artifact(module, file) => asked.artifact(module, file),
        Route::Md5(module, file) => asked.md5(module, file),
    }
}

/// A request of a gateway that proved to be itself.
struct Asked<'a> {
    id: &'a ControllerId,
    entry: &'a Entry,
    presence: &'a mut Attendance,
    now: SiteTime,
    head: &'a Head<'a>,
    links: Links,
}

impl Asked<'_> {
    fn poll(&self, settings: &Settings) -> Answer {
        let asks = self.presence.shows_request(self.id.as_str(), self.entry.ask, self.now);
        let offer =
            self.entry.offer.as_ref().filter(|offer| offer.cancel || (offer.link && !self.would_install_again(offer)));
        let told = poll_interval::told(settings.poll_interval, self.id.as_str());
        let works = offer.is_some() || self.entry.ask == Ask::EachInterval;
        let told = if works { poll_interval::told_at_work(told) } else { told };
        Answer::Now(poll::controller_base(told, offer, asks, &self.links))
    }

    /// rhu needs no link to report, and installs again what is still offered after its last word was lost (b.0.2).
    fn would_install_again(&self, offer: &Offer) -> bool {
        offer.served && self.head.client() == Some(Client::Rauc)
    }

    /// Taken whether asked for or not: SWUpdate sends them after every start (b.9.4).
    fn attributes(&mut self, body: &[u8], seen: &mut Vec<Event>) -> Result<Answer, Response> {
        self.presence.attributes_sent(self.id, self.now);
        let attributes = attributes::parse(body, self.head.peer).map_err(|why| bad_request(&why))?;
        // Zephyr names itself only by what it leaves out, and by the one attribute it sends (b.10.9).
        let nameless = !self.head.headers.contains_key(header::USER_AGENT);
        if nameless && attributes.mode == AttributesMode::Merge && attributes.data.contains_key("VIN") {
            seen.extend(self.presence.runs(self.id, Client::Zephyr, self.now));
        }
        Ok(Answer::Ask(Event::Attributes(self.id.clone(), attributes), Pending::heard(self.id.clone())))
    }

    /// The link was a hint; here the brakes are decided again (b.0.2). Once fetched, the order is the gateway's.
    fn deployment(&mut self, action: Option<ActionId>) -> Result<Answer, Response> {
        let Some(offer) = self.open(action) else { return Err(not_found(NO_ORDER)) };
        if !offer.link {
            return Err(self.withdrawn());
        }
        let deployment = deployment::deployment_base(offer, &self.links);
        if offer.fetched {
            return Ok(Answer::Now(deployment));
        }
        let event = Event::Fetched(self.id.clone(), offer.action);
        Ok(Answer::Ask(event, Pending::order(self.id.clone(), deployment)))
    }

    /// 200 on any id (b.0.1): 410 and 404 lock SWUpdate up for ever.
    fn feedback(&mut self, action: Option<ActionId>, body: &[u8]) -> Result<Answer, Response> {
        let said = feedback::parse(body).map_err(|why| bad_request(&why))?;
        // An id that is none was never ours, and there is nothing to remember it by.
        let Some(action) = action else { return Ok(Answer::Now(empty(StatusCode::OK))) };
        let offer = self.open(Some(action)).filter(|_| !said.decides());
        if let Some(streams) = offer.map(|offer| self.may_stream(offer)) {
            let (message, done, of) = (said.message.clone(), said.done, said.of);
            self.presence.note(self.id, Progress { action, message, done, of, at: self.now });
            if !streams {
                return Ok(Answer::Now(empty(StatusCode::OK)));
            }
        }
        let feedback = Feedback {
            execution: said.execution,
            finished: said.finished,
            message: said.message,
            excused: self.presence.excused(self.id.as_str()),
        };
        Ok(Answer::Ask(Event::Feedback(self.id.clone(), action, feedback), Pending::heard(self.id.clone())))
    }

    /// rhu reads which order it is to drop (b.8.9); the others know from the link.
    fn cancel(&mut self, action: Option<ActionId>) -> Result<Answer, Response> {
        match self.open(action).filter(|offer| offer.cancel) {
            Some(offer) => Ok(Answer::Now(deployment::cancel(offer))),
            None => Err(not_found("this order is not cancelled, or not any more")),
        }
    }

    /// 200 on any id, as for all feedback (b.0.1). What does not end the cancellation (b.4) is answered at once.
    fn cancel_feedback(&mut self, action: Option<ActionId>, body: &[u8]) -> Result<Answer, Response> {
        let said = feedback::parse(body).map_err(|why| bad_request(&why))?;
        let Some(action) = action.filter(|_| said.decides()) else { return Ok(Answer::Now(empty(StatusCode::OK))) };
        let feedback =
            Feedback { execution: said.execution, finished: said.finished, message: said.message, excused: false };
        Ok(Answer::Ask(Event::CancelFeedback(self.id.clone(), action, feedback), Pending::heard(self.id.clone())))
    }

    /// rhu's first progress while it downloads says that RAUC installs as it reads: the heart decides (b.8.11).
    fn may_stream(&self, offer: &Offer) -> bool {
        offer.fetched && !offer.served && self.head.client() == Some(Client::Rauc)
    }

    fn artifacts(&mut self, module: &str) -> Result<Answer, Response> {
        match artifact::visible(self.entry, module, None) {
            Some(artifact) => Ok(Answer::Now(deployment::artifacts(artifact, &self.links))),
            None => Err(self.withdrawn()),
        }
    }

    fn artifact(&mut self, module: &str, file: &str) -> Result<Answer, Response> {
        let Some(artifact) = artifact::visible(self.entry, module, Some(file)) else { return Err(self.withdrawn()) };
        Ok(match artifact::request(self.id, artifact, self.head) {
            Outcome::Now(response) => Answer::Now(response),
            Outcome::Ask(event, pending) => Answer::Ask(event, pending),
            Outcome::Send(download) => Answer::Send(download),
        })
    }

    fn md5(&mut self, module: &str, file: &str) -> Result<Answer, Response> {
        let Some(artifact) = artifact::visible(self.entry, module, Some(file)) else { return Err(self.withdrawn()) };
        Ok(Answer::Now(artifact::md5sum(artifact)))
    }

    fn open(&self, action: Option<ActionId>) -> Option<&'_ Offer> {
        self.entry.offer.as_ref().filter(|offer| Some(offer.action) == action)
    }

    /// 404 for what it was once told to get; a failure that follows uses no attempt (b.0.7).
    fn withdrawn(&mut self) -> Response {
        self.presence.excuse(self.id);
        not_found(NO_ORDER)
    }
}
