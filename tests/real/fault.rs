//! What goes wrong around a request, and the plans by which it does.

use fastrand::Rng;

/// What goes wrong around one request. Every loss comes with a kill: nothing but Lamplighter is unreliable here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Lamplighter is killed before it sees the request.
    pub before: bool,
    /// … and the request is lost with it.
    pub lose_request: bool,
    /// Lamplighter is killed in the middle of its answer, which ends there.
    pub during: bool,
    /// Lamplighter is killed after it answered.
    pub after: bool,
    /// … and the answer is lost with it.
    pub lose_answer: bool,
}

impl Faults {
    /// What goes wrong, for people.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            (self.before, "killed before"),
            (self.lose_request, "request lost"),
            (self.during, "killed during"),
            (self.after, "killed after"),
            (self.lose_answer, "answer lost"),
        ];
        all.into_iter().filter_map(|(happens, name)| happens.then_some(name)).collect()
    }
}

/// What a plan may know of a request.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances {
    /// The connection carried requests before. On such a one libcurl repeats most requests whose answer was lost, at once and
    /// on a new connection; on a new one it reports an error.
    pub reused: bool,
    /// The answer to such a request was lost before, and this is the first one since.
    pub resent: bool,
}

/// When faults happen.
pub enum Plan {
    /// Never.
    Quiet,
    /// Before and after each request. The answer is lost where the connection was used before, so that each order, report and
    /// download also arrives twice; that second request is left alone, or the client would never get an answer.
    AroundEach,
    /// As the dice fall.
    Random(Rng),
}

impl Plan {
    /// The faults of the next request.
    pub fn next(&mut self, circumstances: Circumstances) -> Faults {
        match self {
            Self::Quiet => Faults::default(),
            Self::AroundEach if circumstances.resent => Faults::default(),
            Self::AroundEach => {
                Faults { before: true, after: true, lose_answer: circumstances.reused, ..Faults::default() }
            }
            Self::Random(dice) => match dice.u8(0..10) {
                0 => Faults { before: true, ..Faults::default() },
                1 => Faults { before: true, lose_request: true, ..Faults::default() },
                2 => Faults { during: true, ..Faults::default() },
                3 => Faults { after: true, ..Faults::default() },
                4 => Faults { after: true, lose_answer: true, ..Faults::default() },
                _ => Faults::default(),
            },
        }
    }
}
