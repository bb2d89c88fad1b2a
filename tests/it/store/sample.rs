//! Seeded batches, and what a store that took them must hold.

use std::collections::BTreeMap;
use std::time::Duration;

use lamplighter::model::{
    ActionId, Amount, ArtifactKey, ArtifactSpec, Client, Config, ConfirmBy, ControllerId, Day, Deadlines, DeclaredBy,
    Digest, FailedReason, GatewaySpec, Given, Identity, JournalEntry, Mark, Method, Presence, RestartWhy, RolloutId,
    RolloutSpec, Selector, ServiceName, ServiceSpec, SiteTime, Source, StandingOrder, Strategy, Sums, Uid, What,
    WhenClockUnknown, Window, Windows,
};
use lamplighter::store::{
    ActionRecord, ArtifactRecord, Batch, BegunRecord, Db, DropRecord, GatewayRecord, MemberRecord, OrderRecord,
    RolloutRecord, SavedTime, ServiceRecord, SiteRecord, Snapshot, StepRecord, Written,
};

use crate::crash_backend::CrashDisk;

/// Everything that a store holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Contents {
    pub snapshot: Snapshot,
    pub journal: Vec<JournalEntry>,
}

impl Contents {
    /// What is there after a batch.
    pub fn after(&self, batch: &Batch) -> Self {
        let mut next = self.clone();
        let snapshot = &mut next.snapshot;
        snapshot.time = batch.time.clone();
        if batch.site.is_some() {
            snapshot.site.clone_from(&batch.site);
        }
        merge(&mut snapshot.gateways, &batch.gateways);
        merge(&mut snapshot.rollouts, &batch.rollouts);
        merge(&mut snapshot.members, &batch.members);
        merge(&mut snapshot.artifacts, &batch.artifacts);
        merge(&mut snapshot.drops, &batch.drops);
        merge(&mut snapshot.orders, &batch.orders);
        merge(&mut snapshot.services, &batch.services);
        next.journal.extend(batch.journal.iter().cloned());
        next
    }

    /// What an open store holds.
    pub fn of(db: &Db, snapshot: Snapshot) -> Self {
        let rows = db.journal(usize::MAX).unwrap();
        assert!(rows.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq), "the numbers have no gap");
        Self { snapshot, journal: rows.into_iter().map(|row| row.entry).collect() }
    }
}

fn merge<K: Ord + Clone, V: Clone>(into: &mut BTreeMap<K, V>, changes: &[(K, Option<V>)]) {
    for (key, change) in changes {
        match change {
            Some(value) => drop(into.insert(key.clone(), value.clone())),
            None => drop(into.remove(key)),
        }
    }
}

/// The contents after each of some batches, the empty store first.
pub fn history(batches: &[Batch]) -> Vec<Contents> {
    let mut all = vec![Contents::default()];
    for batch in batches {
        all.push(all[all.len() - 1].after(batch));
    }
    all
}

/// A disk with an empty store, closed.
pub fn empty_store() -> CrashDisk {
    let disk = CrashDisk::new();
    Db::create_on(disk.backend(), &Written::default()).unwrap().close().unwrap();
    disk
}

/// Commits batches to the store on a disk.
pub fn fill(disk: &CrashDisk, batches: &[Batch]) {
    let (mut db, _) = Db::open_on(disk.backend(), &Written::default()).unwrap();
    commit_all(&mut db, batches);
    db.close().unwrap();
}

/// Commits batches that must not fail.
pub fn commit_all(db: &mut Db, batches: &[Batch]) {
    for batch in batches {
        db.commit(batch).unwrap();
    }
}

/// Batches as a small site makes them.
pub fn batches(seed: u64, count: u64) -> Vec<Batch> {
    let mut random = fastrand::Rng::with_seed(seed);
    (1..=count).map(|n| batch(&mut random, n)).collect()
}

fn batch(random: &mut fastrand::Rng, n: u64) -> Batch {
    let mut batch = Batch { time: time(n), ..Batch::default() };
    if random.u8(..4) == 0 {
        return batch; // the minute's: time alone
    }
    if n == 1 || random.u8(..3) == 0 {
        batch.site = Some(site(n));
    }
    for _ in 0..random.usize(..3) {
        let id = gateway_id(random.u32(..8));
        let record = (random.u8(..5) > 0).then(|| gateway(&id, random.usize(..400)));
        batch.gateways.push((id, record));
    }
    for _ in 0..random.usize(1..4) {
        let key = (RolloutId(random.u64(..2)), gateway_id(random.u32(..8)));
        batch.members.push((key, (random.u8(..8) > 0).then(|| member(n))));
    }
    if random.u8(..4) == 0 {
        batch.rollouts.push((RolloutId(random.u64(..2)), random.bool().then(|| rollout(n))));
        batch.artifacts.push((digest(random.u8(..2)), random.bool().then(|| artifact(n))));
        batch.drops.push((digest(random.u8(..2)), random.bool().then_some(DropRecord { order: n })));
        let order = StandingOrder::Hold(gateway_id(random.u32(..2)));
        let given =
            Given { by: "uid 0".into(), at: SiteTime(n), wall: None, reason: random.bool().then(|| "x".into()) };
        batch.orders.push((order, random.bool().then_some(OrderRecord(given))));
        let name = ServiceName(format!("service-{}", random.u32(..2)));
        batch.services.push((name, random.bool().then(|| service(n))));
    }
    batch.journal = (0..random.u64(..4)).map(|row| entry(n * 10 + row)).collect();
    batch
}

pub fn time(n: u64) -> SavedTime {
    SavedTime {
        site: SiteTime(n * 1000),
        boot_id: "5f0c3f0a-boot".into(),
        boot_ms: n * 1000,
        trusted: Some(1_700_000_000_000),
    }
}

pub fn site(n: u64) -> SiteRecord {
    let base = ActionId::base(42);
    let told = Some(Duration::from_secs(n));
    SiteRecord {
        action_base: base,
        action_next: base.next(),
        rollout_next: RolloutId(n),
        arrivals: n,
        lost: false,
        silence: n.is_multiple_of(2).then_some(SiteTime(n)),
        silence_over: SiteTime(n / 2),
        told,
        cluster: Some(Uid::new([7; 16])),
    }
}

pub fn gateway_id(n: u32) -> ControllerId {
    format!("gw-{n:03}").parse().unwrap()
}

pub fn gateway(id: &ControllerId, padding: usize) -> GatewayRecord {
    let spec = GatewaySpec {
        name: id.to_string(),
        controller_id: id.clone(),
        labels: [("line".into(), "3".into()), ("hall".into(), "7".into())].into(),
        token: Some("ab".repeat(32).parse().unwrap()),
        hold: false,
    };
    GatewayRecord {
        spec,
        origin: DeclaredBy::Drop,
        listed: true,
        presence: Presence::Polling,
        failed: true,
        silent_since: None,
        acted_at: Some(SiteTime(7)),
        interval: Some(Duration::from_secs(60)),
        client: Client::default(),
        attributes: [("gateway-os".into(), "1.4.2".into()), ("note".into(), "x".repeat(padding))].into(),
        former_keys: ["old".into()].into(),
        attributes_due: false,
        unknown_version: false,
        duplicate: false,
        strange_ids: vec![],
        served: vec![],
        previous: Default::default(),
    }
}

pub fn member(n: u64) -> MemberRecord {
    let action = ActionRecord {
        id: ActionId::base(u32::try_from(n).unwrap()),
        aliases: vec![],
        open: true,
        fetched: true,
        ever_fetched: true,
        requested: false,
        excused: false,
        overdue: false,
        hidden: false,
        cancelling: false,
        confirm_from: None,
        deadline: Some(SiteTime(n + 7_200_000)),
    };
    MemberRecord {
        wave: Some(1),
        joiner: false,
        variant: 1,
        back: None,
        reverting: false,
        step: if n.is_multiple_of(3) { StepRecord::Failed(FailedReason::NoFeedback) } else { StepRecord::Downloading },
        since: SiteTime(n),
        attempts: 1,
        excuses: 2,
        not_fetched: 0,
        retry_at: None,
        action: Some(action),
        spent: 7,
        message: Some("downloading 40%".into()),
        reported: Some("1.4.1".parse().unwrap()),
    }
}

pub fn rollout(n: u64) -> RolloutRecord {
    let key = ArtifactKey { name: "gateway-os".into(), version: "1.4.2".parse().unwrap(), digest: digest(1) };
    let source = Source::File { dir: "/etc/lamplighter/manifests".into(), name: "gateway-os.swu".into() };
    let spec = RolloutSpec {
        artifact: ArtifactSpec { key, size: n, sources: vec![source] },
        variants: None,
        selector: Selector { match_labels: [("line".into(), "3".into())].into() },
        strategy: Strategy { max_in_flight: Amount::Count(5), ..Strategy::default() },
        gates: Vec::new(),
        deadlines: Deadlines::default(),
        attempts: 3,
        max_bytes: None,
        confirm_by: ConfirmBy::Auto,
        windows: windows(),
        allow_downgrade: false,
        paused: false,
        cancelled: false,
        retry_token: None,
        approved_waves: ["rest".to_owned()].into(),
    };
    RolloutRecord {
        identity: Identity("spring".into()),
        arrival: n,
        spec,
        origin: DeclaredBy::Manifest,
        object: None,
        listed: true,
        unlisted_at: None,
        replaced: false,
        frozen: None,
        tripped: None,
        cancelled: false,
        deleted: false,
        approved: ["1".to_owned()].into(),
        began: Some(1_700_000_000_000),
        ready_at: None,
        ended: None,
        backs: Vec::new(),
        rolled_back_at: None,
        retried: None,
    }
}

fn service(n: u64) -> ServiceRecord {
    let spec = ServiceSpec {
        config: vec!["/etc/edge".parse().unwrap()],
        unit: "modbus.service".parse().unwrap(),
        method: Method::Reload,
        settle: Duration::from_secs(2),
        min_interval: Duration::from_secs(10),
        health: None,
    };
    let config = Config { hash: digest(1), keys: BTreeMap::from([("a.conf".into(), 7)]) };
    let before = Mark { invocation: format!("{n:032x}"), changed: n };
    let begun = BegunRecord { config: config.clone(), before, why: RestartWhy::Changed, at: SiteTime(n) };
    ServiceRecord {
        spec,
        origin: DeclaredBy::Manifest,
        listed: true,
        applied: Some(config),
        begun: Some(begun),
        ordered: None,
        restarts: 3,
        last: None,
    }
}

fn windows() -> Windows {
    let times = ("22:00".parse().unwrap(), "06:00".parse().unwrap());
    let zone = Some("Europe/Berlin".parse().unwrap());
    let window = Window::new([Day::Sat].into(), times, Some("04:30".parse().unwrap()), zone).unwrap();
    Windows { list: vec![window], when_clock_unknown: WhenClockUnknown::Allow }
}

pub fn digest(n: u8) -> Digest {
    Digest::new([n; 32])
}

pub fn artifact(n: u64) -> ArtifactRecord {
    ArtifactRecord { sums: Sums { sha1: format!("{n:040x}"), md5: format!("{n:032x}") }, names: vec![], kept: None }
}

pub fn entry(n: u64) -> JournalEntry {
    JournalEntry {
        at: SiteTime(n),
        wall: None,
        what: What::Fetched,
        rollout: Some("spring".into()),
        gateway: Some("gw-001".into()),
        service: None,
        detail: format!("row {n}"),
    }
}
