//! Is the site ready? What the shell and the device server say of themselves, for whoever asks from outside.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// A commit that takes longer says that the disk hangs.
const LONGEST_COMMIT: Duration = Duration::from_secs(30);

/// How the site is.
#[derive(Debug)]
pub(super) struct Health {
    started: Instant,
    serving: Cell<Serving>,
    /// Why the store does not work.
    trouble: RefCell<Option<String>>,
    /// Since when a commit is under way.
    commit: Cell<Option<Instant>>,
    /// Why metrics are not served.
    pub deaf: RefCell<Option<String>>,
}

/// Whether gateways are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serving {
    Starting,
    Yes,
    Stopping,
}

impl Health {
    /// Of a site that starts.
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            serving: Cell::new(Serving::Starting),
            trouble: RefCell::default(),
            commit: Cell::default(),
            deaf: RefCell::default(),
        }
    }

    /// Gateways are served from now on.
    pub fn serves(&self) {
        self.serving.set(Serving::Yes);
    }

    /// They are not any more.
    pub fn stops(&self) {
        self.serving.set(Serving::Stopping);
    }

    /// The store fails; why.
    pub fn fails(&self, why: &str) {
        self.commit.set(None);
        self.trouble.replace(Some(why.to_owned()));
    }

    /// A commit begins.
    pub fn commits(&self) {
        self.commit.set(Some(Instant::now()));
    }

    /// It is on disk.
    pub fn committed(&self) {
        self.commit.set(None);
        self.trouble.replace(None);
    }

    /// For how long the process has run.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The store is open and gateways are served; or why not. What the API server does has no part in it.
    pub fn ready(&self) -> Result<(), String> {
        if let Some(why) = &*self.trouble.borrow() {
            return Err(format!("the store cannot be written: {why}"));
        }
        if self.commit.get().is_some_and(|since| since.elapsed() > LONGEST_COMMIT) {
            return Err("the disk hangs: a commit has been under way for more than half a minute".into());
        }
        match self.serving.get() {
            Serving::Starting => Err("the site is starting".into()),
            Serving::Yes => Ok(()),
            Serving::Stopping => Err("the site is stopping".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_ready_while_it_serves_and_its_store_works() {
        let health = Health::new();
        assert!(health.ready().unwrap_err().contains("starting"));
        health.serves();
        assert_eq!(health.ready(), Ok(()));
        health.commits();
        assert_eq!(health.ready(), Ok(()), "it takes its time");
        health.commit.set(Instant::now().checked_sub(LONGEST_COMMIT + Duration::from_secs(1)));
        assert!(health.ready().unwrap_err().contains("the disk hangs"));
        health.fails("no space");
        assert_eq!(health.ready().unwrap_err(), "the store cannot be written: no space");
        health.commits();
        assert!(health.ready().is_err(), "trouble is over once a commit says so");
        health.committed();
        assert_eq!(health.ready(), Ok(()));
        health.stops();
        assert!(health.ready().unwrap_err().contains("stopping"));
    }
}
