//! A time of the day, as a clock on the wall shows it.

use std::fmt;
use std::str::FromStr;

use crate::model::{Invalid, serde_as_text};

/// A time of the day from 00:00 to 24:00, in whole minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClockTime(u16);

impl ClockTime {
    /// Minutes since midnight, at most 1440.
    pub fn minutes(self) -> u16 {
        self.0
    }
}

impl FromStr for ClockTime {
    type Err = Invalid;
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let two = |digits: &str| {
            (digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse::<u16>().ok())?
        };
        let time = text.split_once(':').and_then(|(hours, minutes)| Some((two(hours)?, two(minutes)?)));
        match time {
            Some((hours, minutes)) if minutes < 60 && (hours < 24 || (hours, minutes) == (24, 0)) => {
                Ok(Self(hours * 60 + minutes))
            }
            _ => {
                let shown: String = text.chars().take(20).collect();
                Err(Invalid(format!("{shown:?} is not a time such as \"06:00\" or \"22:30\"; write it in quotes")))
            }
        }
    }
}

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}", self.0 / 60, self.0 % 60)
    }
}

serde_as_text!(ClockTime);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_a_clock_with_two_digits_each() {
        for (text, minutes) in [("00:00", 0), ("06:05", 365), ("23:59", 1_439), ("24:00", 1_440)] {
            let time: ClockTime = text.parse().unwrap();
            assert_eq!((time.minutes(), time.to_string().as_str()), (minutes, text));
        }
        for text in ["", "6:00", "06:0", "24:01", "25:00", "06:60", "0600", "06:00:00", "+6:00", "06:+1", "six"] {
            assert!(text.parse::<ClockTime>().is_err(), "{text}");
        }
    }
}
