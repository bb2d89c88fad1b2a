//! What the kernel counts about a process, from /proc.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;

/// A process that runs.
#[derive(Clone, Copy)]
pub struct Process(pub u32);

/// How often each thread went to sleep.
pub struct Sleeps(HashMap<OsString, f64>);

impl Sleeps {
    /// How often the process was woken since `before`. A thread that ended meanwhile took its count with it, and was woken
    /// once at least, to end.
    pub fn since(&self, before: &Self) -> f64 {
        let of = |thread, count: f64| count - before.0.get(thread).copied().unwrap_or(0.0);
        let ended = before.0.keys().filter(|thread| !self.0.contains_key(*thread)).count();
        self.0.iter().map(|(thread, count)| of(thread, *count)).sum::<f64>() + ended as f64
    }
}

impl Process {
    /// A figure of /proc/PID/status, in KiB.
    pub fn kib(self, field: &str) -> f64 {
        figure(&self.read("status"), field)
    }

    /// User and system time, in seconds.
    pub fn cpu_seconds(self) -> f64 {
        let stat = self.read("stat");
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u32 = fields[11..13].iter().map(|ticks| ticks.parse::<u32>().unwrap()).sum();
        // USER_HZ, the same on every Linux that matters
        f64::from(ticks) / 100.0
    }

    /// How often each of its threads went to sleep by itself: each time something woke it before.
    pub fn sleeps(self) -> Sleeps {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0)).unwrap();
        let sleeps = threads.filter_map(|thread| {
            let thread = thread.unwrap();
            // it may end between the two
            let status = fs::read_to_string(thread.path().join("status")).ok()?;
            Some((thread.file_name(), figure(&status, "voluntary_ctxt_switches")))
        });
        Sleeps(sleeps.collect())
    }

    /// How many files and sockets it has open.
    pub fn open_files(self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.0)).unwrap().count()
    }

    fn read(self, name: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{name}", self.0)).unwrap()
    }
}

fn figure(status: &str, field: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Processor time of this thread, in seconds: what it takes alone, however busy the machine is.
pub fn own_cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
