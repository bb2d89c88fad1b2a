//! What the kernel counts about a process, from /proc.

use std::fs;

/// A process that runs.
#[derive(Clone, Copy)]
pub struct Process(pub u32);

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

    /// How often its threads went to sleep by themselves: each time something woke them before.
    pub fn sleeps(self) -> f64 {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0)).unwrap();
        let statuses = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("status")).unwrap());
        statuses.map(|status| figure(&status, "voluntary_ctxt_switches")).sum()
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
