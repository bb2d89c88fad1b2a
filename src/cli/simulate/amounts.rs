//! Sizes and shares as they are typed on the command line, and sizes as they are printed.

use crate::model::{Invalid, parse_duration};
use std::time::Duration;

const UNITS: [(&str, u64); 6] =
    [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30), ("k", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
/// More would take longer than anybody waits, and fill a disk.
const LARGEST: u64 = 16 << 30;
/// A site that is killed faster than it starts never gets anywhere.
const SHORTEST_KILL: Duration = Duration::from_millis(200);

/// Bytes: `16Mi`, `64Ki`, `1G` or a plain number.
pub fn parse_bytes(text: &str) -> Result<u64, Invalid> {
    let bad = || Invalid(format!("{text:?} is not a size such as 64Ki, 16Mi or 1000"));
    let (digits, factor) = UNITS
        .iter()
        .find_map(|(unit, factor)| text.strip_suffix(unit).map(|digits| (digits, *factor)))
        .unwrap_or((text, 1));
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let number = plain.then(|| digits.parse::<u64>().ok()).flatten().ok_or_else(bad)?;
    match number.checked_mul(factor) {
        Some(bytes @ 1..=LARGEST) => Ok(bytes),
        _ => Err(Invalid(format!("{text:?} is not from 1 byte to 16Gi"))),
    }
}

/// A whole percentage from `0%` to `100%`.
pub fn parse_share(text: &str) -> Result<u32, Invalid> {
    let digits = text.strip_suffix('%').unwrap_or(text);
    match digits.parse() {
        Ok(percent @ 0..=100) if digits.bytes().all(|b| b.is_ascii_digit()) => Ok(percent),
        _ => Err(Invalid(format!("{text:?} is not a percentage from 0% to 100%"))),
    }
}

/// How long the site may live between two kills.
pub fn parse_kill_every(text: &str) -> Result<Duration, Invalid> {
    match parse_duration(text)? {
        every if every < SHORTEST_KILL => {
            Err(Invalid(format!("{text:?} is under 200ms: the site needs time to start")))
        }
        every => Ok(every),
    }
}

/// Bytes in the largest unit that leaves a whole part: `7.8 GiB`.
pub fn format_bytes(bytes: u64) -> String {
    let scaled = |shift: u32| (bytes >> shift, (((bytes >> (shift - 10)) & 1023) * 10) / 1024);
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >> shift > 0 {
            let (whole, tenth) = scaled(shift);
            return if tenth == 0 { format!("{whole} {unit}") } else { format!("{whole}.{tenth} {unit}") };
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_shares_are_read_as_typed() {
        for (text, bytes) in [("16Mi", 16 << 20), ("64Ki", 65_536), ("1000", 1000), ("2k", 2000), ("1Gi", 1 << 30)] {
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
        assert_eq!((parse_share("5%"), parse_share("0"), parse_share("100%")), (Ok(5), Ok(0), Ok(100)));
    }

    #[test]
    fn nonsense_and_overflow_are_refused() {
        for bad in ["", "0", "Mi", "-1", "1.5Mi", "16 Mi", "17Gi", "18446744073709551615Gi", "1Ti"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        for bad in ["", "%", "101%", "-1", "+5%", "5.5%"] {
            assert!(parse_share(bad).is_err(), "{bad}");
        }
        assert!(parse_kill_every("10ms").is_err());
    }

    #[test]
    fn sizes_are_printed_with_one_decimal() {
        let printed = [512, 65_536, (16 << 20) + (512 << 10), 8_000 << 20].map(format_bytes);
        assert_eq!(printed, ["512 B", "64 KiB", "16.5 MiB", "7.8 GiB"]);
    }
}
