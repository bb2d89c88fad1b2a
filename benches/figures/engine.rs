//! The heart alone: how long a step takes that decides about many members, and what a member takes in memory.

use std::collections::BTreeMap;
use std::time::Duration;

use lamplighter::engine::Settings;
use lamplighter::model::*;
use lamplighter::site::Core;
use lamplighter::store::Snapshot;

use crate::GATEWAYS;
use crate::process::own_cpu_seconds;
use crate::table::{quantile, told};

/// In a fleet of this size so many updates are measured; each is six steps.
const LARGE: (usize, usize) = (50_000, 40);

pub fn measure() {
    measure_memory();
    measure_one(GATEWAYS, GATEWAYS, None, "");
    let pairs =
        Spread { label: "pair".into(), max_in_flight: Some(Amount::Count(1)), min_healthy: Some(Amount::Count(1)) };
    measure_one(GATEWAYS, GATEWAYS, Some(pairs.clone()), " spread over pairs");
    measure_one(LARGE.0, LARGE.1, None, "");
    measure_one(LARGE.0, LARGE.1, Some(pairs), " spread over pairs");
}

fn measure_one(gateways: usize, updates: usize, spread: Option<Spread>, how: &str) {
    let mut heart = Heart::new();
    heart.begin(gateways, vec![rollout("os", spread)]);
    heart.times.clear();
    heart.update(updates);
    heart.times.sort_by(f64::total_cmp);
    let steps = heart.times.len();
    told(&format!("a step over {gateways} members{how}, median of {steps}"), quantile(&heart.times, 50), "µs", "");
    let budget = if gateways > GATEWAYS { "budget 100000" } else { "budget 1000" };
    told("the same, p99", quantile(&heart.times, 99), "µs", budget);
    told("the same, the longest", quantile(&heart.times, 100), "µs", "");
}

/// What more of each takes, so that what the first step left free does not count.
fn measure_memory() {
    let (mut heart, rollouts) = (Heart::new(), |count| (0..count).map(|n| rollout(&format!("os{n}"), None)).collect());
    heart.begin(LARGE.0, rollouts(0));
    let one = rss_anon();
    heart.begin(LARGE.0 * 2, rollouts(0));
    let two = rss_anon();
    told("memory per gateway", (two - one) / LARGE.0 as f64, "bytes", "");
    heart.begin(LARGE.0 * 2, rollouts(1));
    let one = rss_anon();
    heart.begin(LARGE.0 * 2, rollouts(3));
    let three = rss_anon();
    told("memory per member", (three - one) / (4 * LARGE.0) as f64, "bytes", "");
}

/// What this process has in memory of its own, in bytes.
fn rss_anon() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
}

struct Heart {
    core: Core,
    now: SiteTime,
    orders: BTreeMap<ControllerId, ActionId>,
    times: Vec<f64>,
}

impl Heart {
    fn new() -> Self {
        let settings = Settings {
            site: "hall-7".into(),
            poll_interval: Duration::from_secs(60),
            offline_after: Duration::from_secs(600),
            download_slots: 24,
            max_in_flight: 100,
            version_keys: BTreeMap::new(),
            node: None,
            services: Default::default(),
            time_zone: Zone::utc(),
        };
        let core = Core::rebuild(Snapshot::default(), settings, ActionId::base(1));
        Self { core, now: SiteTime(1_000_000), orders: BTreeMap::new(), times: Vec::new() }
    }

    /// Everything is there, so that what can be offered is.
    fn begin(&mut self, gateways: usize, rollouts: Vec<Intent>) {
        self.step(vec![Event::Listed(listing(gateways, rollouts))]);
        let sums = Sums { sha1: "1".repeat(40), md5: "5".repeat(32) };
        self.step(vec![Event::Artifact(digest(), ArtifactFact::Verified(sums))]);
        self.step((0..gateways).map(|number| Event::Seen(id(number))).collect());
        self.step((0..gateways).map(|number| reported(id(number), "1")).collect());
    }

    fn step(&mut self, events: Vec<Event>) {
        let start = own_cpu_seconds();
        let stepped = self.core.step(Now { site: self.now, wall: None }, events);
        self.times.push((own_cpu_seconds() - start) * 1e6);
        for (gateway, entry) in stepped.outlook.board {
            match entry.offer.filter(|offer| offer.link) {
                Some(offer) => self.orders.insert(gateway, offer.action),
                None => self.orders.remove(&gateway),
            };
        }
    }

    /// One gateway after the other, each through all that happens to it.
    fn update(&mut self, gateways: usize) {
        let mut updated = 0;
        while updated < gateways {
            let Some((gateway, action)) = self.orders.pop_first() else {
                // the first wave soaks
                self.now = self.now.plus(Duration::from_secs(60));
                self.step(vec![]);
                continue;
            };
            self.step(vec![Event::Fetched(gateway.clone(), action)]);
            self.step(vec![Event::Requested(gateway.clone(), digest(), Bytes::Some)]);
            self.step(vec![Event::Served(gateway.clone(), digest())]);
            self.step(vec![Event::BodyEnded(gateway.clone(), digest(), 0)]);
            let success =
                Feedback { execution: Execution::Closed, finished: Finished::Success, message: None, excused: false };
            self.step(vec![Event::Feedback(gateway.clone(), action, success)]);
            self.step(vec![reported(gateway, "2")]);
            updated += 1;
        }
    }
}

fn listing(gateways: usize, rollouts: Vec<Intent>) -> Listing {
    let gateway = |number| GatewaySpec {
        name: id(number).to_string(),
        controller_id: id(number),
        labels: [("site".into(), "measured".into()), ("pair".into(), (number / 2).to_string())].into(),
        token: None,
        hold: false,
    };
    let intents = (0..gateways).map(|number| Intent::Gateway(gateway(number))).chain(rollouts);
    Listing { intents: intents.collect(), refused: vec![] }
}

fn rollout(name: &str, spread: Option<Spread>) -> Intent {
    let selector = Selector { match_labels: [("site".into(), "measured".into())].into() };
    let key = ArtifactKey { name: name.into(), version: "2".parse().unwrap(), digest: digest() };
    let source = Source::File { dir: "/manifests".into(), name: "os-2.swu".into() };
    let spec = RolloutSpec {
        artifact: ArtifactSpec { key, size: 1_000, sources: vec![source] },
        variants: None,
        selector,
        strategy: Strategy { spread, ..Strategy::default() },
        gates: Vec::new(),
        deadlines: Deadlines::default(),
        attempts: Bounds::ATTEMPTS,
        max_bytes: None,
        confirm_by: ConfirmBy::ReportedVersion,
        windows: Windows::default(),
        allow_downgrade: false,
        paused: false,
        cancelled: false,
        retry_token: None,
        approved_waves: [].into(),
    };
    Intent::Rollout(Identity(name.into()), spec.into())
}

fn reported(gateway: ControllerId, version: &str) -> Event {
    let data = [("os".into(), Some(version.into()))].into();
    Event::Attributes(gateway, Attributes { mode: AttributesMode::Merge, data, from: None })
}

fn id(number: usize) -> ControllerId {
    format!("gateway-{number:03}").parse().unwrap()
}

fn digest() -> Digest {
    Digest::new([7; 32])
}
