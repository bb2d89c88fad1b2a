//! From the last byte to the last word.

use crate::model::{Client, Execution, Finished};

use super::{Act, Device, Doing, Install, Next, SECOND};
use crate::world::character::Fate;
use crate::world::link::Reply;

/// rhu tries its word so often when it is told to wait.
const MOST_WORDS: u8 = 10;

impl Device {
    pub(super) fn downloaded(&mut self) -> Act {
        let Some(order) = &self.job else { return self.idle() };
        let action = order.action;
        self.partial = Some((order.digest, order.size));
        if self.fate() == Fate::SilentAfterDownload {
            return self.go_dark();
        }
        self.say(action, Execution::Proceeding, Finished::None, Next::Install)
    }

    pub(super) fn install(&mut self) -> Act {
        self.doing = Doing::Installing;
        Act::Wait(self.random.u64(20 * SECOND..60 * SECOND))
    }

    /// The install ended, one way or the other.
    pub(super) fn installed(&mut self) -> Act {
        let Some(order) = self.job.clone() else { return self.idle() };
        self.tries = self.tries.saturating_add(1);
        if matches!(self.fate(), Fate::Fails(times) if self.tries <= times) {
            return match self.client() {
                Client::Zephyr => self.idle(),
                _ => self.failure(0),
            };
        }
        let again = self.runs == order.version || self.staged.as_ref() == Some(&order.version);
        let whole = self.partial == Some((order.digest, order.size)) || (self.streams() && self.parts.is_empty());
        self.installs.push(Install {
            action: order.action,
            version: order.version.clone(),
            digest: order.digest,
            again,
            whole,
        });
        self.staged = Some(order.version);
        match self.client() {
            Client::Rauc => self.word(0),
            _ => {
                self.to_report = Some(order.action);
                self.reboot()
            }
        }
    }

    fn reboot(&mut self) -> Act {
        self.doing = Doing::Rebooting;
        Act::Wait(self.random.u64(10 * SECOND..40 * SECOND))
    }

    pub(super) fn booted(&mut self) -> Act {
        (self.fresh, self.booted) = (true, true);
        let staged = self.staged.take();
        if self.fate() != Fate::FallsBack {
            self.runs = staged.unwrap_or_else(|| self.runs.clone());
        } else if self.client() == Client::Zephyr {
            self.to_report = None;
        }
        self.poll()
    }

    /// Says how it ended.
    pub(super) fn word(&mut self, tries: u8) -> Act {
        let Some(order) = &self.job else { return self.idle() };
        let fell_back = self.client() == Client::SwUpdate && self.runs != order.version;
        let finished = if fell_back { Finished::Failure } else { Finished::Success };
        self.say(order.action, Execution::Closed, finished, Next::Word(tries))
    }

    pub(super) fn word_answered(&mut self, tries: u8, reply: &Reply) -> Act {
        let heard = *reply == Reply::Heard;
        if heard && self.fate() == Fate::Noisy {
            self.repeat_itself();
        }
        match self.client() {
            Client::Rauc if *reply == Reply::Busy && tries < MOST_WORDS => {
                self.doing = Doing::RetryingWord(tries + 1);
                Act::Wait(SECOND)
            }
            Client::Rauc => {
                self.word_lost |= !heard;
                self.reboot()
            }
            // polls again at once: its attributes are to be sent after a start
            _ if heard => {
                self.to_report = None;
                self.poll()
            }
            Client::SwUpdate => {
                self.doing = Doing::Idle;
                Act::Wait(10 * SECOND)
            }
            _ => self.idle(),
        }
    }

    /// Says that its install failed.
    pub(super) fn failure(&mut self, tries: u8) -> Act {
        let Some(order) = &self.job else { return self.idle() };
        self.say(order.action, Execution::Closed, Finished::Failure, Next::Failed(tries))
    }

    pub(super) fn failure_answered(&mut self, tries: u8, reply: &Reply) -> Act {
        if self.client() == Client::Rauc && *reply == Reply::Busy && tries < MOST_WORDS {
            self.doing = Doing::RetryingFailure(tries + 1);
            return Act::Wait(SECOND);
        }
        self.word_lost |= *reply != Reply::Heard;
        self.idle()
    }

    /// Late, twice, and contradicting itself.
    fn repeat_itself(&mut self) {
        let Some(order) = &self.job else { return };
        for (execution, finished) in [
            (Execution::Closed, Finished::Success),
            (Execution::Closed, Finished::Failure),
            (Execution::Proceeding, Finished::None),
            (Execution::Rejected, Finished::None),
        ] {
            self.extras.push_back((order.action, execution, finished));
        }
    }
}
