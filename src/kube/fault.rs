//! What can go wrong with the API server, in words for a person.

use std::fmt::Display;

use serde::Deserialize;

/// Why the API server could not be asked, or what it did not like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// Where it is cannot be told.
    #[error("{0}")]
    Access(String),
    /// There is no connection, or it broke.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// It did not answer in time.
    #[error("it does not answer")]
    Silent,
    /// It answered with an error: the status, its reason and its message.
    #[error("it answers {0}: {2}")]
    Refused(u16, String, String),
    /// It answered with something else than it should.
    #[error("its answer is not understood: {0}")]
    Garbled(String),
    /// What we knew is too old to go on from.
    #[error("what is known of it is too old to go on from")]
    Expired,
    /// Our own store is in trouble.
    #[error("what it said could not be saved")]
    NotSaved,
    /// The whole must be looked at again.
    #[error("it is read again")]
    Again,
}

/// Words of others are cut here.
const LONGEST: usize = 300;

impl Fault {
    pub fn unreachable(error: impl Display) -> Self {
        Self::Unreachable(short(&error.to_string()))
    }

    pub fn garbled(error: impl Display) -> Self {
        Self::Garbled(short(&error.to_string()))
    }

    /// Out of an answer that is no success.
    pub fn refused(status: u16, body: &[u8]) -> Self {
        #[derive(Default, Deserialize)]
        struct Status {
            #[serde(default)]
            message: String,
            #[serde(default)]
            reason: String,
        }
        let said: Status = serde_json::from_slice(body).unwrap_or_default();
        let message = match (status, said.message.as_str()) {
            (401, _) => {
                "it does not know who we are; are the credentials expired or revoked? a new token file is read by itself"
                    .into()
            }
            (404, "404 page not found" | "" | "the server could not find the requested resource") => {
                "it does not know our kinds; apply `lamplighter crds`".into()
            }
            (_, "") => short(&String::from_utf8_lossy(body)),
            (_, message) => short(message),
        };
        if status == 410 || said.reason == "Expired" || said.reason == "ResourceExpired" {
            return Self::Expired;
        }
        Self::Refused(status, said.reason, message)
    }

    /// The object that a request was about is another one by now, or gone.
    pub fn is_about_another_object(&self) -> bool {
        matches!(self, Self::Refused(404 | 409, ..))
    }

    /// The request itself is not accepted, and never will be as it is.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Refused(400 | 413 | 415 | 422, ..))
    }
}

/// One line that a terminal can show.
pub(super) fn short(text: &str) -> String {
    let mut plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    if text.chars().count() > LONGEST {
        plain.push('…');
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_is_put_so_that_a_person_can_do_something() {
        let said = |status, body: &str| Fault::refused(status, body.as_bytes()).to_string();
        assert!(said(401, r#"{"message":"Unauthorized"}"#).contains("credentials"));
        assert!(said(404, "404 page not found").contains("lamplighter crds"));
        assert_eq!(said(403, r#"{"message":"no\u001bway"}"#), "it answers 403: no way");
        assert_eq!(said(502, "<html>"), "it answers 502: <html>");
        assert_eq!(Fault::refused(410, b""), Fault::Expired);
        assert_eq!(Fault::refused(500, br#"{"reason":"Expired"}"#), Fault::Expired);
    }
}
