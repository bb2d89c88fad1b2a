//! The observer at work, and what it said.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use lamplighter::intake::Pace;
use lamplighter::model::{
    Config, ConfigFact, ConfigMaps, ConfigSeen, Event, Method, ServiceAllowance, ServiceName, ServiceReason,
    ServiceSpec,
};
use lamplighter::services::{self, Wanted};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

/// Nothing happens this fast by rescanning, and every wait is far longer than any watch takes.
const PACE: Pace = Pace {
    quiet: Duration::from_millis(20),
    longest: Duration::from_secs(1),
    rescan: Duration::from_secs(3_600),
    poll: Duration::from_millis(200),
};
const LONG: Duration = Duration::from_secs(60);
/// Whoever says nothing for so long had nothing to say.
const QUIET: Duration = Duration::from_millis(700);

/// What was said of one service.
pub struct Seen {
    said: Rc<RefCell<Vec<ConfigFact>>>,
    pub wanted: watch::Sender<Wanted>,
    allowed: watch::Sender<Rc<ServiceAllowance>>,
    pub maps: watch::Sender<ConfigMaps>,
}

pub fn spec(paths: &[&Path]) -> ServiceSpec {
    ServiceSpec {
        config: paths.iter().map(|path| path.to_str().unwrap().parse().unwrap()).collect(),
        unit: "modbus.service".parse().unwrap(),
        method: Method::Restart,
        settle: Duration::from_secs(2),
        min_interval: Duration::from_secs(10),
        health: None,
    }
}

/// Runs a scene in which these paths are read, and all beneath `dir` may be.
pub fn watching(dir: &Path, paths: &[&Path], scene: impl AsyncFnOnce(&Seen)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let services = vec![(ServiceName("modbus".into()), Rc::new(spec(paths)))];
    let (wanted, wanted_seen) = watch::channel(Wanted { again: 0, services });
    let rules = ServiceAllowance { units: vec![], paths: vec![format!("{}/**", dir.display()).parse().unwrap()] };
    let (allowed, allowance) = watch::channel(Rc::new(rules));
    let (maps, maps_seen) = watch::channel(ConfigMaps::default());
    let seen = Seen { said: Rc::default(), wanted, allowed, maps };
    LocalSet::new().block_on(&runtime, async move {
        let said = seen.said.clone();
        tokio::task::spawn_local(services::observe(wanted_seen, allowance, maps_seen, PACE, async move |event| {
            if let Event::Config(_, _, fact) = event {
                said.borrow_mut().push(fact);
            }
        }));
        scene(&seen).await;
    });
}

impl Seen {
    pub fn count(&self) -> usize {
        self.said.borrow().len()
    }

    pub fn last(&self) -> ConfigFact {
        self.said.borrow().last().cloned().unwrap()
    }

    pub fn now(&self) -> ConfigSeen {
        match self.last() {
            ConfigFact::Seen(seen) => seen,
            ConfigFact::Trouble(reason, why) => panic!("{reason}: {why}"),
        }
    }

    pub fn config(&self) -> Rc<Config> {
        self.now().config
    }

    /// Waits until something was said for which this holds.
    pub async fn until(&self, what: &str, holds: impl Fn(&ConfigFact) -> bool) {
        let wait = async {
            while !self.said.borrow().last().is_some_and(&holds) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let done = timeout(LONG, wait).await;
        assert!(done.is_ok(), "{what}: {:?}", self.said.borrow());
    }

    pub async fn first(&self) -> Rc<Config> {
        self.until("read at all", |fact| matches!(fact, ConfigFact::Seen(_))).await;
        self.config()
    }

    /// Waits until another configuration is seen than this one.
    pub async fn other_than(&self, before: &Config) -> Rc<Config> {
        self.until(
            "another configuration",
            |fact| matches!(fact, ConfigFact::Seen(seen) if seen.config.hash != before.hash),
        )
        .await;
        self.config()
    }

    pub async fn trouble(&self, reason: ServiceReason) -> String {
        self.until(&reason.to_string(), |fact| matches!(fact, ConfigFact::Trouble(is, _) if *is == reason)).await;
        let ConfigFact::Trouble(_, why) = self.last() else { panic!() };
        why
    }

    /// All hashes that were ever said, one after another, without repetitions.
    pub fn hashes(&self) -> usize {
        let mut hashes: Vec<_> = self
            .said
            .borrow()
            .iter()
            .filter_map(|fact| if let ConfigFact::Seen(seen) = fact { Some(seen.config.hash) } else { None })
            .collect();
        hashes.dedup();
        hashes.len()
    }

    /// Nothing more is said.
    pub async fn stays_quiet(&self) {
        sleep(QUIET).await;
        let before = self.count();
        sleep(QUIET).await;
        assert_eq!(self.count(), before, "{:?}", self.said.borrow());
    }

    pub fn allow_nothing(&self) {
        self.allowed.send_replace(Rc::default());
    }
}
