//! Durations as people type them: `90s`, `30m`, `24h`, also combined as `1h30m`.

use std::fmt::Write;
use std::time::Duration;

use super::Invalid;

const UNITS: [(&str, u64); 5] = [("ms", 1), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
/// A year: longer is a typing error, and would overflow nothing but patience.
const LONGEST_MS: u64 = 366 * 86_400_000;

/// Reads a duration of at most a year. A bare number is refused: its unit would be a guess.
pub fn parse_duration(text: &str) -> Result<Duration, Invalid> {
    let bad = || Invalid::new(format!("{text:?} is not a duration such as \"90s\", \"30m\" or \"24h\""));
    let mut rest = text;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at_checked(digits).ok_or_else(bad)?;
        let number: u64 = number.parse().map_err(|_| bad())?;
        let (unit, factor) = UNITS.iter().find(|(unit, _)| tail.starts_with(unit)).ok_or_else(bad)?;
        total = number.checked_mul(*factor).and_then(|ms| total.checked_add(ms)).ok_or_else(bad)?;
        rest = tail.get(unit.len()..).ok_or_else(bad)?;
    }
    match total {
        0 if text.is_empty() => Err(bad()),
        ms if ms > LONGEST_MS => Err(Invalid::new(format!("{text:?} is longer than a year"))),
        ms => Ok(Duration::from_millis(ms)),
    }
}

/// Writes a duration the way people type it, in its largest whole units: `1h30m`, `90s` becomes `1m30s`.
pub fn format_duration(duration: Duration) -> String {
    let mut ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, factor) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if ms >= factor {
            let _ = write!(text, "{}{unit}", ms / factor);
            ms %= factor;
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_what_it_writes() {
        for (text, ms) in [("90s", 90_000), ("1h30m", 5_400_000), ("250ms", 250), ("2d", 172_800_000), ("0s", 0)] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(duration, Duration::from_millis(ms));
            assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }

    #[test]
    fn a_bare_number_nonsense_and_overflow_are_refused() {
        for bad in
            ["", "5", "h", "5x", "-5s", "1.5h", "5 s", "99999999999999999999s", "18446744073709551615h", "400d", "5é"]
        {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
