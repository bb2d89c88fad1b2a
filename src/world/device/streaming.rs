//! What a gateway does besides whole downloads: RAUC reads parts while it installs, and orders are dropped.

use crate::model::{ActionId, Client, Execution, Finished};

use super::{Act, Device, Doing, Next, SECOND};
use crate::world::character::Fate;
use crate::world::link::Ask;

/// RAUC reads in pieces of about this size.
const PIECE: u64 = 4_096;

impl Device {
    pub(super) fn streams(&self) -> bool {
        self.fate() == Fate::Streams
    }

    /// The signature at the end first, then what differs from what is installed.
    pub(super) fn stream(&mut self) -> Act {
        let Some(order) = &self.job else { return self.idle() };
        let size = order.size;
        let mut pieces: Vec<_> = (0..self.random.u64(2..6)).map(|n| n * size / 8).collect();
        pieces.push(size.saturating_sub(PIECE));
        self.parts = pieces.into_iter().map(|from| (from, (from + PIECE).min(size).saturating_sub(1))).collect();
        self.read_on()
    }

    pub(super) fn read_on(&mut self) -> Act {
        let (Some(order), Some((from, to))) = (self.job.clone(), self.parts.last().copied()) else {
            return self.install();
        };
        self.doing = Doing::AskingBytes;
        Act::Ask(Ask::Part(order, from, to))
    }

    /// A part came, or its connection broke. RAUC says how far it is every now and then.
    pub(super) fn part_read(&mut self, have: u64) -> Act {
        let (Some(order), Some((_, to))) = (&self.job, self.parts.last().copied()) else { return self.idle() };
        if have <= to {
            return self.pause_download();
        }
        self.parts.pop();
        let action = order.action;
        if self.parts.len() % 2 == 1 {
            return self.say(action, Execution::Proceeding, Finished::None, Next::Read);
        }
        self.doing = Doing::PausingDownload;
        Act::Wait(SECOND)
    }

    /// Only rhu asks which order is meant (b.8.9); the others read it from the link.
    pub(super) fn told_to_drop(&mut self, action: ActionId) -> Act {
        if self.client() != Client::Rauc {
            return self.drop_order(action);
        }
        self.doing = Doing::ReadingCancellation;
        Act::Ask(Ask::Cancelled(action))
    }

    /// It is idle: whatever it has of the order goes, unless it is installed already and waits to be reported.
    pub(super) fn drop_order(&mut self, action: ActionId) -> Act {
        let flashed = self.to_report == Some(action);
        let finished = if flashed && self.client() == Client::Zephyr { Finished::Failure } else { Finished::Success };
        if !flashed {
            (self.job, self.partial) = (None, None);
        }
        self.doing = Doing::Saying(Next::Poll);
        Act::Ask(Ask::Drop(action, Execution::Closed, finished))
    }
}
