//! Answers that wait for the heart's verdict.

use hyper::StatusCode;

use crate::model::{ControllerId, Verdict};

use super::response::{Response, empty, not_found, too_busy};
use crate::device::Attendance;

/// What is left to do once the verdict on an event is there.
#[derive(Debug)]
pub struct Pending {
    gateway: ControllerId,
    then: Then,
}

#[derive(Debug)]
enum Then {
    /// Give it the order, or say that there is none.
    Order(Response),
    /// Say that it was heard.
    Heard,
    /// Say that there are no such bytes.
    Nothing(Response),
}

impl Pending {
    pub(super) fn order(gateway: ControllerId, deployment: Response) -> Self {
        Self { gateway, then: Then::Order(deployment) }
    }

    pub(super) fn heard(gateway: ControllerId) -> Self {
        Self { gateway, then: Then::Heard }
    }

    pub(super) fn nothing(gateway: ControllerId, unsatisfiable: Response) -> Self {
        Self { gateway, then: Then::Nothing(unsatisfiable) }
    }

    /// The answer; `verdict` is `None` if the heart gave none: the queue is full, or a commit failed.
    pub fn respond(self, presence: &mut Attendance, verdict: Option<Verdict>) -> Response {
        let Some(verdict) = verdict else {
            presence.excuse(&self.gateway);
            return too_busy();
        };
        match (self.then, verdict) {
            (Then::Order(deployment), Verdict::Deploy) => {
                presence.fetched(&self.gateway);
                deployment
            }
            (Then::Order(_), _) | (Then::Nothing(_), Verdict::Withdrawn | Verdict::Unknown) => {
                presence.excuse(&self.gateway);
                not_found("this order is withdrawn")
            }
            (Then::Nothing(unsatisfiable), _) => unsatisfiable,
            // More attributes than fit (b.5); the ones before stay.
            (Then::Heard, Verdict::OverQuota) => too_busy(),
            // Whatever became of it (b.0.1): an order that is closed or was never ours is no error to a device.
            (Then::Heard, _) => empty(StatusCode::OK),
        }
    }
}
