//! How far an artifact is on its way into the cache. Kept in memory: steady progress writes nothing.

use std::time::Duration;

use tokio::time::Instant;

/// Speed is told over the last one to two of these.
const SPAN: Duration = Duration::from_secs(5);

/// What a person wants to know of an artifact that is not there yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are there, while it comes over the uplink.
    pub bytes: Option<u64>,
    /// How fast they came in the last seconds.
    pub bytes_per_second: Option<u64>,
    /// The source that is asked.
    pub source: Option<String>,
    /// What went wrong last.
    pub error: Option<String>,
    /// When it is tried again.
    pub next_try: Option<Duration>,
}

/// Of one job.
#[derive(Debug, Default)]
pub(super) struct Job {
    source: Option<String>,
    meter: Option<Meter>,
}

#[derive(Debug)]
struct Meter {
    /// When there were how many bytes: at the beginning of the last span but one, at that of the last, and now.
    marks: [(Instant, u64); 2],
    bytes: u64,
}

impl Job {
    /// Another source is asked.
    pub fn asks(&mut self, source: String) {
        (self.source, self.meter) = (Some(source), None);
    }

    /// So many bytes are there.
    pub fn moved(&mut self, bytes: u64) {
        let now = Instant::now();
        match &mut self.meter {
            // the first word is what an earlier try left
            Some(meter) if bytes >= meter.bytes => meter.moved(now, bytes),
            meter => *meter = Some(Meter { marks: [(now, bytes); 2], bytes }),
        }
    }

    /// How many bytes are there, once it comes over the uplink.
    pub fn bytes(&self) -> Option<u64> {
        self.meter.as_ref().map(|meter| meter.bytes)
    }

    /// For a person.
    pub fn progress(&self) -> Progress {
        Progress {
            bytes: self.bytes(),
            bytes_per_second: self.meter.as_ref().and_then(|meter| meter.speed(Instant::now())),
            source: self.source.clone(),
            ..Progress::default()
        }
    }
}

impl Meter {
    fn moved(&mut self, now: Instant, bytes: u64) {
        self.bytes = bytes;
        let [_, last] = self.marks;
        if now.duration_since(last.0) >= SPAN {
            self.marks = [last, (now, bytes)];
        }
    }

    /// Over less than a second it would be a guess.
    fn speed(&self, now: Instant) -> Option<u64> {
        let [(from, had), _] = self.marks;
        let millis = u64::try_from(now.duration_since(from).as_millis()).ok().filter(|millis| *millis >= 1_000)?;
        Some((self.bytes - had).saturating_mul(1_000) / millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_that_of_the_last_seconds_and_what_was_there_before_does_not_count() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut meter = Meter { marks: [(start, 5_000); 2], bytes: 5_000 };
        assert_eq!(meter.speed(start), None);
        for second in 1..=20 {
            meter.moved(at(second), 5_000 + second * 100);
        }
        assert_eq!(meter.speed(at(20)), Some(100));
        assert_eq!(meter.speed(at(35)), Some(25), "it stalls");
        for second in 36..=60 {
            meter.moved(at(second), 7_000 + (second - 35) * 10);
        }
        assert_eq!(meter.speed(at(60)), Some(10), "the fast beginning is forgotten");
    }
}
