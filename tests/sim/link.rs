//! The seam between gateways and the site: what a gateway asks, and how the device room answers it.

use std::collections::BTreeMap;

use lamplighter::device::{Ask as AskFor, Board, Presence};
use lamplighter::model::{
    ActionId, Attributes, Bytes, Client, ControllerId, Digest, Event, Execution, Feedback, Finished, SiteTime,
    TokenHash, Verdict,
};

/// A request of a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The root resource.
    Poll,
    /// deploymentBase.
    Order(ActionId),
    /// The artifact, from a byte on.
    Bytes(Order, u64),
    /// Feedback.
    Say(ActionId, Execution, Finished),
    /// configData.
    Attributes(BTreeMap<String, String>),
}

/// What the gateway reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The root resource: the order's link, and whether attributes are asked for.
    Base { order: Option<ActionId>, asks: bool },
    /// deploymentBase.
    Order(Order),
    /// Bytes begin to arrive.
    Body,
    /// 416: it has all bytes.
    NoBytes,
    /// 200.
    Heard,
    /// 404.
    Gone,
    /// 429.
    Busy,
    /// No connection, or one that broke.
    Unreachable,
}

/// An order as a gateway reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub action: ActionId,
    pub digest: Digest,
    pub version: String,
    pub size: u64,
}

/// How a request is answered.
#[derive(Debug)]
pub enum Answer {
    Now(Reply),
    /// After the heart's verdict.
    Ask(Event, Pending),
    /// With bytes, after the heart's verdict.
    Send(Event),
}

/// An answer that waits for a verdict.
#[derive(Debug)]
pub struct Pending {
    gateway: ControllerId,
    reply: Reply,
}

pub fn token_hash(id: &ControllerId) -> TokenHash {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(id.as_str().bytes()).for_each(|(to, from)| *to = from);
    TokenHash::new(bytes)
}

/// Asks the device room. The events are to be told first.
pub fn ask(
    board: &Board,
    presence: &mut Presence,
    now: SiteTime,
    (id, client): (&ControllerId, Client),
    ask: &Ask,
) -> (Vec<Event>, Answer) {
    let Some((_, entry)) = board.get(id.as_str()) else { return (Vec::new(), Answer::Now(Reply::Unreachable)) };
    let mut seen = match ask {
        Ask::Poll => presence.poll(id, now, entry.tell_poll_from),
        _ => presence.heard(id, now).into_iter().collect(),
    };
    seen.extend(presence.runs(id, client, now));
    let pending = |reply| Pending { gateway: id.clone(), reply };
    let offer = entry.offer.as_ref();
    let answer = match ask {
        Ask::Poll => {
            let hidden = |offer: &&lamplighter::device::Offer| !offer.link || (client == Client::Rauc && offer.served);
            let order = offer.filter(|offer| !hidden(offer)).map(|offer| offer.action);
            let asks = entry.ask != AskFor::No && presence.shows_request(id.as_str(), entry.ask, now);
            Answer::Now(Reply::Base { order, asks })
        }
        Ask::Order(action) => match offer.filter(|offer| offer.link && offer.action == *action) {
            None => Answer::Now(Reply::Gone),
            Some(offer) => {
                let order = Reply::Order(Order {
                    action: offer.action,
                    digest: offer.artifact.key.digest,
                    version: offer.artifact.key.version.to_string(),
                    size: offer.artifact.size,
                });
                match offer.fetched {
                    true => Answer::Now(order),
                    false => Answer::Ask(Event::Fetched(id.clone(), *action), pending(order)),
                }
            }
        },
        Ask::Bytes(order, from) => match offer.filter(|o| o.fetched && o.artifact.key.digest == order.digest) {
            None => Answer::Now(Reply::Gone),
            Some(_) if *from < order.size => Answer::Send(Event::Requested(id.clone(), order.digest, Bytes::Some)),
            Some(_) => {
                Answer::Ask(Event::Requested(id.clone(), order.digest, Bytes::None), pending(Reply::NoBytes))
            }
        },
        Ask::Say(action, execution, finished) => {
            let excused = presence.excused(id.as_str());
            let word = Feedback { execution: *execution, finished: *finished, message: None, excused };
            Answer::Ask(Event::Feedback(id.clone(), *action, word), pending(Reply::Heard))
        }
        Ask::Attributes(data) => {
            presence.attributes_sent(id, now);
            let data = data.iter().map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
            let attributes = Attributes { data, ..Attributes::default() };
            Answer::Ask(Event::Attributes(id.clone(), attributes), pending(Reply::Heard))
        }
    };
    if let Answer::Now(Reply::Gone) = answer {
        presence.excuse(id);
    }
    (seen, answer)
}

impl Pending {
    /// The reply, once the verdict is there; none if the commit failed.
    pub fn reply(self, presence: &mut Presence, verdict: Option<Verdict>) -> Reply {
        match (self.reply, verdict) {
            (_, None) => {
                presence.excuse(&self.gateway);
                Reply::Busy
            }
            (Reply::Heard, _) => Reply::Heard,
            (reply, Some(Verdict::Deploy)) => {
                if matches!(reply, Reply::Order(_)) {
                    presence.fetched(&self.gateway);
                }
                reply
            }
            _ => {
                presence.excuse(&self.gateway);
                Reply::Gone
            }
        }
    }
}
