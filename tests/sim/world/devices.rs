//! Gateways act: requests, timers, bytes.

use lamplighter::model::Verdict;

use super::{Happening, World};
use crate::bodies::Body;
use crate::device::Act;
use crate::link::{self, Answer, Ask, Reply};
use crate::site::Waiter;

/// Bytes that pass are a sign of life so often, in milliseconds.
const LIFE: u64 = 30_000;

impl World {
    pub(super) fn act(&mut self, device: usize, act: Act) {
        self.turns[device] += 1;
        let acting = &self.devices[device];
        if self.oracle.runs.get(&acting.id) != Some(&acting.runs) {
            self.oracle.runs.insert(acting.id.clone(), acting.runs.clone());
        }
        match act {
            Act::Nothing => {}
            Act::Wait(wait) => self.later(wait, Happening::Wake(device, self.turns[device])),
            Act::Ask(ask) => self.ask(device, &ask),
        }
    }

    fn ask(&mut self, device: usize, ask: &Ask) {
        if !matches!(ask, Ask::Poll | Ask::Attributes(_)) {
            self.note(device, || format!("asks {ask:?}"));
        }
        let Some(site) = &mut self.site else { return self.answer(device, Reply::Unreachable) };
        let now = site.time(self.now);
        let asker = &self.devices[device];
        let (seen, answer) = link::ask(&site.board, &mut site.presence, now, (&asker.id, asker.character.client), ask);
        for event in seen {
            site.tell(event, Waiter::Nobody);
        }
        match answer {
            Answer::Now(reply) => {
                if let Reply::Base { order: Some(action), .. } | Reply::Base { cancelled: Some(action), .. } = &reply
                    && !site.stale
                {
                    self.oracle.shown(&asker.id, *action);
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
        self.later(latency, Happening::Reply(device, self.turns[device], reply));
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
        if body.cut.is_some() {
            self.devices[device].cuts -= 1;
        }
        // the reply comes before the bytes
        let ends = body.ends() - self.now + 20;
        self.answer(device, reply);
        self.later(ends, Happening::BytesEnd(number));
        self.later(LIFE, Happening::BytesPass(number));
    }

    pub(super) fn bytes_pass(&mut self, number: u64) {
        let Some(body) = self.bodies.under_way.get(&number) else { return };
        let id = &self.devices[body.device].id;
        let Some(site) = &mut self.site else { return };
        let now = site.time(self.now);
        if let Some(event) = site.presence.heard(id, now) {
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
        let act = self.devices[body.device].received(have);
        self.act(body.device, act);
    }
}
