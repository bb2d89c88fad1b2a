//! A seeded gateway: one request at a time, one timer, and what survives its reboots.

mod install;
mod streaming;

use std::collections::VecDeque;
use std::time::Duration;

use super::character::{Fate, Role};
use super::link::{Ask, Order, Reply};
use crate::model::{ActionId, Client, Digest, Execution, Finished};

/// What a gateway does next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Act {
    Ask(Ask),
    /// Wake it after so many milliseconds.
    Wait(u64),
    /// It waits for bytes, or for nothing any more.
    Nothing,
}

/// An install, as the gateway saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// By which order.
    pub action: ActionId,
    /// What.
    pub version: String,
    /// The file.
    pub digest: Digest,
    /// It ran that version already, or was about to boot it.
    pub again: bool,
    /// It had all the bytes.
    pub whole: bool,
}

/// A gateway.
#[derive(Debug)]
pub struct Device {
    /// The part that it plays.
    pub role: Role,
    /// What it runs.
    pub runs: String,
    /// What it installed.
    pub installs: Vec<Install>,
    /// It was given an order at some time.
    pub touched: bool,
    /// Its final word went nowhere, and it has no other way to say it.
    pub word_lost: bool,
    /// It has power.
    pub on: bool,
    /// The network leads to it.
    pub reachable: bool,
    /// Since when the network or its power is off, or it does nothing any more, in milliseconds.
    pub(super) dead_since: Option<u64>,
    /// The number of its timer or request that counts.
    pub(super) turn: u64,
    /// It may run something else than before.
    pub(super) booted: bool,
    /// Bytes per second.
    pub(super) speed: u64,
    /// Cuts its next downloads.
    pub(super) cuts: u8,
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
    /// It has no power.
    Off,
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
    /// A gateway that was never updated, and polls about so often.
    pub(super) fn new(role: Role, interval: Duration, mut random: fastrand::Rng) -> Self {
        let mut extras = VecDeque::new();
        if role.character.fate == Fate::Strange {
            let ids = (0..random.usize(1..4)).map(|_| i64::from(random.i32(1..i32::MAX))).collect::<Vec<_>>();
            let strange = ids.into_iter().filter_map(|id| ActionId::try_from(id).ok());
            extras.extend(strange.map(|id| (id, Execution::Closed, Finished::Success)));
        }
        let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX).clamp(10, 86_400_000);
        let (cuts, slow) = match role.character.fate {
            Fate::Cut(times) => (times, 10),
            Fate::Slow => (0, 100),
            _ => (0, 1),
        };
        Self {
            runs: role.runs.clone(),
            role,
            installs: Vec::new(),
            touched: false,
            word_lost: false,
            on: true,
            reachable: true,
            dead_since: None,
            turn: 0,
            booted: true,
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
    pub(super) fn first_wake(&mut self) -> u64 {
        self.random.u64(0..self.interval)
    }

    /// What becomes of its update, or would.
    pub(super) fn fate(&self) -> Fate {
        let other = |only: &String| self.job.as_ref().is_some_and(|order| order.version != *only);
        if self.role.only.as_ref().is_some_and(other) { Fate::Good } else { self.role.character.fate }
    }

    fn client(&self) -> Client {
        self.role.character.client
    }

    /// It will not do anything again by itself.
    pub(super) fn went_dark(&self) -> bool {
        self.doing == Doing::Dark
    }

    /// Its power goes, or comes back: then it boots what is staged, and knows what a gateway keeps on its disk.
    pub(super) fn switch(&mut self, on: bool) -> Act {
        self.on = on;
        if !on {
            self.doing = Doing::Off;
            return Act::Nothing;
        }
        self.parts.clear();
        self.doing = Doing::Rebooting;
        Act::Wait(self.random.u64(10 * SECOND..40 * SECOND))
    }

    /// It has asked and reads nothing else before the answer.
    pub(super) fn waits_for_reply(&self) -> bool {
        use Doing::{AskingBytes, Chattering, Fetching, Polling, ReadingCancellation, Saying, SendingAttributes};
        let waits =
            matches!(self.doing, Polling | Chattering | SendingAttributes(_) | Fetching | Saying(_) | AskingBytes);
        waits || self.doing == ReadingCancellation
    }

    /// Bytes arrive.
    pub(super) fn is_receiving(&self) -> bool {
        self.doing == Doing::Receiving
    }

    /// It has nothing left to say on its own.
    pub(super) fn is_at_rest(&self) -> bool {
        self.extras.is_empty() && matches!(self.doing, Doing::Idle | Doing::Polling | Doing::Dark)
    }

    /// Its timer went off.
    pub(super) fn wake(&mut self) -> Act {
        match self.doing {
            _ if self.fate() == Fate::NeverPolls => self.go_dark(),
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
    pub(super) fn reply(&mut self, reply: Reply) -> Act {
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
            (Doing::Saying(Next::Download), _) if failed && self.client() == Client::SwUpdate => self.idle(),
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
            (Doing::AskingBytes, _) if self.client() == Client::Rauc => self.give_up(),
            _ => self.idle(),
        }
    }

    /// All bytes arrived, or the connection broke after so many.
    pub(super) fn received(&mut self, have: u64) -> Act {
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
        Act::Wait(if self.client() == Client::Rauc { 300 * SECOND } else { self.interval })
    }

    fn go_dark(&mut self) -> Act {
        self.doing = Doing::Dark;
        Act::Nothing
    }

    fn base(&mut self, order: Option<ActionId>, asks: bool) -> Act {
        if order.is_none() && self.client() == Client::SwUpdate {
            // it reports only while an order is offered
            self.to_report = None;
        }
        let order = order.filter(|_| self.fate() != Fate::NeverFetches);
        let unasked = self.client() == Client::SwUpdate && self.fresh && self.to_report.is_none();
        if self.role.character.reports && (asks || unasked) {
            self.doing = Doing::SendingAttributes(order);
            let mut attributes = self.role.attributes.clone();
            attributes.insert(self.role.key.clone(), self.runs.clone());
            return Act::Ask(Ask::Attributes(attributes));
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
        let reports_now = match self.client() {
            Client::SwUpdate => self.to_report.is_some(),
            _ => self.to_report == Some(order.action),
        };
        let action = order.action;
        self.touched = true;
        self.job = Some(order);
        match self.fate() {
            Fate::Rejects => self.say(action, Execution::Rejected, Finished::None, Next::Poll),
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
        if self.fate() == Fate::Noisy && execution == Execution::Proceeding {
            self.extras.push_back((action, execution, finished));
        }
        self.doing = Doing::Saying(next);
        Act::Ask(Ask::Say(action, execution, finished))
    }

    /// rhu resumes a complete file too, and is told 416; the others fetch it again.
    fn ask_bytes(&mut self) -> Act {
        let Some(order) = self.job.clone() else { return self.idle() };
        let have = self.partial.filter(|(digest, _)| *digest == order.digest).map_or(0, |(_, have)| have);
        let whole_again = have >= order.size && self.client() != Client::Rauc;
        self.doing = Doing::AskingBytes;
        Act::Ask(Ask::Bytes(order, if whole_again { 0 } else { have }))
    }

    fn pause_download(&mut self) -> Act {
        self.cut_tries += 1;
        // rhu tries for ever
        if self.cut_tries > 5 && self.client() != Client::Rauc {
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
