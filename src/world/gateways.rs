//! Gateways act: requests, timers, bytes, power.

use super::bodies::Body;
use super::device::Act;
use super::link::{self, Answer, Ask, Reply};
use super::play::{Happening, World, trusted};
use super::site::Waiter;
use crate::model::Verdict;

/// Bytes that pass are a sign of life so often, in milliseconds.
const LIFE: u64 = 30_000;
/// So long after its clock was set the site may not have noticed, in milliseconds.
const SETTLES: u64 = 30_000;

impl World {
    pub(super) fn act(&mut self, device: usize, act: Act) {
        let Some(acting) = self.devices.get_mut(device) else { return };
        acting.note_life(self.now);
        acting.turn += 1;
        let turn = acting.turn;
        if std::mem::take(&mut acting.booted) {
            self.oracle.runs.insert(acting.role.id.clone(), acting.runs.clone());
        }
        match act {
            Act::Nothing => {}
            Act::Wait(wait) => self.later(wait, Happening::Wake(device, turn)),
            Act::Ask(ask) => self.ask(device, &ask),
        }
    }

    pub(super) fn wake(&mut self, device: usize, turn: u64) {
        if let Some(acting) = self.devices.get_mut(device).filter(|device| device.turn == turn) {
            let act = acting.wake();
            self.act(device, act);
        }
    }

    pub(super) fn reply(&mut self, device: usize, turn: u64, reply: Reply) {
        if self.devices.get(device).is_none_or(|device| device.turn != turn) {
            return;
        }
        if let Reply::Odd(what) = &reply {
            let what = what.clone();
            self.oracle.found(what);
        }
        if let (Reply::Order(order), Some(device)) = (&reply, self.devices.get(device))
            && !device.role.takes(&order.digest)
        {
            self.oracle.found(format!("{} was given a file for other hardware", device.role.id));
        }
        if !matches!(reply, Reply::Base { order: None, cancelled: None, .. } | Reply::Heard) {
            self.note(device, || format!("reads {reply:?}"));
        }
        if let Some(act) = self.devices.get_mut(device).map(|device| device.reply(reply)) {
            self.act(device, act);
        }
    }

    fn ask(&mut self, device: usize, ask: &Ask) {
        if !matches!(ask, Ask::Poll | Ask::Attributes(_)) {
            self.note(device, || format!("asks {ask:?}"));
        }
        let Some(asker) = self.devices.get(device) else { return };
        let site = self.site.as_mut().filter(|_| asker.reachable);
        let Some(site) = site else { return self.answer(device, Reply::Unreachable) };
        let now = site.time(self.now);
        let role = &asker.role;
        let wall = trusted(self.wall, self.now);
        let (seen, answer) = link::ask(site, now, (&role.id, role.character.client), ask);
        for event in seen {
            site.tell(event, Waiter::Nobody);
        }
        match answer {
            Answer::Now(reply) => {
                self.polls += u64::from(*ask == Ask::Poll);
                if let Reply::Base { order: Some(action), .. } | Reply::Base { cancelled: Some(action), .. } = &reply
                    && !site.stale
                {
                    self.oracle.shown(&role.id, *action);
                    if matches!(reply, Reply::Base { order: Some(_), .. }) && self.now > self.clock_set + SETTLES {
                        self.oracle.shown_by_the_clock(&role.id, *action, wall);
                    }
                }
                self.answer(device, reply);
            }
            Answer::Ask(event, pending) => site.tell(event, Waiter::Request(device, ask.clone(), pending)),
            Answer::Send(download) => {
                let cut = (asker.cuts > 0).then(|| self.random.u64(download.first..download.artifact.size));
                let (event, speed, ask) = (download.requested(), asker.speed, ask.clone());
                let body = Body { device, download, ask, speed, began: self.now, cut };
                site.tell(event, Waiter::FirstByte(self.bodies.begin(body)));
            }
        }
    }

    /// A reply takes a moment to arrive.
    pub(super) fn answer(&mut self, device: usize, reply: Reply) {
        let latency = self.random.u64(1..20);
        // one that lost its power or its connection meanwhile does not wait any more
        if let Some(turn) = self.devices.get(device).filter(|device| device.waits_for_reply()).map(|device| device.turn)
        {
            self.later(latency, Happening::Reply(device, turn, Box::new(reply)));
        }
    }

    /// The heart agreed to bytes, or did not.
    pub(super) fn first_byte(&mut self, number: u64, verdict: Option<Verdict>) {
        let (Some(body), Some(site)) = (self.bodies.under_way.get(&number), &mut self.site) else { return };
        let device = body.device;
        let reply = link::first_byte(&body.ask, &body.download, &mut site.presence, verdict);
        if reply != Reply::Body {
            // it asked for permission to begin, so its end is told too
            site.tell(body.download.ended(0), Waiter::Nobody);
            self.bodies.under_way.remove(&number);
            return self.answer(device, reply);
        }
        let Some(body) = self.bodies.under_way.get_mut(&number) else { return };
        body.began = self.now;
        if body.cut.is_some()
            && let Some(device) = self.devices.get_mut(device)
        {
            device.cuts = device.cuts.saturating_sub(1);
        }
        // the reply comes before the bytes
        let ends = body.ends() - self.now + 20;
        self.answer(device, reply);
        self.later(ends, Happening::BytesEnd(number));
        self.later(LIFE, Happening::BytesPass(number));
    }

    pub(super) fn bytes_pass(&mut self, number: u64) {
        let Some(body) = self.bodies.under_way.get(&number) else { return };
        let (Some(device), Some(site)) = (self.devices.get(body.device), &mut self.site) else { return };
        let now = site.time(self.now);
        if let Some(event) = site.presence.heard(&device.role.id, now) {
            site.tell(event, Waiter::Nobody);
        }
        self.later(LIFE, Happening::BytesPass(number));
    }

    /// The last byte may leave once the heart knows; a connection that breaks asks nobody.
    pub(super) fn bytes_end(&mut self, number: u64) {
        let Some(body) = self.bodies.under_way.get(&number) else { return };
        if body.cut.is_some() {
            let have = body.have(self.now);
            return self.body_over(number, have);
        }
        if !body.download.holds_end() {
            let have = body.download.last + 1;
            return self.body_over(number, have);
        }
        let Some(site) = &mut self.site else { return };
        site.tell(body.download.served(), Waiter::LastByte(number));
    }

    /// No more bytes of a transfer; the gateway has so many.
    pub(super) fn body_over(&mut self, number: u64, have: u64) {
        let Some(body) = self.bodies.under_way.remove(&number) else { return };
        if let Some(site) = &mut self.site {
            site.tell(body.download.ended(have.saturating_sub(body.download.first)), Waiter::Nobody);
        }
        self.note(body.device, || format!("has {have} bytes"));
        if let Some(act) = self.devices.get_mut(body.device).map(|device| device.received(have)) {
            self.act(body.device, act);
        }
    }

    /// Every transfer of a gateway breaks.
    fn cut_bodies(&mut self, device: usize) {
        let cut = self.bodies.under_way.iter().filter(|(_, body)| body.device == device);
        for (number, have) in cut.map(|(number, body)| (*number, body.have(self.now))).collect::<Vec<_>>() {
            self.body_over(number, have);
        }
    }

    pub(super) fn power(&mut self, device: usize, on: bool) {
        let Some(switched) = self.devices.get(device).filter(|device| device.on != on) else { return };
        let id = switched.role.id.clone();
        if !on {
            self.cut_bodies(device);
        }
        let act = self.devices.get_mut(device).map_or(Act::Nothing, |device| device.switch(on));
        self.act(device, act);
        self.note(device, || format!("{id} is switched {}", if on { "on" } else { "off" }));
    }

    pub(super) fn network(&mut self, device: usize, up: bool) {
        let Some(concerned) = self.devices.get_mut(device).filter(|device| device.reachable != up) else { return };
        concerned.reachable = up;
        concerned.note_life(self.now);
        let waits = concerned.waits_for_reply();
        if !up {
            self.cut_bodies(device);
            if waits {
                self.answer(device, Reply::Unreachable);
            }
        }
    }
}
