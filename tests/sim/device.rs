//! A seeded gateway: one request at a time, one timer, and what survives its reboots.

mod install;
mod streaming;

use std::collections::VecDeque;

use lamplighter::model::{ActionId, Client, ControllerId, Digest, Execution, Finished};

use crate::fate::{Character, Fate};
use crate::fleet::{FIRMWARE, OLD, POLL};
use crate::link::{Ask, Order, Reply};

/// What a gateway does next.
#[derive(Debug, PartialEq, Eq)]
pub enum Act {
    Ask(Ask),
    /// Wake it after so many milliseconds.
    Wait(u64),
    /// It waits for bytes, or for nothing any more.
    Nothing,
}

/// An install, as the gateway saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    pub action: ActionId,
    pub version: String,
    /// It ran that version already, or was about to boot it.
    pub again: bool,
    /// It had all the bytes.
    pub whole: bool,
}

#[derive(Debug)]
pub struct Device {
    pub id: ControllerId,
    pub character: Character,
    pub runs: String,
    pub installs: Vec<Install>,
    /// Its final word went nowhere, and it has no other way to say it.
    pub word_lost: bool,
    /// Bytes per second.
    pub speed: u64,
    /// Cuts its next downloads.
    pub cuts: u8,
    random: fastrand::Rng,
    interval: u64,
    doing: Doing,
    /// Boots into this.
    staged: Option<String>,
    /// What its boot loader remembers: it has an install to report.
    to_report: Option<ActionId>,
    /// It has not sent its attributes since it started.
    fresh: bool,
    job: Option<Order>,
    partial: Option<(Digest, u64)>,
    /// Parts that RAUC still reads of the artifact that it installs.
    parts: Vec<(u64, u64)>,
    tries: u8,
    cut_tries: u32,
    /// Words that nobody asked for, sent before its next polls.
    extras: VecDeque<(ActionId, Execution, Finished)>,
}

/// What it is in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Idle,
    Polling,
    Chattering,
    SendingAttributes(Option<ActionId>),
    Fetching,
    ReadingCancellation,
    /// Said something; what follows.
    Saying(Next),
    AskingBytes,
    Receiving,
    PausingDownload,
    Installing,
    Rebooting,
    RetryingWord(u8),
    RetryingFailure(u8),
    Dark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Download,
    Install,
    /// RAUC reads on.
    Read,
    Poll,
    /// The word that its install failed, tried so often.
    Failed(u8),
    /// The word that ends the order, tried so often.
    Word(u8),
}

const SECOND: u64 = 1_000;

impl Device {
    pub fn new(id: ControllerId, character: Character, mut random: fastrand::Rng) -> Self {
        let mut extras = VecDeque::new();
        if character.fate == Fate::Strange {
            for _ in 0..random.usize(1..4) {
                let strange = ActionId::try_from(i64::from(random.i32(1..i32::MAX))).unwrap();
                extras.push_back((strange, Execution::Closed, Finished::Success));
            }
        }
        let interval = u64::try_from(POLL.as_millis()).unwrap();
        let (cuts, slow) = if let Fate::Cut(times) = character.fate { (times, 10) } else { (0, 1) };
        Self {
            id,
            character,
            runs: OLD.into(),
            installs: Vec::new(),
            word_lost: false,
            speed: random.u64(20_000..200_000) / slow,
            cuts,
            interval: random.u64(interval * 9 / 10..interval * 11 / 10),
            random,
            doing: Doing::Idle,
            staged: None,
            to_report: None,
            fresh: true,
            job: None,
            partial: None,
            parts: Vec::new(),
            tries: 0,
            cut_tries: 0,
            extras,
        }
    }

    /// How long after the site's start it polls first.
    pub fn first_wake(&mut self) -> u64 {
        self.random.u64(0..self.interval)
    }

    /// Will it ever do anything again?
    pub fn is_dark(&self) -> bool {
        self.doing == Doing::Dark || self.character.fate == Fate::NeverPolls
    }

    /// It has asked and reads nothing else before the answer.
    pub fn waits_for_reply(&self) -> bool {
        use Doing::{AskingBytes, Chattering, Fetching, Polling, ReadingCancellation, Saying, SendingAttributes};
        let waits =
            matches!(self.doing, Polling | Chattering | SendingAttributes(_) | Fetching | Saying(_) | AskingBytes);
        waits || self.doing == ReadingCancellation
    }

    /// Bytes arrive.
    pub fn is_receiving(&self) -> bool {
        self.doing == Doing::Receiving
    }

    /// It has nothing left to say on its own.
    pub fn is_at_rest(&self) -> bool {
        self.extras.is_empty() && matches!(self.doing, Doing::Idle | Doing::Polling | Doing::Dark)
    }

    /// It runs what it says; one that cannot say is believed.
    pub fn told_the_truth(&self) -> bool {
        self.runs != OLD || self.character.fate == Fate::FallsBack
    }

    /// Its timer went off.
    pub fn wake(&mut self) -> Act {
        match self.doing {
            _ if self.character.fate == Fate::NeverPolls => self.go_dark(),
            Doing::Idle => self.poll(),
            Doing::PausingDownload if self.streams() => self.read_on(),
            Doing::PausingDownload => self.ask_bytes(),
            Doing::Installing => self.installed(),
            Doing::Rebooting => self.booted(),
            Doing::RetryingWord(tries) => self.word(tries),
            Doing::RetryingFailure(tries) => self.failure(tries),
            _ => Act::Nothing,
        }
    }

    /// What it asked for last was answered.
    pub fn reply(&mut self, reply: Reply) -> Act {
        let failed = matches!(reply, Reply::Busy | Reply::Unreachable);
        match (self.doing, reply) {
            (Doing::Chattering, _) => self.poll(),
            (Doing::Polling, Reply::Base { cancelled: Some(action), .. }) => self.told_to_drop(action),
            (Doing::ReadingCancellation, Reply::Drop(action)) => self.drop_order(action),
            (Doing::Polling, Reply::Base { order, asks, .. }) => self.base(order, asks),
            (Doing::SendingAttributes(order), reply) => {
                self.fresh &= reply != Reply::Heard;
                match order {
                    Some(order) if !failed => self.fetch(order),
                    _ => self.idle(),
                }
            }
            (Doing::Fetching, Reply::Order(order)) => self.take(order),
            (Doing::Polling | Doing::Fetching, _) if failed => self.idle_after_error(),
            (Doing::Saying(Next::Failed(tries)), reply) => self.failure_answered(tries, &reply),
            (Doing::Saying(Next::Word(tries)), reply) => self.word_answered(tries, &reply),
            // SWUpdate gives up when it cannot say that it begins, and starts over at its next poll
            (Doing::Saying(Next::Download), _) if failed && self.character.client == Client::SwUpdate => self.idle(),
            (Doing::Saying(Next::Download), _) if self.streams() => self.stream(),
            (Doing::Saying(Next::Read), _) => self.read_on(),
            (Doing::Saying(Next::Download), _) => self.ask_bytes(),
            (Doing::Saying(Next::Install), _) => self.install(),
            (Doing::AskingBytes, Reply::Body) => {
                self.doing = Doing::Receiving;
                Act::Nothing
            }
            (Doing::AskingBytes, Reply::NoBytes) => self.downloaded(),
            (Doing::AskingBytes, _) if failed => self.pause_download(),
            // rhu reports what it takes for a failed download
            (Doing::AskingBytes, _) if self.character.client == Client::Rauc => self.give_up(),
            _ => self.idle(),
        }
    }

    /// All bytes arrived, or the connection broke after so many.
    pub fn received(&mut self, have: u64) -> Act {
        if self.doing != Doing::Receiving {
            return Act::Nothing;
        }
        let Some(order) = &self.job else { return self.idle() };
        if self.streams() {
            return self.part_read(have);
        }
        self.partial = Some((order.digest, have));
        if have >= order.size { self.downloaded() } else { self.pause_download() }
    }

    fn poll(&mut self) -> Act {
        if let Some((action, execution, finished)) = self.extras.pop_front() {
            self.doing = Doing::Chattering;
            return Act::Ask(Ask::Say(action, execution, finished));
        }
        self.doing = Doing::Polling;
        Act::Ask(Ask::Poll)
    }

    fn idle(&mut self) -> Act {
        self.doing = Doing::Idle;
        Act::Wait(self.interval + self.random.u64(0..SECOND))
    }

    /// rhu stays away for five minutes.
    fn idle_after_error(&mut self) -> Act {
        self.doing = Doing::Idle;
        Act::Wait(if self.character.client == Client::Rauc { 300 * SECOND } else { self.interval })
    }

    fn go_dark(&mut self) -> Act {
        self.doing = Doing::Dark;
        Act::Nothing
    }

    fn base(&mut self, order: Option<ActionId>, asks: bool) -> Act {
        if order.is_none() && self.character.client == Client::SwUpdate {
            // it reports only while an order is offered
            self.to_report = None;
        }
        let order = order.filter(|_| self.character.fate != Fate::NeverFetches);
        let unasked = self.character.client == Client::SwUpdate && self.fresh && self.to_report.is_none();
        if self.character.reports && (asks || unasked) {
            self.doing = Doing::SendingAttributes(order);
            return Act::Ask(Ask::Attributes([(FIRMWARE.to_owned(), self.runs.clone())].into()));
        }
        match order {
            Some(order) => self.fetch(order),
            None => self.idle(),
        }
    }

    fn fetch(&mut self, order: ActionId) -> Act {
        self.doing = Doing::Fetching;
        Act::Ask(Ask::Order(order))
    }

    /// It has an order: a new one, or the one that it has to report on.
    fn take(&mut self, order: Order) -> Act {
        let reports_now = match self.character.client {
            Client::SwUpdate => self.to_report.is_some(),
            _ => self.to_report == Some(order.action),
        };
        let action = order.action;
        self.job = Some(order);
        match self.character.fate {
            Fate::SilentAfterFetch => self.go_dark(),
            _ if reports_now => self.word(0),
            Fate::Lies => self.say(action, Execution::Closed, Finished::Success, Next::Poll),
            _ => {
                self.cut_tries = 0;
                self.say(action, Execution::Proceeding, Finished::None, Next::Download)
            }
        }
    }

    fn say(&mut self, action: ActionId, execution: Execution, finished: Finished, next: Next) -> Act {
        if self.character.fate == Fate::Noisy && execution == Execution::Proceeding {
            self.extras.push_back((action, execution, finished));
        }
        self.doing = Doing::Saying(next);
        Act::Ask(Ask::Say(action, execution, finished))
    }

    /// rhu resumes a complete file too, and is told 416; the others fetch it again.
    fn ask_bytes(&mut self) -> Act {
        let Some(order) = self.job.clone() else { return self.idle() };
        let have = self.partial.filter(|(digest, _)| *digest == order.digest).map_or(0, |(_, have)| have);
        let whole_again = have >= order.size && self.character.client != Client::Rauc;
        self.doing = Doing::AskingBytes;
        Act::Ask(Ask::Bytes(order, if whole_again { 0 } else { have }))
    }

    fn pause_download(&mut self) -> Act {
        self.cut_tries += 1;
        // rhu tries for ever
        if self.cut_tries > 5 && self.character.client != Client::Rauc {
            return self.idle();
        }
        self.doing = Doing::PausingDownload;
        Act::Wait(5 * SECOND)
    }

    /// After the order was withdrawn under its hands.
    fn give_up(&mut self) -> Act {
        let Some(order) = self.job.take() else { return self.idle() };
        self.say(order.action, Execution::Closed, Finished::Failure, Next::Poll)
    }
}
