//! What goes wrong around a request, and the plans by which it does.

use fastrand::Rng;

/// What goes wrong around one request. Every loss but a cut comes with a kill: there nothing but Lamplighter is unreliable.
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
    /// The link breaks in the middle of the answer, and Lamplighter runs on.
    pub cut: bool,
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
            (self.cut, "cut"),
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
    /// It is for bytes of an artifact.
    pub download: bool,
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
    /// So many downloads break off half-way.
    CutDownloads(u8),
}

impl Plan {
    /// The faults of the next request.
    pub fn next(&mut self, circumstances: Circumstances) -> Faults {
        match self {
            Self::Quiet | Self::CutDownloads(0) => Faults::default(),
            Self::AroundEach if circumstances.resent => Faults::default(),
            Self::AroundEach => {
                Faults { before: true, after: true, lose_answer: circumstances.reused, ..Faults::default() }
            }
            Self::CutDownloads(left) => {
                *left -= u8::from(circumstances.download);
                Faults { cut: circumstances.download, ..Faults::default() }
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
