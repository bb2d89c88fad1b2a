//! The heart alone: how long a step takes that decides about 500 members.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lamplighter::engine::Settings;
use lamplighter::model::*;
use lamplighter::site::Core;
use lamplighter::store::Snapshot;

use crate::GATEWAYS;
use crate::table::{quantile, told};

pub fn measure() {
    let mut heart = Heart::new();
    heart.step(vec![Event::Listed(listing())]);
    let sums = Sums { sha1: "1".repeat(40), md5: "5".repeat(32) };
    heart.step(vec![Event::Artifact(digest(), ArtifactFact::Verified(sums))]);
    heart.step((0..GATEWAYS).map(|number| Event::Seen(id(number))).collect());
    heart.times.clear();
    heart.update_all();
    heart.times.sort_by(f64::total_cmp);
    let steps = heart.times.len();
    told(&format!("a step over {GATEWAYS} members, median of {steps}"), quantile(&heart.times, 50), "µs", "");
    told("the same, p99", quantile(&heart.times, 99), "µs", "");
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
            poll_interval: Duration::from_secs(60),
            download_slots: 24,
            version_keys: BTreeMap::new(),
            time_zone: Zone::utc(),
        };
        let core = Core::rebuild(Snapshot::default(), settings, ActionId::base(1));
        Self { core, now: SiteTime(1_000_000), orders: BTreeMap::new(), times: Vec::new() }
    }

    fn step(&mut self, events: Vec<Event>) {
        let start = Instant::now();
        let stepped = self.core.step(Now { site: self.now, wall: None }, events);
        self.times.push(start.elapsed().as_secs_f64() * 1e6);
        for (gateway, entry) in stepped.outlook.board {
            match entry.offer.filter(|offer| offer.link) {
                Some(offer) => self.orders.insert(gateway, offer.action),
                None => self.orders.remove(&gateway),
            };
        }
    }

    /// One gateway after the other, each through all that happens to it, until no order is left.
    fn update_all(&mut self) {
        let mut updated = 0;
        while updated < GATEWAYS {
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
            let data = [("os".into(), Some("2".into()))].into();
            self.step(vec![Event::Attributes(gateway, Attributes { mode: AttributesMode::Merge, data, from: None })]);
            updated += 1;
        }
    }
}

fn listing() -> Listing {
    let selector = Selector { match_labels: [("site".into(), "measured".into())].into() };
    let key = ArtifactKey { name: "os".into(), version: "2".parse().unwrap(), digest: digest() };
    let source = Source::File { dir: "/manifests".into(), name: "os-2.swu".into() };
    let rollout = RolloutSpec {
        artifact: ArtifactSpec { key, size: 1_000, sources: vec![source] },
        variants: None,
        selector: selector.clone(),
        strategy: Strategy::default(),
        deadlines: Deadlines::default(),
        attempts: Bounds::ATTEMPTS,
        max_bytes: None,
        confirm_by: ConfirmBy::ReportedVersion,
        windows: Windows::default(),
        paused: false,
        cancelled: false,
    };
    let gateway = |number| GatewaySpec {
        name: id(number).to_string(),
        controller_id: id(number),
        labels: selector.match_labels.clone(),
        token: None,
        hold: false,
    };
    let intents = (0..GATEWAYS).map(|number| Intent::Gateway(gateway(number)));
    let intents = intents.chain([Intent::Rollout(Identity("main".into()), rollout.into())]).collect();
    Listing { intents, refused: vec![] }
}

fn id(number: usize) -> ControllerId {
    format!("gateway-{number:03}").parse().unwrap()
}

fn digest() -> Digest {
    Digest::new([7; 32])
}
