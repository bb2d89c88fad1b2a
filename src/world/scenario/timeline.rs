//! What happened, for a person: what concerns the site or a rollout row by row, what concerns single gateways counted.

use std::collections::BTreeMap;

use super::played::Moment;
use super::script::gateways;
use crate::model::{JournalEntry, What};

/// So many gateways of one kind of trouble are named one by one; the others are counted.
const NAMED: usize = 5;
const DAY: u64 = 86_400;

/// Deeds and rows of the journal, in the order in which they happened.
pub(super) fn timeline(starts: i64, deeds: &[(u64, String)], journal: &[(u64, JournalEntry)]) -> Vec<Moment> {
    let mut writer = Writer { starts, moments: Vec::new(), counted: BTreeMap::new(), named: BTreeMap::new(), last: 0 };
    let mut deeds = deeds.iter().peekable();
    for (at, row) in journal {
        while let Some((when, words)) = deeds.next_if(|(when, _)| when <= at) {
            writer.say(*when, format!("-- {words}"));
        }
        writer.row(*at, row);
    }
    for (when, words) in deeds {
        writer.say(*when, format!("-- {words}"));
    }
    writer.flush();
    writer.moments
}

struct Writer {
    starts: i64,
    moments: Vec<Moment>,
    /// How many gateways since the last line, and how many of each trouble were named.
    counted: BTreeMap<&'static str, usize>,
    named: BTreeMap<&'static str, usize>,
    last: u64,
}

impl Writer {
    fn row(&mut self, at: u64, row: &JournalEntry) {
        let Some(gateway) = &row.gateway else {
            let about = row.rollout.as_deref().unwrap_or("the site");
            return self.say(at, format!("{about}: {} {}", row.what, row.detail).trim_end().to_owned());
        };
        self.last = at;
        let name = row.what.name();
        match row.what {
            What::Failed | What::DuplicateIdentity | What::StoreLost | What::Ordered => {
                let named = self.named.entry(name).or_default();
                *named += 1;
                if *named <= NAMED {
                    let rollout = row.rollout.as_deref().unwrap_or_default();
                    self.say(at, format!("{rollout} {gateway}: {} {}", row.what, row.detail).trim().to_owned());
                } else {
                    *self.counted.entry(name).or_default() += 1;
                }
            }
            What::Updated | What::AttemptFailed | What::Withdrawn | What::Skipped => {
                *self.counted.entry(name).or_default() += 1;
            }
            _ => {}
        }
    }

    fn say(&mut self, at: u64, text: String) {
        self.flush();
        self.push(at, text);
    }

    /// What is only counted is said before the next line that is not.
    fn flush(&mut self) {
        let counted = std::mem::take(&mut self.counted);
        if !counted.is_empty() {
            let parts: Vec<_> =
                counted.into_iter().map(|(what, count)| format!("{} {what}", gateways(count))).collect();
            self.push(self.last, parts.join(", "));
        }
    }

    fn push(&mut self, at: u64, text: String) {
        let seconds = at / 1_000;
        let midnight = u64::try_from(self.starts / 1_000).unwrap_or_default() % DAY;
        let since = midnight + seconds;
        let (day, of_day) = (1 + since / DAY, since % DAY);
        let time = format!("day {day} {:02}:{:02}:{:02}", of_day / 3_600, of_day / 60 % 60, of_day % 60);
        self.moments.push(Moment { seconds, time, text });
    }
}
