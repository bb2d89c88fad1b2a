//! Which of two versions is the newer, where that can be told.

use std::cmp::Ordering;

use super::Version;

impl Version {
    /// How this version stands to another: by [semantic versioning](https://semver.org) if both are semantic versions, else
    /// as [Debian's tools](https://www.debian.org/doc/debian-policy/ch-controlfields.html#version) would sort them if both
    /// begin with a digit, else not at all.
    pub fn compare(&self, other: &str) -> Option<Ordering> {
        let (ours, theirs) = (self.as_str(), other);
        if let (Ok(ours), Ok(theirs)) = (semver::Version::parse(ours), semver::Version::parse(theirs)) {
            return Some(ours.cmp_precedence(&theirs));
        }
        self.is_comparable(other).then(|| debian(ours, theirs))
    }

    /// Can it be told which is the newer? A semantic version begins with a digit too.
    pub fn is_comparable(&self, other: &str) -> bool {
        let begins_with_a_digit = |text: &str| text.bytes().next().is_some_and(|b| b.is_ascii_digit());
        begins_with_a_digit(self.as_str()) && begins_with_a_digit(other)
    }
}

/// `[epoch:]upstream[-revision]`, each compared in turn.
fn debian(ours: &str, theirs: &str) -> Ordering {
    let parts = |text| {
        let (epoch, rest) = split_epoch(text);
        let (upstream, revision) = <str>::rsplit_once(rest, '-').unwrap_or((rest, "0"));
        (epoch, upstream, revision)
    };
    let ((e1, u1, r1), (e2, u2, r2)) = (parts(ours), parts(theirs));
    digits(e1, e2).then_with(|| part(u1, u2)).then_with(|| part(r1, r2))
}

fn split_epoch(text: &str) -> (&str, &str) {
    let is_epoch = |epoch: &str| !epoch.is_empty() && epoch.bytes().all(|b| b.is_ascii_digit());
    text.split_once(':').filter(|(epoch, _)| is_epoch(epoch)).unwrap_or(("0", text))
}

/// In turns what is no digit, by its weight, and what is, by its value.
fn part(mut ours: &str, mut theirs: &str) -> Ordering {
    while !(ours.is_empty() && theirs.is_empty()) {
        let (a, more_ours) = split(ours, |b| !b.is_ascii_digit());
        let (b, more_theirs) = split(theirs, |b| !b.is_ascii_digit());
        let words = words(a, b);
        let (a, more_ours) = split(more_ours, |b| b.is_ascii_digit());
        let (b, more_theirs) = split(more_theirs, |b| b.is_ascii_digit());
        let both = words.then_with(|| digits(a, b));
        if both.is_ne() {
            return both;
        }
        (ours, theirs) = (more_ours, more_theirs);
    }
    Ordering::Equal
}

fn split(text: &str, is: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text.bytes().position(|b| !is(b)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// `~` before the end, the end before letters, letters before everything else.
fn words(ours: &str, theirs: &str) -> Ordering {
    let weigh = |b: Option<u8>| match b {
        Some(b'~') => -1,
        None => 0,
        Some(b) if b.is_ascii_alphabetic() => i32::from(b),
        Some(b) => i32::from(b) + 256,
    };
    let (mut ours, mut theirs) = (ours.bytes(), theirs.bytes());
    loop {
        let (a, b) = (ours.next(), theirs.next());
        match weigh(a).cmp(&weigh(b)) {
            Ordering::Equal if a.is_none() => return Ordering::Equal,
            Ordering::Equal => {}
            other => return other,
        }
    }
}

/// Numbers of any length.
fn digits(ours: &str, theirs: &str) -> Ordering {
    let (ours, theirs) = (ours.trim_start_matches('0'), theirs.trim_start_matches('0'));
    ours.len().cmp(&theirs.len()).then_with(|| ours.cmp(theirs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ours: &str, theirs: &str) -> Option<Ordering> {
        let (ours, theirs): (Version, Version) = (ours.parse().unwrap(), theirs.parse().unwrap());
        let order = ours.compare(theirs.as_str());
        assert_eq!(theirs.compare(ours.as_str()), order.map(Ordering::reverse), "{ours} {theirs}");
        order
    }

    #[test]
    fn semantic_versions_are_compared_as_such() {
        for (older, newer) in [("1.9.0", "1.10.0"), ("2.0.0-rc.1", "2.0.0"), ("2.0.0-alpha.9", "2.0.0-alpha.10")] {
            assert_eq!(order(older, newer), Some(Ordering::Less), "{older} {newer}");
        }
        assert_eq!(order("1.0.0+monday", "1.0.0+friday"), Some(Ordering::Equal), "a build is no version");
    }

    /// Of Debian's policy 5.6.12 and of dpkg's own tests.
    #[test]
    fn others_that_begin_with_a_digit_are_compared_as_debian_does() {
        for (older, newer) in [
            ("1.0", "1.1"),
            ("1.9", "1.10"),
            ("2024.7", "2024.11"),
            ("1.0~rc1", "1.0"),
            ("1.0~~", "1.0~~a"),
            ("1.0~~a", "1.0~"),
            ("1.0", "1.0a"),
            ("1.0a", "1.0+"),
            ("1.0-1", "1.0-2"),
            ("1.0-1~bpo1", "1.0-1"),
            ("1.0", "1.0-1"),
            ("9.9", "1:0.1"),
            ("1:9", "2:0"),
            ("1.2.3", "1.2.3.1"),
            ("0.99999999999999999999999999999999", "1"),
            ("1.99999999999999999998", "1.99999999999999999999"),
            ("1-0-1", "1-1-0"),
        ] {
            assert_eq!(order(older, newer), Some(Ordering::Less), "{older} {newer}");
        }
        for (a, b) in [("1.0", "1.00"), ("0:1.0", "1.0"), ("1.0-0", "1.0"), ("1.01", "1.1")] {
            assert_eq!(order(a, b), Some(Ordering::Equal), "{a} {b}");
        }
    }

    #[test]
    fn words_and_numbers_have_no_order() {
        assert_eq!(order("v1.2.3", "v1.2.4"), None);
        assert_eq!(order("kirkstone", "scarthgap"), None);
        assert_eq!(order("1.0.0", "nightly"), None);
        assert_eq!(order("1é:ü-~", "1é:ü-~"), Some(Ordering::Equal));
    }
}
