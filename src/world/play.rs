//! Virtual time: gateways act, the site steps and commits, and whatever is planned to go wrong goes wrong.

use std::collections::BTreeMap;
use std::ops::Range;

use super::bodies::Bodies;
use super::character::{Fate, Role};
use super::deed::Deed;
use super::device::{Act, Device};
use super::disk::{Disk, Ending};
use super::hub::Hub;
use super::link::Reply;
use super::oracle::Oracle;
use super::plant::Plant;
use super::site::Site;
use crate::device::ddi;
use crate::engine::{self, Settings, Step};
use crate::model::{ControllerId, Event, JournalEntry, Listing, Order, Presence, WaitingReason};

/// Something that happens at its time.
#[derive(Debug)]
pub(super) enum Happening {
    /// A gateway's timer; the number says which.
    Wake(usize, u64),
    /// A reply arrives at a gateway.
    Reply(usize, u64, Box<Reply>),
    /// Bytes are still arriving.
    BytesPass(u64),
    /// A transfer has one byte left, or its connection breaks.
    BytesEnd(u64),
    /// The site's loop wakes.
    LoopWakes(u64),
    /// A commit ends.
    CommitEnds(u64),
    /// The process starts.
    SiteStarts,
    /// Somebody does what was planned.
    Deed(usize),
    /// Artifacts are in the cache.
    Verified(u64),
    /// Gates answer.
    GatesAsked(u64),
}

/// How commits end, by their number from 0.
pub type Endings = Box<dyn FnMut(u64) -> Ending>;

/// What the site is set to.
#[derive(Debug, Clone)]
pub struct Setting {
    /// What the engine knows of the site file.
    pub engine: Settings,
    /// What the wall clock says at the beginning, in Unix milliseconds.
    pub starts: i64,
}

impl Setting {
    pub(super) fn device(&self) -> ddi::Settings {
        ddi::Settings {
            tenants: vec!["DEFAULT".into()],
            poll_interval: self.engine.poll_interval,
            url: None,
            tokens: Default::default(),
        }
    }
}

/// A site, its gateways and their time, in milliseconds.
pub struct World {
    /// The time.
    pub now: u64,
    /// The gateways.
    pub devices: Vec<Device>,
    /// The process, while it runs.
    pub site: Option<Site>,
    /// Who judges it all.
    pub oracle: Oracle,
    /// How many commits there were.
    pub commits: u64,
    /// How often the process died.
    pub crashes: u64,
    /// How many commits failed.
    pub failed_commits: u64,
    /// How many polls were answered.
    pub polls: u64,
    /// How many steps the heart took.
    pub steps: u64,
    /// How long a commit takes, in milliseconds.
    pub commit_takes: Range<u64>,
    /// The rows of the journal, and when they were committed.
    pub journal: Vec<(u64, JournalEntry)>,
    /// Everything that happened, for a person, if that is wanted.
    pub trail: Option<Vec<String>>,
    pub(super) setting: Setting,
    pub(super) random: fastrand::Rng,
    queue: BTreeMap<(u64, u64), Happening>,
    happened: u64,
    pub(super) disk: Box<dyn Disk>,
    pub(super) endings: Endings,
    pub(super) bodies: Bodies,
    /// Which process runs; what belongs to an earlier one is gone.
    pub(super) process: u64,
    pub(super) boot: u64,
    /// The time for which a wake-up of the loop is queued.
    pub(super) wakes_at: Option<u64>,
    deeds: Vec<Deed>,
    deeds_left: usize,
    /// What the manifests say.
    pub(super) declared: Option<Listing>,
    /// The API server, if the site has one.
    pub(super) hub: Option<Hub>,
    /// What people gave and lifted on the spot so far.
    pub(super) standing: Vec<(Order, String)>,
    pub(super) plant: Plant,
    /// The machine has no power.
    pub(super) dark: bool,
    pub(super) cut_next: bool,
    pub(super) link_up: bool,
    /// The wall clock is so much later than the time.
    pub(super) wall: i64,
    /// When it was set last.
    pub(super) clock_set: u64,
}

impl World {
    /// A site and its gateways, before anything happened.
    pub fn new(seed: u64, roles: Vec<Role>, setting: Setting, disk: Box<dyn Disk>, endings: Endings) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let interval = setting.engine.poll_interval;
        let devices: Vec<_> = roles.into_iter().map(|role| Device::new(role, interval, random.fork())).collect();
        let mut world = Self {
            now: 0,
            site: None,
            oracle: Oracle::new(setting.engine.download_slots, setting.engine.time_zone.clone()),
            commits: 0,
            crashes: 0,
            failed_commits: 0,
            polls: 0,
            steps: 0,
            commit_takes: 2..60,
            journal: Vec::new(),
            trail: None,
            wall: setting.starts,
            clock_set: 0,
            setting,
            random,
            queue: BTreeMap::new(),
            happened: 0,
            disk,
            endings,
            bodies: Bodies::default(),
            process: 0,
            boot: 0,
            wakes_at: None,
            deeds: Vec::new(),
            deeds_left: 0,
            declared: None,
            hub: None,
            standing: Vec::new(),
            plant: Plant::default(),
            dark: false,
            cut_next: false,
            link_up: true,
            devices,
        };
        world.later(0, Happening::SiteStarts);
        for at in 0..world.devices.len() {
            let wait = world.devices.get_mut(at).map_or(0, Device::first_wake);
            world.act(at, Act::Wait(wait));
        }
        world
    }

    /// Something is to be done at a time.
    pub fn plan(&mut self, at: u64, deed: Deed) {
        if matches!(deed, Deed::Hub(_)) {
            self.hub.get_or_insert_default();
        }
        self.deeds.push(deed);
        self.deeds_left += 1;
        self.later(at.saturating_sub(self.now), Happening::Deed(self.deeds.len() - 1));
    }

    /// Runs until nothing is left to happen but polls, at most until a time; true if it got there. Ends at once when the
    /// oracle found something.
    pub fn run(&mut self, most: u64) -> bool {
        let mut look = self.now + 600_000;
        while let Some(at) = self.next_at().filter(|at| *at <= most) {
            self.take(at);
            if !self.oracle.wrong.is_empty() {
                return false;
            }
            if self.now >= look {
                look = self.now + 60_000;
                if self.is_over() {
                    return true;
                }
            }
        }
        self.now = most;
        false
    }

    /// Runs until a time.
    pub fn run_until(&mut self, until: u64) {
        while let Some(at) = self.next_at().filter(|at| *at <= until) {
            self.take(at);
        }
        self.now = self.now.max(until);
    }

    fn next_at(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    fn take(&mut self, at: u64) {
        if let Some((_, happening)) = self.queue.pop_first() {
            self.now = at;
            self.happen(happening);
            self.pump();
        }
    }

    pub(super) fn later(&mut self, wait: u64, happening: Happening) {
        self.happened += 1;
        self.queue.insert((self.now + wait, self.happened), happening);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Wake(device, turn) => self.wake(device, turn),
            Happening::Reply(device, turn, reply) => self.reply(device, turn, *reply),
            Happening::BytesPass(body) => self.bytes_pass(body),
            Happening::BytesEnd(body) => self.bytes_end(body),
            Happening::LoopWakes(process) if process == self.process => self.wakes_at = None,
            Happening::CommitEnds(process) if process == self.process => self.commit_ends(),
            Happening::SiteStarts => self.site_starts(),
            Happening::Deed(which) => {
                if let Some(deed) = self.deeds.get(which).cloned() {
                    self.deeds_left -= 1;
                    self.perform(deed);
                }
            }
            Happening::Verified(process) if process == self.process => self.verified(),
            Happening::GatesAsked(process) if process == self.process => self.ask_gates(),
            // of a process that is over
            Happening::LoopWakes(_) | Happening::CommitEnds(_) | Happening::Verified(_) | Happening::GatesAsked(_) => {}
        }
    }

    fn perform(&mut self, deed: Deed) {
        match deed {
            Deed::Declare(listing) => {
                self.declared = Some(listing);
                self.declare();
            }
            Deed::Hub(says) => self.hub_says(says),
            Deed::Files(digests) => self.files(digests),
            Deed::Drop(dropped) => self.tell_site(Event::Dropped(dropped)),
            Deed::Order(order, who) => {
                if matches!(order, Order::Give(..) | Order::Lift(_)) {
                    self.standing.push((order.clone(), who.clone()));
                }
                self.tell_site(Event::Order(order, who));
            }
            Deed::SitePower(true) if self.dark => {
                self.dark = false;
                self.site_starts();
            }
            Deed::SitePower(false) if !self.dark => {
                self.dark = true;
                self.stop(true);
            }
            Deed::SitePower(_) => {}
            Deed::PowerCut => self.cut_next = true,
            Deed::Power(gateways, on) => gateways.into_iter().for_each(|at| self.power(at, on)),
            Deed::Network(gateways, up) => gateways.into_iter().for_each(|at| self.network(at, up)),
            Deed::Link(up) => {
                self.link_up = up;
                if up {
                    self.declare();
                    self.list_hub();
                    self.verified();
                }
            }
            Deed::Gate(key, answer) => self.gate_says(key, answer),
            Deed::Clock(says) => {
                self.wall = says - i64::try_from(self.now).unwrap_or(i64::MAX);
                self.clock_set = self.now;
                if let Some(site) = &mut self.site {
                    site.clock_was_set(self.now);
                }
            }
        }
    }

    /// Everybody is at the end, or waits for something that only people or power can change.
    fn is_over(&self) -> bool {
        let Some(site) = &self.site else { return false };
        let state = site.core.state();
        if self.deeds_left > 0 || !self.bodies.under_way.is_empty() || !state.listed || !site.is_idle() {
            return false;
        }
        let devices: BTreeMap<_, _> = self.devices.iter().map(|device| (&device.role.id, device)).collect();
        let heard = |id| state.gateways.get(id).is_some_and(|gateway| gateway.heard);
        engine::next_due(state).is_none()
            && state.rollouts.values().flat_map(|rollout| &rollout.members).all(|(id, member)| {
                let Some(device) = devices.get(id) else { return true };
                match member.step {
                    Step::Waiting(WaitingReason::Offline) => {
                        let presence = state.gateways.get(id).map(|gateway| gateway.presence);
                        matches!(presence, Some(Presence::Never | Presence::Offline)) && device.is_dark()
                    }
                    Step::Waiting(reason) => stays(reason),
                    // after a start the site waits to hear of it
                    Step::Updated => device.is_at_rest() && (heard(id) || device.is_dark()),
                    step => step.is_terminal(),
                }
            })
    }

    /// How each member of the newest rollout stands.
    pub fn ends(&self) -> BTreeMap<ControllerId, Step> {
        let newest = self.site.as_ref().map(|site| site.core.state()).and_then(|state| {
            let rollouts = state.rollouts.values();
            rollouts.max_by_key(|rollout| rollout.arrival)
        });
        newest.into_iter().flat_map(|r| &r.members).map(|(id, member)| (id.clone(), member.step)).collect()
    }

    /// What is wrong whatever a rollout's end: what the oracle found, and installs that should not have been.
    pub fn wrong(&self) -> Vec<String> {
        let mut wrong = self.oracle.wrong.clone();
        for device in &self.devices {
            let id = &device.role.id;
            for install in &device.installs {
                let cancelled = self.oracle.cancelled.contains(&(id.clone(), install.action));
                let all = [
                    (!install.whole, "a part of"),
                    (cancelled, "after its cancellation, "),
                    (install.again, "once more, "),
                ];
                if !device.role.takes(&install.digest) {
                    wrong.push(format!("{id} installed a file for other hardware"));
                }
                let faults = all.iter().filter(|(fault, _)| *fault);
                wrong.extend(faults.map(|(_, how)| format!("{id} installed {how} {}", install.version)));
            }
        }
        wrong
    }

    pub(super) fn note(&mut self, device: usize, what: impl FnOnce() -> String) {
        if let (Some(trail), Some(device)) = (&mut self.trail, self.devices.get(device)) {
            trail.push(format!("{:>9} {} {}", self.now, device.role.id, what()));
        }
    }

    /// What a gateway went through, for a person, if it was followed.
    pub fn story(&self, id: &ControllerId) -> String {
        let name = format!(" {id} ");
        let lines = self.trail.iter().flatten().filter(|line| line.contains(&name) || line.contains(" site "));
        let lines: Vec<_> = lines.map(String::as_str).collect();
        lines.get(lines.len().saturating_sub(80)..).unwrap_or_default().join("\n")
    }

    /// Why it goes on, for a person.
    pub fn unfinished(&self) -> String {
        let Some(site) = &self.site else { return "the site is down".into() };
        let due = engine::next_due(site.core.state());
        let unfinished: Vec<_> = self.ends().into_iter().filter(|(_, step)| !step.is_terminal()).collect();
        format!("due {due:?}, site time {:?}, unfinished: {unfinished:?}", site.time(self.now))
    }

    /// The wall clock, in Unix milliseconds, if it is trusted: one that was never set says 1970.
    pub(super) fn wall_clock(&self) -> Option<i64> {
        trusted(self.wall, self.now)
    }
}

/// The same of its parts.
pub(super) fn trusted(ahead: i64, now: u64) -> Option<i64> {
    Some(ahead.saturating_add(i64::try_from(now).unwrap_or(i64::MAX))).filter(|wall| *wall >= EARLIEST)
}

/// 1 January 2025: before it no clock is trusted, in Unix milliseconds.
const EARLIEST: i64 = 1_735_689_600_000;

/// Does a member wait so for ever, if nobody does anything?
fn stays(reason: WaitingReason) -> bool {
    use WaitingReason::{DuplicateIdentity, Held, Paused, StoreLost, UnknownVersion, Unlisted, WaveNotOpen};
    matches!(reason, DuplicateIdentity | Held | Paused | StoreLost | UnknownVersion | Unlisted | WaveNotOpen)
}

impl Device {
    /// Will it ever do anything again by itself?
    pub fn is_dark(&self) -> bool {
        self.went_dark() || !self.on || !self.reachable || self.role.character.fate == Fate::NeverPolls
    }
}
