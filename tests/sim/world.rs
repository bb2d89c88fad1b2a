//! Virtual time: gateways act, the site steps and commits, and whatever is planned to go wrong goes wrong.

mod devices;
mod process;

use std::collections::BTreeMap;
use std::ops::Range;

use lamplighter::engine::Step;
use lamplighter::model::{ControllerId, FailedReason, Listing, Order, Presence, WaitingReason};

use crate::bodies::Bodies;
use crate::device::Device;
use crate::disk::{Disk, Ending};
use crate::fate::{Character, Fate};
use crate::fleet;
use crate::link::Reply;
use crate::oracle::Oracle;
use crate::site::Site;

/// Something that happens at its time.
#[derive(Debug)]
enum Happening {
    /// A gateway's timer; the number says which.
    Wake(usize, u64),
    /// A reply arrives at a gateway.
    Reply(usize, u64, Reply),
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
    /// People declare something else.
    Declare(usize),
    /// A person gives an order on the spot.
    Order(usize),
    /// An artifact is in the cache.
    Verified(u64),
}

/// How commits end, by their number from 0.
pub type Endings = Box<dyn FnMut(u64) -> Ending>;

pub struct World {
    pub now: u64,
    pub devices: Vec<Device>,
    pub site: Option<Site>,
    pub oracle: Oracle,
    pub commits: u64,
    pub crashes: u64,
    pub failed_commits: u64,
    /// How long a commit takes, in milliseconds.
    pub commit_takes: Range<u64>,
    /// How many gateways may download at once.
    pub slots: u32,
    random: fastrand::Rng,
    queue: BTreeMap<(u64, u64), Happening>,
    happened: u64,
    disk: Disk,
    endings: Endings,
    bodies: Bodies,
    indices: BTreeMap<ControllerId, usize>,
    /// By gateway: the number of its timer or request that counts.
    turns: Vec<u64>,
    /// Which process runs; what belongs to an earlier one is gone.
    process: u64,
    boot: u64,
    /// The time for which a wake-up of the loop is queued.
    wakes_at: Option<u64>,
    /// What people declare, and when.
    declarations: Vec<Listing>,
    declared: usize,
    /// What people say on the spot.
    orders: Vec<Order>,
    ordered: usize,
    trail: Vec<String>,
}

/// How long a world may run, in milliseconds.
const LONGEST: u64 = 24 * 3_600_000;

impl World {
    /// A site and its gateways; `declarations` come at their times, the first at once.
    pub fn new(
        seed: u64,
        characters: &[(ControllerId, Character)],
        disk: Disk,
        declarations: Vec<(u64, Listing)>,
        endings: Endings,
    ) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let devices: Vec<_> =
            characters.iter().map(|(id, character)| Device::new(id.clone(), *character, random.fork())).collect();
        let indices = characters.iter().enumerate().map(|(at, (id, _))| (id.clone(), at)).collect();
        let mut world = Self {
            now: 0,
            turns: vec![0; devices.len()],
            devices,
            site: None,
            oracle: Oracle::default(),
            commits: 0,
            crashes: 0,
            failed_commits: 0,
            commit_takes: 2..60,
            slots: fleet::SLOTS,
            random,
            queue: BTreeMap::new(),
            happened: 0,
            disk,
            endings,
            bodies: Bodies::default(),
            indices,
            process: 0,
            boot: 0,
            wakes_at: None,
            declarations: Vec::new(),
            declared: 0,
            orders: Vec::new(),
            ordered: 0,
            trail: Vec::new(),
        };
        for (at, listing) in declarations {
            world.later(at, Happening::Declare(world.declarations.len()));
            world.declarations.push(listing);
        }
        world.later(0, Happening::SiteStarts);
        for device in 0..world.devices.len() {
            let wait = world.devices[device].first_wake();
            world.act(device, crate::device::Act::Wait(wait));
        }
        world
    }

    /// At this time a person says so on the spot; the earliest first.
    pub fn order(&mut self, at: u64, order: Order) {
        self.later(at, Happening::Order(self.orders.len()));
        self.orders.push(order);
    }

    /// Runs until nothing is left to happen but polls.
    pub fn run(&mut self) {
        self.oracle.slots = self.slots;
        let mut look = 600_000;
        while let Some((at, happening)) = self.pop() {
            assert!(at < LONGEST, "no end after a day of virtual time\n{}", self.report());
            self.now = at;
            self.happen(happening);
            self.pump();
            if self.now >= look {
                look = self.now + 60_000;
                if self.is_over() {
                    return;
                }
            }
        }
    }

    fn pop(&mut self) -> Option<(u64, Happening)> {
        self.queue.pop_first().map(|((at, _), happening)| (at, happening))
    }

    fn later(&mut self, wait: u64, happening: Happening) {
        self.happened += 1;
        self.queue.insert((self.now + wait, self.happened), happening);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Wake(device, turn) if self.turns[device] == turn => {
                let act = self.devices[device].wake();
                self.act(device, act);
            }
            Happening::Reply(device, turn, reply) if self.turns[device] == turn => {
                if !matches!(reply, Reply::Base { order: None, cancelled: None, .. } | Reply::Heard) {
                    self.note(device, || format!("reads {reply:?}"));
                }
                let act = self.devices[device].reply(reply);
                self.act(device, act);
            }
            Happening::BytesPass(body) => self.bytes_pass(body),
            Happening::BytesEnd(body) => self.bytes_end(body),
            Happening::LoopWakes(process) if process == self.process => self.wakes_at = None,
            Happening::CommitEnds(process) if process == self.process => self.commit_ends(),
            Happening::SiteStarts => self.site_starts(),
            Happening::Declare(which) => self.declare(which),
            Happening::Order(which) => self.ordered(which),
            Happening::Verified(process) if process == self.process => self.verified(),
            // of a turn or a process that is over
            Happening::Wake(..)
            | Happening::Reply(..)
            | Happening::LoopWakes(_)
            | Happening::CommitEnds(_)
            | Happening::Verified(_) => {}
        }
    }

    /// Everybody is at the end, or waits for something that only people or power can change.
    fn is_over(&self) -> bool {
        let Some(site) = &self.site else { return false };
        let state = site.core.state();
        let quiet = state.listed && site.is_idle() && lamplighter::engine::next_due(state).is_none();
        quiet
            && self.declared == self.declarations.len()
            && self.ordered == self.orders.len()
            && self.bodies.under_way.is_empty()
            && state.rollouts.values().flat_map(|rollout| &rollout.members).all(|(id, member)| match member.step {
                Step::Waiting(WaitingReason::Offline) => {
                    let known = matches!(state.gateways[id].presence, Presence::Never | Presence::Offline);
                    known && self.devices[self.indices[id]].is_dark()
                }
                Step::Waiting(reason) => stays(reason),
                Step::Updated => self.devices[self.indices[id]].is_at_rest(),
                step => step.is_terminal(),
            })
    }

    /// How each member of the newest rollout ended.
    pub fn ends(&self) -> BTreeMap<ControllerId, Step> {
        let state = self.site.as_ref().expect("the site is up at the end").core.state();
        let newest = state.rollouts.values().max_by_key(|rollout| rollout.arrival).expect("there is a rollout");
        newest.members.iter().map(|(id, member)| (id.clone(), member.step)).collect()
    }

    /// What every world must show at its end, when nothing stopped its rollout.
    pub fn judge(&self) {
        for (id, step) in self.ends() {
            let device = &self.devices[self.indices[&id]];
            let mut allowed = device.character.ends();
            if device.word_lost {
                allowed.extend(device.character.ends_unheard());
            }
            let character = device.character;
            let disturbed = self.crashes + self.failed_commits > 0;
            // who is silent counts as there for a while after each start, and so as one that lets its offer lie
            if character.fate == Fate::SilentAfterFetch && disturbed {
                allowed.push(Step::Failed(FailedReason::NotFetched));
            }
            // a word on its failure that we could not take for so long that its deadline passed came too late
            if disturbed && allowed.iter().all(|step| matches!(step, Step::Failed(_))) {
                allowed.push(Step::Failed(FailedReason::NoFeedback));
            }
            assert!(allowed.contains(&step), "{id} {character:?} ended as {step:?}\n{}", self.story(&id));
            assert!(step != Step::Updated || device.told_the_truth(), "{id} is not updated\n{}", self.story(&id));
        }
        self.judge_installs();
    }

    /// What must hold however a rollout ends.
    pub fn judge_installs(&self) {
        for device in &self.devices {
            for install in &device.installs {
                assert!(install.whole, "{} installed a part\n{}", device.id, self.story(&device.id));
                let cancelled = self.oracle.cancelled.contains(&(device.id.clone(), install.action));
                assert!(!cancelled, "{} installed what was cancelled\n{}", device.id, self.story(&device.id));
                assert!(!install.again, "{} installed twice\n{}", device.id, self.story(&device.id));
            }
        }
    }

    fn note(&mut self, device: usize, what: impl FnOnce() -> String) {
        let line = format!("{:>9} {} {}", self.now, self.devices[device].id, what());
        self.trail.push(line);
    }

    /// What a gateway went through, for a person.
    pub fn story(&self, id: &ControllerId) -> String {
        let name = format!(" {id} ");
        let lines = self.trail.iter().filter(|line| line.contains(&name) || line.contains(" site "));
        let lines: Vec<_> = lines.map(String::as_str).collect();
        lines[lines.len().saturating_sub(80)..].join("\n")
    }

    fn report(&self) -> String {
        let Some(site) = &self.site else { return "the site is down".into() };
        let due = lamplighter::engine::next_due(site.core.state());
        let unfinished = self.ends().into_iter().filter(|(_, step)| !step.is_terminal());
        format!("due {due:?}, site time {:?}, unfinished: {:?}", site.time(self.now), unfinished.collect::<Vec<_>>())
    }
}

/// Does a member wait so for ever, if nobody does anything?
fn stays(reason: WaitingReason) -> bool {
    use WaitingReason::{DuplicateIdentity, Held, Paused, StoreLost, UnknownVersion, Unlisted, WaveNotOpen};
    matches!(reason, DuplicateIdentity | Held | Paused | StoreLost | UnknownVersion | Unlisted | WaveNotOpen)
}
