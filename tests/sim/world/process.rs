//! The process: it starts, steps, commits, crashes and comes back.

use lamplighter::model::{ArtifactFact, Event, Verdict};

use super::{Happening, World};
use crate::disk::Ending;
use crate::fleet;
use crate::link::{self, Reply};
use crate::site::{InFlight, Site, Waiter};

impl World {
    pub(super) fn site_starts(&mut self) {
        let snapshot = self.disk.reopen();
        self.oracle.reopened(&snapshot);
        let boot = self.boot.to_string();
        let mut site = Site::start(snapshot, self.now, &boot, self.random.u32(..), self.slots);
        site.tell(Event::Started, Waiter::Nobody);
        self.site = Some(site);
        self.site_line("starts");
        self.declare_again();
    }

    pub(super) fn declare(&mut self, which: usize) {
        self.declared = self.declared.max(which + 1);
        self.declare_again();
    }

    /// Every start reads the manifests again.
    fn declare_again(&mut self) {
        let Some(at) = self.declared.checked_sub(1) else { return };
        let listing = self.declarations[at].clone();
        if let Some(site) = &mut self.site {
            site.tell(Event::Listed(listing), Waiter::Nobody);
        }
        // who was not answered says it again
        (0..self.ordered).for_each(|which| self.say(which));
    }

    pub(super) fn ordered(&mut self, which: usize) {
        self.ordered = self.ordered.max(which + 1);
        self.say(which);
    }

    fn say(&mut self, which: usize) {
        let order = self.orders[which].clone();
        if let Some(site) = &mut self.site {
            site.tell(Event::Order(order, "alice".into()), Waiter::Nobody);
        }
    }

    /// Steps if something waits, and sees to it that the loop wakes in time.
    pub(super) fn pump(&mut self) {
        let boot = self.boot.to_string();
        while let Some(site) = &mut self.site {
            if !site.step(self.now, &boot) {
                break;
            }
            if site.in_flight.as_ref().is_some_and(|step| step.batch.is_empty()) {
                self.publish();
                continue;
            }
            let takes = self.random.u64(self.commit_takes.clone());
            self.later(takes, Happening::CommitEnds(self.process));
        }
        let Some(at) = self.site.as_ref().and_then(Site::wakes_at) else { return };
        if self.wakes_at.is_none_or(|queued| at < queued) {
            let at = at.max(self.now + 1);
            self.wakes_at = Some(at);
            self.later(at - self.now, Happening::LoopWakes(self.process));
        }
    }

    pub(super) fn commit_ends(&mut self) {
        let ending = (self.endings)(self.commits);
        self.commits += 1;
        let Some(site) = &mut self.site else { return };
        let step = site.in_flight.as_ref().expect("a commit is in flight");
        self.oracle.begins(&step.batch);
        for row in &step.batch.journal {
            let gateway = row.gateway.as_deref().unwrap_or("site");
            self.trail.push(format!("{:>9} {gateway} == {:?} {}", self.now, row.what, row.detail));
        }
        let answered = self.disk.commit(&step.batch, ending);
        match ending {
            _ if answered => self.publish(),
            Ending::Fails(..) => self.commit_failed(),
            _ => self.crash(matches!(ending, Ending::PowerCut(..))),
        }
    }

    fn publish(&mut self) {
        let Some(site) = &mut self.site else { return };
        let step: &InFlight = site.in_flight.as_ref().expect("a step to publish");
        self.oracle.done(step);
        let published = site.publish();
        if published.outlook.wanted.is_some_and(|wanted| !wanted.is_empty()) {
            self.later(200, Happening::Verified(self.process));
        }
        for (waiter, verdict) in published.answers {
            self.tell(waiter, verdict);
        }
    }

    /// A verdict, or none because the commit failed.
    fn tell(&mut self, waiter: Waiter, verdict: Option<Verdict>) {
        let Some(site) = &mut self.site else { return };
        match waiter {
            Waiter::Nobody => {}
            Waiter::Request(device, ask, pending) => {
                let reply = link::reply(&ask, pending, &mut site.presence, verdict);
                self.answer(device, reply);
            }
            Waiter::FirstByte(body) => self.first_byte(body, verdict),
            Waiter::LastByte(number) => {
                let Some(body) = self.bodies.under_way.get(&number) else { return };
                let whole = verdict == Some(Verdict::Deploy);
                let have = if whole { body.size() } else { body.have(self.now) };
                self.body_over(number, have);
            }
        }
    }

    /// The process lives, and knows nothing any more.
    fn commit_failed(&mut self) {
        self.failed_commits += 1;
        self.site_line("fails to commit");
        let snapshot = self.disk.reopen();
        self.oracle.reopened(&snapshot);
        let (random, slots) = (self.random.u32(..), self.slots);
        let Some(site) = &mut self.site else { return };
        let waiters = site.rebuild(snapshot, self.now, random, slots);
        site.tell(Event::Started, Waiter::Nobody);
        self.declare_again();
        self.wakes_at = None;
        for waiter in waiters {
            self.tell(waiter, None);
        }
    }

    /// The process is gone, and every connection with it.
    fn crash(&mut self, power: bool) {
        self.crashes += 1;
        self.site_line("crashes");
        self.site = None;
        self.process += 1;
        self.wakes_at = None;
        self.boot += u64::from(power);
        for body in std::mem::take(&mut self.bodies.under_way).into_values() {
            if self.devices[body.device].is_receiving() {
                let act = self.devices[body.device].received(body.have(self.now));
                self.act(body.device, act);
            }
        }
        for device in 0..self.devices.len() {
            if self.devices[device].waits_for_reply() {
                self.answer(device, Reply::Unreachable);
            }
        }
        let down = self.random.u64(200..20_000);
        self.later(down, Happening::SiteStarts);
    }

    pub(super) fn verified(&mut self) {
        let Some(site) = &mut self.site else { return };
        let wanted = lamplighter::engine::wanted_artifacts(site.core.state());
        for spec in wanted.into_values() {
            let fact = ArtifactFact::Verified(fleet::sums());
            site.tell(Event::Artifact(spec.key.digest, fact), Waiter::Nobody);
        }
    }

    fn site_line(&mut self, what: &str) {
        self.trail.push(format!("{:>9} site {what}", self.now));
    }
}
