//! The id of one order to one gateway.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, serde_as_text};

/// A positive `int32`, as DDI clients store it.
///
/// The ids we issue count up from a random base of at least 10⁹, and none has only zeros after its first digit:
/// old Zephyr clients drop that digit when they parse a cancel link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionId(i32);

impl ActionId {
    /// The smallest base a store may start at.
    pub const SMALLEST_BASE: i32 = 1_000_000_000;

    /// The first id of a new store, from 32 random bits; leaves at least 500 million ids to count through.
    pub fn base(random: u32) -> Self {
        let span = 600_000_000;
        let offset = i32::try_from(random % span).unwrap_or(0);
        Self(Self::SMALLEST_BASE + offset).usable()
    }

    /// The id that follows; starts again at the smallest base when int32 ends.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.checked_add(1).unwrap_or(Self::SMALLEST_BASE)).usable()
    }

    /// The number itself.
    pub fn get(self) -> i32 {
        self.0
    }

    fn usable(self) -> Self {
        if self.0 % 1_000_000_000 == 0 { Self(self.0 + 1) } else { self }
    }
}

impl TryFrom<i64> for ActionId {
    type Error = Invalid;
    fn try_from(number: i64) -> Result<Self, Invalid> {
        match i32::try_from(number) {
            Ok(id) if id > 0 => Ok(Self(id)),
            _ => Err(Invalid::new("an action id is a number from 1 to 2147483647")),
        }
    }
}

impl FromStr for ActionId {
    type Err = Invalid;
    /// Lenient about leading zeros, which our own cancel links carry.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let digits = !text.is_empty() && text.len() <= 20 && text.bytes().all(|b| b.is_ascii_digit());
        let number = if digits { text.parse::<i64>().unwrap_or(-1) } else { -1 };
        Self::try_from(number)
    }
}

impl fmt::Display for ActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

serde_as_text!(ActionId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_has_only_zeros_after_its_first_digit() {
        assert_eq!(ActionId(1_999_999_999).next(), ActionId(2_000_000_001));
        assert_eq!(ActionId(i32::MAX).next(), ActionId(1_000_000_001));
        for random in [0, 1, 599_999_999, 600_000_000, u32::MAX] {
            let base = ActionId::base(random).get();
            assert!(base > ActionId::SMALLEST_BASE && base < 1_600_000_001, "{base}");
        }
    }

    #[test]
    fn leading_zeros_are_read_and_nonsense_is_not() {
        assert_eq!("0123".parse(), Ok(ActionId(123)));
        for bad in ["", "0", "-1", "+1", "1.0", "2147483648", "99999999999999999999999", "१२"] {
            assert!(bad.parse::<ActionId>().is_err(), "{bad}");
        }
    }
}
