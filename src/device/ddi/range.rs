//! Which bytes of an artifact a request wants (b.6, RFC 9110 section 14).

/// What to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it: 200.
    Whole,
    /// From the first byte to the last, both included: 206.
    Part(u64, u64),
    /// Nothing that exists: 416.
    Nothing,
}

/// Reads a `Range` header against an artifact of `size` bytes.
///
/// Another unit and several ranges are ignored, as RFC 9110 14.2 allows: the whole file is right for both, and no client
/// asks for several before delta updates come. What is neither is answered 416, as hawkBit does.
pub(super) fn wanted(header: Option<&str>, size: u64) -> Wanted {
    let Some(ranges) = header.and_then(|header| header.trim().strip_prefix("bytes=")) else { return Wanted::Whole };
    if ranges.contains(',') {
        return Wanted::Whole;
    }
    match ranges.trim().split_once('-') {
        Some(("", length)) => last(length, size),
        Some((first, end)) => part(first, end, size),
        None => Wanted::Nothing,
    }
}

/// `-500`: the last 500 bytes.
fn last(length: &str, size: u64) -> Wanted {
    match number(length) {
        None | Some(0) => Wanted::Nothing,
        Some(_) if size == 0 => Wanted::Nothing,
        Some(length) => Wanted::Part(size.saturating_sub(length), size - 1),
    }
}

/// `500-` or `500-999`.
fn part(first: &str, end: &str, size: u64) -> Wanted {
    let end = if end.is_empty() { Some(u64::MAX) } else { number(end) };
    match (number(first), end) {
        (Some(first), Some(end)) if first <= end && first < size => Wanted::Part(first, end.min(size - 1)),
        _ => Wanted::Nothing,
    }
}

/// Digits only; a number beyond all sizes is the largest there is.
fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn b_6_single_ranges() {
        for (header, expected) in [
            ("bytes=0-", Wanted::Part(0, 99)),
            ("bytes=0-0", Wanted::Part(0, 0)),
            ("bytes=10-19", Wanted::Part(10, 19)),
            ("bytes=90-1000", Wanted::Part(90, 99)),
            ("bytes=99-", Wanted::Part(99, 99)),
            ("bytes=0-99999999999999999999999", Wanted::Part(0, 99)),
            ("bytes=-1", Wanted::Part(99, 99)),
            ("bytes=-1000", Wanted::Part(0, 99)),
            ("bytes=100-", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=20-10", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=-", Wanted::Nothing),
            ("bytes=", Wanted::Nothing),
            ("bytes=a-b", Wanted::Nothing),
            ("bytes=+1-2", Wanted::Nothing),
            ("bytes=0-1,5-6", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("", Wanted::Whole),
        ] {
            assert_eq!(wanted(Some(header), 100), expected, "{header}");
        }
        assert_eq!(wanted(None, 100), Wanted::Whole);
    }

    proptest! {
        #[test]
        fn a_part_always_lies_within_the_file(header in "(bytes=)?[0-9,-]{0,30}", size in 0u64..1000) {
            if let Wanted::Part(first, end) = wanted(Some(&header), size) {
                prop_assert!(first <= end && end < size);
            }
        }
    }
}
