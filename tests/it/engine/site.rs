//! A site in virtual time: gateways, a rollout, a clock that only `wait` moves, and a disk that `restart` reads back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lamplighter::device::Entry;
use lamplighter::engine::{Member, Phase, Rollout, Settings, Step, phase};
use lamplighter::model::*;
use lamplighter::site::Core;
use lamplighter::store::{Batch, Snapshot};

/// The site's poll interval.
pub const INTERVAL: Duration = Duration::from_secs(60);
/// When silence means offline.
pub const OFFLINE_AFTER: Duration = Duration::from_secs(600);
/// What `g1` is told of it.
pub const POLL: Duration = Duration::from_secs(64);
pub const SOAK: Duration = WaveSpec::SOAK;
const BASE: u32 = 41;

pub fn minutes(m: u64) -> Duration {
    Duration::from_secs(60 * m)
}

pub fn id(gateway: &str) -> ControllerId {
    gateway.parse().unwrap()
}

pub fn version(text: &str) -> Version {
    text.parse().unwrap()
}

pub fn digest(of: &str) -> Digest {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(of.bytes()).for_each(|(to, from)| *to = from);
    Digest::new(bytes)
}

/// A gateway in the hall.
pub fn gateway(name: &str) -> GatewaySpec {
    let labels = [("site".into(), "hall".into())].into();
    GatewaySpec { name: name.into(), controller_id: id(name), labels, token: None, hold: false }
}

/// A rollout of an artifact to the whole hall, with no caps in the way.
pub fn rollout(name: &str, to: &str) -> RolloutSpec {
    let key = ArtifactKey { name: name.into(), version: version(to), digest: digest(&format!("{name} {to}")) };
    let source = Source::File { dir: "/manifests".into(), name: format!("{name}-{to}.swu") };
    RolloutSpec {
        artifact: ArtifactSpec { key, size: 1_000, sources: vec![source] },
        variants: None,
        selector: Selector { match_labels: [("site".into(), "hall".into())].into() },
        strategy: Strategy { max_in_flight: many(), max_failures: many(), ..Strategy::default() },
        gates: Vec::new(),
        deadlines: Deadlines::default(),
        attempts: Bounds::ATTEMPTS,
        max_bytes: None,
        confirm_by: ConfirmBy::Auto,
        windows: Windows::default(),
        allow_downgrade: false,
        paused: false,
        cancelled: false,
        retry_token: None,
        approved_waves: BTreeSet::new(),
    }
}

fn many() -> Amount {
    Amount::Count(1_000)
}

pub fn amount(text: &str) -> Amount {
    text.parse().unwrap()
}

pub fn word(execution: Execution, finished: Finished) -> Feedback {
    Feedback { execution, finished, message: None, excused: false }
}

pub fn success() -> Feedback {
    word(Execution::Closed, Finished::Success)
}

pub fn failure() -> Feedback {
    word(Execution::Closed, Finished::Failure)
}

pub struct Site {
    pub core: Core,
    pub settings: Settings,
    pub now: SiteTime,
    /// How far the wall clock is ahead of site time, in milliseconds; none while it is not trusted.
    pub ahead: Option<i64>,
    /// The gateways of the manifests.
    pub gateways: BTreeMap<String, GatewaySpec>,
    /// The rollouts of the manifests.
    pub rollouts: BTreeMap<String, RolloutSpec>,
    /// The services of the manifests.
    pub services: BTreeMap<String, ServiceSpec>,
    /// What is to be done about units.
    pub jobs: Vec<UnitJob>,
    /// What gateways can see.
    pub board: BTreeMap<ControllerId, Entry>,
    pub journal: Vec<JournalEntry>,
    /// What the last step committed.
    pub last: Batch,
    disk: Snapshot,
    pub next_due: Option<SiteTime>,
    /// When windows open or end.
    pub next_change: Option<SiteTime>,
}

impl Site {
    /// A new site on which nothing is declared yet.
    pub fn new() -> Self {
        let settings = Settings {
            site: "hall-7".into(),
            poll_interval: INTERVAL,
            offline_after: OFFLINE_AFTER,
            download_slots: 1_000,
            max_in_flight: 1_000,
            version_keys: BTreeMap::new(),
            node: None,
            services: Default::default(),
            time_zone: Zone::utc(),
        };
        Self {
            core: Core::rebuild(Snapshot::default(), settings.clone(), ActionId::base(BASE)),
            settings,
            now: SiteTime(1_000_000),
            ahead: None,
            gateways: BTreeMap::new(),
            rollouts: BTreeMap::new(),
            services: BTreeMap::new(),
            jobs: Vec::new(),
            board: BTreeMap::new(),
            journal: Vec::new(),
            last: Batch::default(),
            disk: Snapshot::default(),
            next_due: None,
            next_change: None,
        }
    }

    /// A site with so many polling gateways and the rollout `main`, as edited, at the moment its first wave is offered.
    pub fn rolling(gateways: usize, edit: impl FnOnce(&mut RolloutSpec)) -> Self {
        let mut site = Self::new();
        site.declare_gateways(gateways);
        let mut spec = rollout("os", "2");
        edit(&mut spec);
        site.rollouts.insert("main".into(), spec);
        site.list();
        site.everybody_polls();
        site.verify();
        site
    }

    /// The same with the first wave proven, so that the rest is offered.
    pub fn rolling_on(gateways: usize, edit: impl FnOnce(&mut RolloutSpec)) -> Self {
        let mut site = Self::rolling(gateways, edit);
        let canary = site.canary();
        site.update(&canary);
        site.wait(SOAK);
        site
    }

    pub fn declare_gateways(&mut self, count: usize) {
        for at in 1..=count {
            let name = format!("g{at}");
            self.gateways.insert(name.clone(), gateway(&name));
        }
    }

    // what happens

    pub fn step(&mut self, events: Vec<Event>) -> Vec<Verdict> {
        let wall = self.ahead.map(|ahead| i64::try_from(self.now.0).unwrap() + ahead);
        let stepped = self.core.step(Now { site: self.now, wall }, events);
        write(&mut self.disk, &stepped.batch);
        self.journal.extend(stepped.batch.journal.iter().cloned());
        self.last = stepped.batch;
        self.board.extend(stepped.outlook.board);
        if let Some((_, jobs)) = stepped.outlook.services {
            self.jobs = jobs;
        }
        (self.next_due, self.next_change) = (stepped.outlook.next_due, stepped.outlook.next_change);
        stepped.verdicts
    }

    pub fn happens(&mut self, event: Event) -> Verdict {
        self.step(vec![event])[0]
    }

    /// Time passes; the heart steps whenever it asked to.
    pub fn wait(&mut self, time: Duration) {
        let until = self.now.plus(time);
        while let Some(due) = self.wakes_at().filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.step(vec![]);
            assert!(self.wakes_at().is_none_or(|next| next > self.now), "a deadline that is not dealt with");
        }
        self.now = until;
    }

    fn wakes_at(&self) -> Option<SiteTime> {
        self.next_due.into_iter().chain(self.next_change).min()
    }

    /// The wall clock is trusted, and says this; nobody tells the heart.
    pub fn clock_says(&mut self, time: &str) {
        let wall = time.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        self.ahead = Some(wall - i64::try_from(self.now.0).unwrap());
    }

    /// Time passes until the wall clock says this.
    pub fn wait_until(&mut self, time: &str) {
        let wall = time.parse::<jiff::Timestamp>().unwrap().as_millisecond();
        let wait = wall - self.ahead.unwrap() - i64::try_from(self.now.0).unwrap();
        self.wait(Duration::from_millis(u64::try_from(wait).unwrap()));
    }

    /// The process is killed and starts again from what it committed.
    pub fn restart(&mut self) {
        self.core = Core::rebuild(self.disk.clone(), self.settings.clone(), ActionId::base(BASE + 1_000));
        self.board.clear();
        self.happens(Event::Started);
    }

    /// The same as the process does it: the first step hears what the manifests say.
    pub fn restart_whole(&mut self) {
        self.core = Core::rebuild(self.disk.clone(), self.settings.clone(), ActionId::base(BASE + 1_000));
        self.board.clear();
        self.step(vec![Event::Started, Event::Listed(self.listing())]);
    }

    /// The manifests are read.
    pub fn list(&mut self) {
        self.happens(Event::Listed(self.listing()));
    }

    fn listing(&self) -> Listing {
        let gateways = self.gateways.values().cloned().map(Intent::Gateway);
        let rollouts =
            self.rollouts.iter().map(|(name, spec)| Intent::Rollout(Identity(name.clone()), spec.clone().into()));
        let services =
            self.services.iter().map(|(name, spec)| Intent::Service(ServiceName(name.clone()), spec.clone().into()));
        Listing { intents: gateways.chain(rollouts).chain(services).collect(), refused: vec![] }
    }

    /// Every artifact that a manifest names is in the cache.
    pub fn verify(&mut self) {
        for digest in self.rollouts.values().map(|spec| spec.artifact.key.digest).collect::<Vec<_>>() {
            let sums = Sums { sha1: "1".repeat(40), md5: "5".repeat(32) };
            self.happens(Event::Artifact(digest, ArtifactFact::Verified(sums)));
        }
    }

    pub fn everybody_polls(&mut self) {
        for name in self.gateways.keys().cloned().collect::<Vec<_>>() {
            self.happens(Event::Seen(id(&name)));
        }
    }

    pub fn edit(&mut self, rollout: &str, edit: impl FnOnce(&mut RolloutSpec)) {
        edit(self.rollouts.get_mut(rollout).unwrap());
        self.list();
    }

    pub fn hold(&mut self, gateway: &str, hold: bool) {
        self.gateways.get_mut(gateway).unwrap().hold = hold;
        self.list();
    }

    pub fn seen(&mut self, gateway: &str) {
        self.happens(Event::Seen(id(gateway)));
    }

    pub fn quiet(&mut self, gateway: &str) {
        self.happens(Event::Quiet(id(gateway)));
    }

    pub fn offline(&mut self, gateway: &str) {
        self.happens(Event::Quiet(id(gateway)));
        self.happens(Event::Offline(id(gateway)));
    }

    pub fn fetch(&mut self, gateway: &str) -> Verdict {
        let action = self.order(gateway);
        self.happens(Event::Fetched(id(gateway), action))
    }

    pub fn request(&mut self, gateway: &str, bytes: Bytes) -> Verdict {
        let digest = self.artifact_for(gateway);
        self.happens(Event::Requested(id(gateway), digest, bytes))
    }

    pub fn served(&mut self, gateway: &str) -> Verdict {
        let digest = self.artifact_for(gateway);
        self.happens(Event::Served(id(gateway), digest))
    }

    pub fn body_ended(&mut self, gateway: &str) {
        self.body_ended_after(gateway, 0);
    }

    pub fn body_ended_after(&mut self, gateway: &str, bytes: u64) {
        let digest = self.artifact_for(gateway);
        self.happens(Event::BodyEnded(id(gateway), digest, bytes));
    }

    /// Fetches the order and downloads the artifact.
    pub fn download(&mut self, gateway: &str) {
        assert_eq!(self.fetch(gateway), Verdict::Deploy, "{gateway} fetches");
        assert_eq!(self.request(gateway, Bytes::Some), Verdict::Deploy, "{gateway} downloads");
        assert_eq!(self.served(gateway), Verdict::Deploy, "{gateway} is served");
        self.body_ended(gateway);
    }

    /// Says something about the order that it sees.
    pub fn says(&mut self, gateway: &str, word: Feedback) -> Verdict {
        let action = self.order(gateway);
        self.says_on(gateway, action, word)
    }

    pub fn says_on(&mut self, gateway: &str, action: ActionId, word: Feedback) -> Verdict {
        self.happens(Event::Feedback(id(gateway), action, word))
    }

    pub fn attributes(&mut self, gateway: &str, mode: AttributesMode, data: &[(&str, Option<&str>)]) -> Verdict {
        let data = data.iter().map(|(key, value)| ((*key).into(), value.map(Into::into))).collect();
        self.happens(Event::Attributes(id(gateway), Attributes { mode, data, from: None }))
    }

    /// Reports a version of the operating system.
    pub fn reports(&mut self, gateway: &str, version: &str) -> Verdict {
        self.attributes(gateway, AttributesMode::Merge, &[("os", Some(version))])
    }

    /// Runs through an update, ending with the report of the version.
    pub fn update(&mut self, gateway: &str) {
        self.download(gateway);
        self.says(gateway, success());
        let version = self.rollouts["main"].artifact.key.version.clone();
        self.reports(gateway, version.as_str());
    }

    /// Fetches, downloads, and says that it failed.
    pub fn fail(&mut self, gateway: &str) {
        self.download(gateway);
        self.says(gateway, failure());
    }

    // what is seen

    /// The id of the order on the board.
    pub fn order(&self, gateway: &str) -> ActionId {
        self.board[&id(gateway)].offer.as_ref().unwrap_or_else(|| panic!("{gateway} has no order")).action
    }

    /// Is an order linked for it?
    pub fn sees_link(&self, gateway: &str) -> bool {
        self.board[&id(gateway)].offer.as_ref().is_some_and(|offer| offer.link)
    }

    pub fn ask(&self, gateway: &str) -> Ask {
        self.board[&id(gateway)].ask
    }

    fn artifact_for(&self, gateway: &str) -> Digest {
        self.board[&id(gateway)].offer.as_ref().unwrap().artifact.key.digest
    }

    /// The rollout of this name that was not replaced.
    pub fn rollout(&self, name: &str) -> &Rollout {
        let current = |r: &&Rollout| r.identity.0 == name && !r.replaced;
        self.core.state().rollouts.values().find(current).unwrap()
    }

    pub fn main(&self) -> &Rollout {
        self.rollout("main")
    }

    pub fn member(&self, gateway: &str) -> &Member {
        &self.main().members[&id(gateway)]
    }

    pub fn at(&self, gateway: &str) -> Step {
        self.member(gateway).step
    }

    pub fn at_in(&self, rollout: &str, gateway: &str) -> Step {
        self.rollout(rollout).members[&id(gateway)].step
    }

    pub fn phase(&self) -> Phase {
        phase(self.core.state(), self.main(), self.now)
    }

    /// The members in the order in which they are offered.
    pub fn queue(&self) -> Vec<ControllerId> {
        self.main().in_order().into_iter().map(|(id, _)| id.clone()).collect()
    }

    /// The first in the order.
    pub fn canary(&self) -> String {
        self.queue()[0].to_string()
    }

    /// The others in the order.
    pub fn rest(&self) -> Vec<String> {
        self.queue()[1..].iter().map(ToString::to_string).collect()
    }

    pub fn count(&self, step: Step) -> usize {
        self.main().members.values().filter(|member| member.step == step).count()
    }

    pub fn noted(&self, what: What) -> usize {
        self.journal.iter().filter(|row| row.what == what).count()
    }
}

/// What a commit does to the disk.
fn write(disk: &mut Snapshot, batch: &Batch) {
    fn put<K: Ord + Clone, V: Clone>(table: &mut BTreeMap<K, V>, rows: &[(K, Option<V>)]) {
        for (key, row) in rows {
            match row {
                Some(row) => table.insert(key.clone(), row.clone()),
                None => table.remove(key),
            };
        }
    }
    if let Some(site) = &batch.site {
        disk.site = Some(site.clone());
    }
    put(&mut disk.gateways, &batch.gateways);
    put(&mut disk.rollouts, &batch.rollouts);
    put(&mut disk.members, &batch.members);
    put(&mut disk.artifacts, &batch.artifacts);
    put(&mut disk.drops, &batch.drops);
    put(&mut disk.orders, &batch.orders);
    put(&mut disk.services, &batch.services);
}
