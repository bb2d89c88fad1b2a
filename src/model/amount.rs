//! A count or a share of a fleet.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, serde_as_text};

/// A whole percentage from 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(u8);

impl Percent {
    /// `100%`.
    pub const ALL: Self = Self(100);

    /// Refuses zero and everything over a hundred.
    pub fn new(percent: u32) -> Result<Self, Invalid> {
        match u8::try_from(percent) {
            Ok(p @ 1..=100) => Ok(Self(p)),
            _ => Err(Invalid::new("a percentage is from 1% to 100%")),
        }
    }

    /// From 1 to 100.
    pub fn get(self) -> u32 {
        self.0.into()
    }

    /// The share of `total`, rounded up, at least one.
    pub fn of(self, total: u32) -> u32 {
        let share = (u64::from(total) * u64::from(self.0)).div_ceil(100);
        u32::try_from(share).unwrap_or(u32::MAX).max(1)
    }
}

/// A number of gateways: a count such as `5`, or a share such as `10%`. Never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many gateways.
    Count(u32),
    /// So many of every hundred.
    Percent(Percent),
}

impl Amount {
    /// Resolved against `total`: counts as they are, shares rounded up, at least one.
    pub fn of(self, total: u32) -> u32 {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => percent.of(total),
        }
    }

    /// A percentage that is known to be valid where it is written.
    pub(crate) const fn percent(percent: u8) -> Self {
        Self::Percent(Percent(percent))
    }
}

impl FromStr for Amount {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bad = || Invalid::new(format!("{text:?} is neither a count such as 5 nor a percentage such as \"10%\""));
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse::<u32>().ok()).flatten().ok_or_else(bad)
        };
        match text.strip_suffix('%') {
            Some(digits) => Percent::new(number(digits)?).map(Self::Percent),
            None => match number(text)? {
                0 => Err(Invalid::new("zero is not allowed: nothing could ever happen")),
                count => Ok(Self::Count(count)),
            },
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Percent(Percent(percent)) => write!(f, "{percent}%"),
        }
    }
}

serde_as_text!(Amount);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_round_up_and_are_never_zero() {
        let five: Amount = "5%".parse().unwrap();
        assert_eq!((five.of(0), five.of(1), five.of(20), five.of(21), five.of(500)), (1, 1, 1, 2, 25));
        assert_eq!(Amount::Count(7).of(3), 7);
    }

    #[test]
    fn an_amount_is_shown_as_it_was_typed() {
        for text in ["7", "1%", "5%", "100%"] {
            assert_eq!(text.parse::<Amount>().unwrap().to_string(), text);
        }
        assert_eq!(Percent::new(5).unwrap().get(), 5);
    }

    #[test]
    fn zero_and_nonsense_are_refused() {
        for bad in ["0", "0%", "101%", "-1", "5 %", "", "%", "1.5%", "+3"] {
            assert!(bad.parse::<Amount>().is_err(), "{bad}");
        }
    }
}
