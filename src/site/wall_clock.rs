//! The wall clock, and whether it is to be believed.

use std::cell::Cell;

use rtime_clock::adjtime::{Timex, adjtimex};

/// What the wall clock says, and the kernel about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reading {
    /// Unix milliseconds.
    pub wall: i64,
    /// Somebody keeps it right.
    pub synchronised: bool,
}

/// Why the wall clock is believed, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// A time server keeps it right.
    Synchronised,
    /// Nobody does, but it is later than all that is known.
    Plausible,
    /// It says a time before this version was built.
    BeforeBuild,
    /// It says a time that no version as old as this one will see.
    FarAhead,
    /// It was later once, when it was synchronised: then.
    Behind(i64),
}

impl Trust {
    pub fn is_given(self) -> bool {
        matches!(self, Self::Synchronised | Self::Plausible)
    }

    /// What there is to say of a clock that shows `wall`.
    pub fn words(self, wall: i64) -> String {
        let says = wall_text(wall).unwrap_or_else(|| "a time beyond all calendars".into());
        match self {
            Self::Synchronised => "synchronised".into(),
            Self::Plausible => "not synchronised, but later than it ever was for sure".into(),
            Self::BeforeBuild => format!("it is not synchronised and says {says}, before this version was made"),
            Self::FarAhead => {
                format!("it is not synchronised and says {says}, more than 20 years after this version was made")
            }
            Self::Behind(mark) => {
                let then = wall_text(mark).unwrap_or_default();
                format!("it is not synchronised and says {says}, although it was {then} already when it was")
            }
        }
    }

    /// What the kernel says counts; else the clock must be later than it ever was for sure, and not absurd.
    fn in_(reading: Reading, mark: Option<i64>) -> Self {
        match (reading.wall, mark) {
            _ if reading.synchronised => Self::Synchronised,
            (wall, _) if wall < built() => Self::BeforeBuild,
            (wall, _) if wall > built().saturating_add(TWENTY_YEARS) => Self::FarAhead,
            (wall, Some(mark)) if wall < mark => Self::Behind(mark),
            _ => Self::Plausible,
        }
    }
}

const TWENTY_YEARS: i64 = 20 * 366 * 86_400_000;

/// Of a build that does not say when it was made: 1 January 2025.
const EARLIEST_BUILD: i64 = 1_735_689_600;

/// When this version was built, in Unix milliseconds: what `release/build.sh` says, the time of the last commit.
fn built() -> i64 {
    let said = option_env!("SOURCE_DATE_EPOCH").and_then(|seconds| seconds.parse().ok());
    said.unwrap_or(EARLIEST_BUILD).max(EARLIEST_BUILD).saturating_mul(1_000)
}

/// RFC 3339 in whole seconds, if the calendar goes so far.
pub(super) fn wall_text(wall: i64) -> Option<String> {
    Some(format!("{:.0}", jiff::Timestamp::from_millisecond(wall).ok()?))
}

/// The wall clock of this machine.
pub(super) struct WallClock {
    read: Box<dyn Fn() -> Reading>,
    /// When it was synchronised last. It goes to disk with whatever is written next.
    mark: Cell<Option<i64>>,
}

impl WallClock {
    /// The machine's own; `mark` is when it was synchronised last, as far as the store knows.
    pub fn new(mark: Option<i64>) -> Self {
        Self::reading(mark, read)
    }

    /// One that says what it is told to.
    pub fn reading(mark: Option<i64>, read: impl Fn() -> Reading + 'static) -> Self {
        Self { read: Box::new(read), mark: Cell::new(mark) }
    }

    /// What it says, and whether that is to be believed. Only a synchronised clock moves the mark, in either direction.
    pub fn look(&self) -> (i64, Trust) {
        let reading = (self.read)();
        if reading.synchronised {
            self.mark.set(Some(reading.wall));
        }
        (reading.wall, Trust::in_(reading, self.mark.get()))
    }

    /// When it was synchronised last.
    pub fn mark(&self) -> Option<i64> {
        self.mark.get()
    }
}

impl std::fmt::Debug for WallClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WallClock").field("mark", &self.mark).finish_non_exhaustive()
    }
}

fn read() -> Reading {
    Reading { wall: jiff::Timestamp::now().as_millisecond(), synchronised: is_synchronised() }
}

/// The kernel's estimate of the clock's error grows without a time server, up to this: 16 seconds. The flag beside it says
/// less, as some daemons set it to keep the kernel from writing the hardware clock.
const UNKNOWN_ERROR: std::ffi::c_long = 16_000_000;

fn is_synchronised() -> bool {
    let mut kernel = Timex::new();
    // whoever may not ask does not know
    adjtimex(&mut kernel).is_ok() && kernel.0.maxerror < UNKNOWN_ERROR
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    /// The summer of 2027.
    const SUMMER: i64 = 1_814_400_000_000;
    const HOUR: i64 = 3_600_000;

    fn trust(wall: i64, synchronised: bool, mark: Option<i64>) -> Trust {
        WallClock::reading(mark, move || Reading { wall, synchronised }).look().1
    }

    #[test]
    fn a_clock_that_nobody_keeps_right_is_believed_while_it_is_later_than_ever_and_not_absurd() {
        assert_eq!(trust(SUMMER, false, None), Trust::Plausible);
        assert_eq!(trust(SUMMER, false, Some(SUMMER - HOUR)), Trust::Plausible);
        assert_eq!(trust(SUMMER, false, Some(SUMMER + HOUR)), Trust::Behind(SUMMER + HOUR));
        assert_eq!(trust(12_000, false, None), Trust::BeforeBuild, "no battery: 1970");
        assert_eq!(trust(SUMMER + 25 * 366 * 24 * HOUR, false, None), Trust::FarAhead);
        assert!(trust(SUMMER, false, None).is_given() && !trust(12_000, false, None).is_given());
    }

    #[test]
    fn a_synchronised_clock_is_believed_whatever_it_says() {
        for wall in [0, 12_000, SUMMER, SUMMER * 3] {
            assert_eq!(trust(wall, true, Some(SUMMER)), Trust::Synchronised);
        }
    }

    #[test]
    fn only_a_synchronised_clock_moves_the_mark_and_it_does_both_ways() {
        let now = Rc::new(Cell::new(Reading { wall: SUMMER, synchronised: false }));
        let said = now.clone();
        let clock = WallClock::reading(None, move || said.get());
        clock.look();
        assert_eq!(clock.mark(), None);
        // somebody set it wrong by a year, and then right
        for wall in [SUMMER + 8_766 * HOUR, SUMMER] {
            now.set(Reading { wall, synchronised: true });
            clock.look();
            assert_eq!(clock.mark(), Some(wall));
        }
        now.set(Reading { wall: SUMMER + HOUR, synchronised: false });
        assert_eq!((clock.look().1, clock.mark()), (Trust::Plausible, Some(SUMMER)));
    }

    #[test]
    fn the_kernel_can_be_asked() {
        let mut kernel = Timex::new();
        assert!(adjtimex(&mut kernel).is_ok());
        let (wall, _) = WallClock::new(None).look();
        assert!(wall > 0);
    }
}
