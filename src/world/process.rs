//! The process: it starts, steps, commits, crashes and comes back.

use super::disk::Ending;
use super::link::{self, Reply};
use super::play::{Happening, World};
use super::site::{Site, Start, Waiter};
use crate::engine;
use crate::model::{ArtifactFact, Digest, Event, Sums, Verdict};

impl World {
    pub(super) fn site_starts(&mut self) {
        if self.dark {
            return;
        }
        let start = self.start();
        let mut site = Site::start(start, self.setting.device());
        site.tell(Event::Started, Waiter::Nobody);
        self.site = Some(site);
        self.site_line("starts");
        self.declare();
        self.await_hub();
    }

    /// What a process has to begin with.
    fn start(&mut self) -> Start {
        let snapshot = self.disk.reopen();
        self.oracle.reopened(&snapshot);
        Start {
            snapshot,
            at: self.now,
            boot: self.boot.to_string(),
            random: self.random.u32(..),
            settings: self.setting.engine.clone(),
        }
    }

    pub(super) fn tell_site(&mut self, event: Event) {
        if let Some(site) = &mut self.site {
            site.tell(event, Waiter::Nobody);
        }
    }

    /// What the manifests say; every start reads them again.
    pub(super) fn declare(&mut self) {
        if let Some(listing) = self.declared.clone() {
            self.tell_site(Event::Listed(listing));
        }
        // who was not answered says it again
        for (order, who) in self.standing.clone() {
            self.tell_site(Event::Order(order, who));
        }
    }

    /// Steps if something waits, and sees to it that the loop wakes in time.
    pub(super) fn pump(&mut self) {
        let wall = self.wall_clock();
        while let Some(site) = &mut self.site {
            if !site.step(self.now, wall) {
                break;
            }
            self.steps += 1;
            if let Some(due) = site.overdue(self.now) {
                self.oracle.found(format!("after a step something is due at {due:?} already: a busy loop"));
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
        let ending = if std::mem::take(&mut self.cut_next) {
            Ending::PowerCut(self.random.u64(0..10), self.random.u64(..))
        } else {
            (self.endings)(self.commits)
        };
        self.commits += 1;
        let Some(step) = self.site.as_ref().and_then(|site| site.in_flight.as_ref()) else { return };
        self.oracle.begins(&step.batch);
        let now = self.now;
        self.journal.extend(step.batch.journal.iter().map(|row| (now, row.clone())));
        if let Some(trail) = &mut self.trail {
            trail.extend(step.batch.journal.iter().map(|row| {
                let gateway = row.gateway.as_deref().unwrap_or("site");
                format!("{:>9} {gateway} == {:?} {}", self.now, row.what, row.detail)
            }));
        }
        let answered = self.disk.commit(&step.batch, ending);
        match ending {
            _ if answered => self.publish(),
            Ending::Fails(..) => self.commit_failed(),
            _ => {
                self.stop(matches!(ending, Ending::PowerCut(..)));
                let down = self.random.u64(200..20_000);
                self.later(down, Happening::SiteStarts);
            }
        }
    }

    fn publish(&mut self) {
        if self.oracle.looks_at_the_field() {
            self.oracle.field = self.field();
        }
        let Some(site) = &mut self.site else { return };
        let Some(step) = &site.in_flight else { return };
        self.oracle.done(step);
        if let Some(hub) = &mut self.hub {
            hub.saved(&step.events);
        }
        let Some(published) = site.publish() else { return };
        if !site.gates.is_empty() && !std::mem::replace(&mut site.asks, true) {
            self.later(20, Happening::GatesAsked(self.process));
        }
        if published.wants {
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
        let start = self.start();
        let Some(site) = &mut self.site else { return };
        let waiters = site.rebuild(start);
        site.tell(Event::Started, Waiter::Nobody);
        self.declare();
        self.await_hub();
        self.wakes_at = None;
        for waiter in waiters {
            self.tell(waiter, None);
        }
    }

    /// The process is gone, and every connection with it; with the power also what the machine remembers of its boot.
    pub(super) fn stop(&mut self, power: bool) {
        self.crashes += 1;
        self.site_line(if power { "loses power" } else { "crashes" });
        self.site = None;
        self.process += 1;
        self.wakes_at = None;
        self.boot += u64::from(power);
        for body in std::mem::take(&mut self.bodies.under_way).into_values() {
            let have = body.have(self.now);
            if let Some(device) = self.devices.get_mut(body.device).filter(|device| device.is_receiving()) {
                let act = device.received(have);
                self.act(body.device, act);
            }
        }
        for device in 0..self.devices.len() {
            self.answer(device, Reply::Unreachable);
        }
    }

    /// Everything that is wanted is in the cache.
    pub(super) fn verified(&mut self) {
        let Some(site) = self.site.as_mut().filter(|_| self.link_up) else { return };
        for spec in engine::wanted_artifacts(site.core.state()) {
            site.tell(complete(spec.key.digest), Waiter::Nobody);
        }
    }

    /// Files of a drop are complete.
    pub(super) fn files(&mut self, digests: Vec<Digest>) {
        for digest in digests {
            self.tell_site(complete(digest));
        }
    }

    fn site_line(&mut self, what: &str) {
        if let Some(trail) = &mut self.trail {
            trail.push(format!("{:>9} site {what}", self.now));
        }
    }
}

fn complete(digest: Digest) -> Event {
    let sums = Sums { sha1: "1".repeat(40), md5: "2".repeat(32) };
    Event::Artifact(digest, ArtifactFact::Verified(sums))
}
