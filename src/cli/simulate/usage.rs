//! What a process uses, as the kernel counts it in /proc.

use serde::Serialize;

/// Memory and processor time of the site, over all its lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// `VmHWM`: the most memory that was resident at once; the largest of all lives.
    #[serde(rename = "peakRssKiB")]
    pub peak_rss_kib: u64,
    /// `RssAnon`: the most anonymous memory that a sample saw.
    #[serde(rename = "rssAnonKiB")]
    pub rss_anon_kib: u64,
    /// User and system time together; the sum of all lives.
    pub cpu_seconds: f64,
}

impl Usage {
    /// A later sample of the same life.
    pub fn at_least(&mut self, other: Self) {
        self.peak_rss_kib = self.peak_rss_kib.max(other.peak_rss_kib);
        self.rss_anon_kib = self.rss_anon_kib.max(other.rss_anon_kib);
        self.cpu_seconds = self.cpu_seconds.max(other.cpu_seconds);
    }

    /// The last sample of another life.
    pub fn end_of(&mut self, life: Self) {
        let before = self.cpu_seconds;
        self.at_least(life);
        self.cpu_seconds = before + life.cpu_seconds;
    }
}

/// What process `pid` uses now; zeros for one that is gone, and on systems without /proc.
pub fn of(pid: u32) -> Usage {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    let (status, stat) = (read("status"), read("stat"));
    Usage {
        peak_rss_kib: kib(&status, "VmHWM:"),
        rss_anon_kib: kib(&status, "RssAnon:"),
        cpu_seconds: cpu_seconds(&stat),
    }
}

fn kib(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Fields 14 and 15 of proc(5) stat, counted behind the name, which may contain anything.
fn cpu_seconds(stat: &str) -> f64 {
    /// `USER_HZ`, the same on every Linux that matters.
    const TICKS_PER_SECOND: f64 = 100.0;
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u32>().ok());
    ticks.map(f64::from).sum::<f64>() / TICKS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_proc_whatever_the_process_calls_itself() {
        let status = "Name:\tlamp\nVmHWM:\t   11712 kB\nRssAnon:\t    2048 kB\n";
        assert_eq!((kib(status, "VmHWM:"), kib(status, "RssAnon:"), kib(status, "None:")), (11_712, 2048, 0));
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194304 500 0 0 0 150 25 0 0 20 0 1 0 100 0 0";
        assert!((cpu_seconds(stat) - 1.75).abs() < 1e-9);
        assert!(cpu_seconds("").abs() < 1e-9);
    }

    #[test]
    fn over_several_lives_memory_is_the_largest_and_time_the_sum() {
        let life = |peak, cpu| Usage { peak_rss_kib: peak, rss_anon_kib: 1, cpu_seconds: cpu };
        let mut all = Usage::default();
        all.end_of(life(10, 1.5));
        all.end_of(life(8, 2.0));
        assert_eq!(all, life(10, 3.5));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_very_process_uses_memory() {
        assert!(of(std::process::id()).peak_rss_kib > 0);
        assert_eq!(of(u32::MAX), Usage::default());
    }
}
