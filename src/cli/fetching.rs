//! How far an artifact is on its way, in words.

use std::time::Duration;

use super::simulate::format_bytes;
use crate::model::format_duration;
use crate::site::report::ProgressLine;

/// `12 MiB of 64 MiB (18 %), 1.2 MiB/s, from https://…`; nothing if there is nothing to say. Why it failed is said elsewhere.
pub(super) fn words(progress: &ProgressLine, size: Option<u64>) -> Option<String> {
    let mut words = Vec::new();
    if let Some(bytes) = progress.bytes {
        words.push(match size {
            Some(size) => {
                let share = u128::from(bytes) * 100 / u128::from(size.max(1));
                format!("{} of {} ({share} %)", format_bytes(bytes), format_bytes(size))
            }
            None => format_bytes(bytes),
        });
    }
    words.extend(progress.bytes_per_second.map(|speed| format!("{}/s", format_bytes(speed))));
    words.extend(progress.source.as_ref().map(|source| format!("from {source}")));
    words.extend(progress.next_try_seconds.map(|wait| match wait {
        0 => "tried again now".into(),
        wait => format!("tried again in {}", format_duration(Duration::from_secs(wait))),
    }));
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_said() {
        let progress = ProgressLine {
            bytes: Some(12 << 20),
            bytes_per_second: Some(1 << 20),
            source: Some("https://a/b".into()),
            ..ProgressLine::default()
        };
        assert_eq!(words(&progress, Some(64 << 20)).unwrap(), "12 MiB of 64 MiB (18 %), 1 MiB/s, from https://a/b");
        let waits = ProgressLine { next_try_seconds: Some(90), ..ProgressLine::default() };
        assert_eq!(words(&waits, None).unwrap(), "tried again in 1m30s");
        assert_eq!(words(&ProgressLine::default(), None), None);
    }
}
