//! What the loop counts: facts by what they are about, rows of the journal, and the time that steps took.

use std::time::Duration;

use crate::model::{Durations, Event, JournalEntry, What, kinds};

kinds! {
    /// What facts are about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) About {
        /// Nothing: something was due.
        Time,
        /// The site itself: its start, its store, its file.
        Site,
        Manifests,
        Api,
        Drops,
        Artifacts,
        Gates,
        /// Who is there.
        Presence,
        Attributes,
        /// Gateways that ask for their order.
        Fetches,
        Downloads,
        Feedback,
        /// What services read, and their units.
        Services,
        /// What people say on the spot.
        People,
    }
}

impl About {
    fn of(event: &Event) -> Self {
        match event {
            Event::Started | Event::StoodStill | Event::StoreLost(_) | Event::Configured(..) => Self::Site,
            Event::Listed(_) => Self::Manifests,
            Event::ApiAwaited(_) | Event::ApiListed(_) | Event::Api(..) => Self::Api,
            Event::Dropped(_) => Self::Drops,
            Event::Artifact(..) | Event::Collect(..) => Self::Artifacts,
            Event::Gate(..) => Self::Gates,
            Event::Seen(_)
            | Event::Quiet(_)
            | Event::Offline(_)
            | Event::Pace(..)
            | Event::Polled(_)
            | Event::Client(..)
            | Event::Shared(..) => Self::Presence,
            Event::Attributes(..) => Self::Attributes,
            Event::Fetched(..) => Self::Fetches,
            Event::Requested(..) | Event::Served(..) | Event::Paced(..) | Event::BodyEnded(..) => Self::Downloads,
            Event::Feedback(..) | Event::CancelFeedback(..) => Self::Feedback,
            Event::Config(..) | Event::Unit(..) => Self::Services,
            Event::Registered(..) | Event::Order(..) => Self::People,
        }
    }
}

kinds! {
    /// What came of a step.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) Outcome {
        /// Something changed, and is on disk.
        Committed,
        /// There was nothing to write.
        Unchanged,
        /// It could not be written.
        Failed,
    }
}

/// How many facts of a step were about what.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Taken([u16; About::ALL.len()]);

impl Taken {
    pub fn of(events: &[Event]) -> Self {
        let mut taken = Self::default();
        let abouts = events.iter().map(About::of).chain(events.is_empty().then_some(About::Time));
        for about in abouts {
            if let Some(count) = taken.0.get_mut(about as usize) {
                *count += 1;
            }
        }
        taken
    }
}

/// What the loop counted since the start.
#[derive(Debug)]
pub(super) struct Tally {
    taken: [[u64; Outcome::ALL.len()]; About::ALL.len()],
    rows: [u64; What::ALL.len()],
    steps: Durations,
}

impl Default for Tally {
    fn default() -> Self {
        Self { taken: Default::default(), rows: [0; What::ALL.len()], steps: Durations::default() }
    }
}

impl Tally {
    /// A step took these, for so long, and this came of it; with these rows if it is on disk.
    pub fn step(&mut self, taken: Taken, took: Duration, outcome: Outcome, rows: &[What]) {
        self.steps.add(took);
        for (counts, more) in self.taken.iter_mut().zip(taken.0) {
            if let Some(count) = counts.get_mut(outcome as usize) {
                *count += u64::from(more);
            }
        }
        for what in rows {
            if let Some(count) = self.rows.get_mut(*what as usize) {
                *count += 1;
            }
        }
    }

    /// How many facts were about what, and came to what.
    pub fn taken(&self) -> impl Iterator<Item = (About, Outcome, u64)> {
        About::ALL.iter().zip(self.taken).flat_map(|(about, counts)| {
            Outcome::ALL.iter().zip(counts).map(move |(outcome, count)| (*about, *outcome, count))
        })
    }

    /// How many rows of which kind went into the journal.
    pub fn rows(&self) -> impl Iterator<Item = (What, u64)> {
        What::ALL.iter().copied().zip(self.rows)
    }

    /// How long steps took.
    pub fn steps(&self) -> Durations {
        self.steps
    }
}

/// The kinds of rows.
pub(super) fn kinds(rows: &[JournalEntry]) -> Vec<What> {
    rows.iter().map(|row| row.what).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_the_place_that_its_number_says() {
        assert!(About::ALL.iter().enumerate().all(|(at, about)| *about as usize == at));
        assert!(Outcome::ALL.iter().enumerate().all(|(at, outcome)| *outcome as usize == at));
        assert!(What::ALL.iter().enumerate().all(|(at, what)| *what as usize == at));
    }

    #[test]
    fn a_step_counts_what_it_took_or_that_something_was_due() {
        let mut tally = Tally::default();
        let took = Duration::from_millis(1);
        tally.step(Taken::of(&[Event::Started, Event::Started]), took, Outcome::Committed, &[What::Frozen]);
        tally.step(Taken::of(&[]), took, Outcome::Unchanged, &[]);
        let counted: Vec<_> = tally.taken().filter(|(.., count)| *count > 0).collect();
        let expected = [(About::Time, Outcome::Unchanged, 1), (About::Site, Outcome::Committed, 2)];
        assert_eq!(counted, expected);
        let rows: Vec<_> = tally.rows().filter(|(_, count)| *count > 0).collect();
        assert_eq!((rows, tally.steps().count()), (vec![(What::Frozen, 1)], 2));
    }
}
