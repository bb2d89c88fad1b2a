//! What the room needs to know, and what it says about its link.

use std::path::PathBuf;
use std::time::Duration;

use crate::model::{Labels, Uid};

/// Where the API server is and which of its objects are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The site's name: what claims are compared with.
    pub site: String,
    /// The file that says where the server is; none: what a pod is given.
    pub kubeconfig: Option<PathBuf>,
    /// The namespace; none: the one that the kubeconfig or the pod's service account names.
    pub namespace: Option<String>,
    /// Only objects with these labels; empty: all in the namespace.
    pub selector: Labels,
    /// Where `file:` sources of its rollouts are.
    pub files: PathBuf,
}

/// How the link to the API server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// It was not reached yet.
    Trying,
    /// What it says is followed.
    Up,
    /// It is not; why.
    Down(String),
    /// Another cluster (the first) answers than the one that the site belongs to (the second).
    Another(Uid, Uid),
}

impl Link {
    /// Every word for it.
    pub const WORDS: [&str; 4] = ["Trying", "Up", "Down", "Another"];

    /// How it is, in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Trying => "Trying",
            Self::Up => "Up",
            Self::Down(_) => "Down",
            Self::Another(..) => "Another",
        }
    }
}

/// How long things may take. The server is on the same machine or in the same building.
pub(super) struct Patience;

impl Patience {
    /// Address, connection and TLS handshake.
    pub const CONNECT: Duration = Duration::from_secs(5);
    /// A request and the whole of its answer.
    pub const ANSWER: Duration = Duration::from_secs(15);
    /// The server ends a watch by itself after so long, between the two …
    pub const WATCH: (u64, u64) = (30, 40);
    /// … and if it did not by this much later the link is dead: noticed within a minute.
    pub const WATCH_SLACK: Duration = Duration::from_secs(8);
    /// Between two tries, doubling from the first to the second.
    pub const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
}

/// A wait that is not the same everywhere: three quarters of it up to all.
pub(super) fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(0.75 + 0.25 * fastrand::f64())
}

/// The waits between tries.
#[derive(Debug, Default)]
pub(super) struct Backoff(Option<Duration>);

impl Backoff {
    /// The next one, longer than the one before.
    pub fn next(&mut self) -> Duration {
        let (first, longest) = Patience::RETRY;
        let wait = self.0.map_or(first, |before| (before * 2).min(longest));
        self.0 = Some(wait);
        jittered(wait)
    }

    /// It worked.
    pub fn reset(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_become_rarer_up_to_twice_a_minute_and_begin_anew_after_success() {
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..7).map(|_| backoff.next()).collect();
        for (wait, most) in waits.iter().zip([1, 2, 4, 8, 16, 30, 30]) {
            let most = Duration::from_secs(most);
            assert!(*wait <= most && *wait >= most.mul_f64(0.74), "{waits:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_secs(1));
    }
}
