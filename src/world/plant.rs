//! The plant: what gates say when they are asked, and which of them the site may believe to be open.

use std::collections::{BTreeMap, BTreeSet};

use super::play::{Happening, World};
use crate::model::{Event, GateAnswer, GateKey};

/// A file is looked for so often, in milliseconds; here addresses are asked as often.
const ASKED_EVERY: u64 = 2_000;
/// An answer is believed for so long, in milliseconds, and a commit takes a moment.
const BELIEVED: u64 = 16_000;

/// What gates say.
#[derive(Debug, Default)]
pub(super) struct Plant {
    says: BTreeMap<GateKey, GateAnswer>,
    /// When gates that are not open any more were so last.
    open_until: BTreeMap<GateKey, u64>,
}

impl Plant {
    fn say(&mut self, now: u64, key: GateKey, answer: GateAnswer) {
        let before = self.says.insert(key.clone(), answer);
        if before == Some(GateAnswer::Open) {
            self.open_until.insert(key, now);
        }
    }

    /// A permit that nobody laid out is not there; an address of which nothing is said does not answer.
    fn answer(&self, key: &GateKey) -> GateAnswer {
        self.says.get(key).cloned().unwrap_or_else(|| match key {
            GateKey::File(_) => GateAnswer::Closed("there is no such file".into()),
            GateKey::Http(_) => GateAnswer::Unknown("no answer".into()),
        })
    }

    /// All gates that are open, or were so a moment ago.
    pub fn open(&self, now: u64) -> BTreeSet<GateKey> {
        let open = self.says.iter().filter(|(_, answer)| **answer == GateAnswer::Open).map(|(key, _)| key);
        let lately = self.open_until.iter().filter(|(_, until)| now <= **until + BELIEVED).map(|(key, _)| key);
        open.chain(lately).cloned().collect()
    }
}

impl World {
    pub(super) fn gate_says(&mut self, key: GateKey, answer: GateAnswer) {
        self.plant.say(self.now, key, answer);
    }

    /// Asks what the site wants to know, again and again while it does.
    pub(super) fn ask_gates(&mut self) {
        let Some(site) = &mut self.site else { return };
        let asked = site.time(self.now);
        let answers: Vec<_> = site.gates.iter().map(|key| (key.clone(), self.plant.answer(key))).collect();
        site.asks = !answers.is_empty();
        for (key, answer) in answers {
            self.tell_site(Event::Gate(key, answer, asked));
        }
        if self.site.as_ref().is_some_and(|site| site.asks) {
            self.later(ASKED_EVERY, Happening::GatesAsked(self.process));
        }
    }
}
