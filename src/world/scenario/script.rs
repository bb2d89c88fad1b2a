//! What happens in a scenario, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::cast::{Cast, Declared};
use super::read::{moment, wall};
use super::typed::{TypedEvent, TypedGate, TypedLink, TypedScenario, TypedSite, TypedSwitch, TypedWho};
use super::who::chosen;
use crate::model::{
    ControllerId, Digest, Dropped, GateAnswer, GateKey, Identity, Intent, Listing, ObjectName, Order, StandingOrder,
};
use crate::resources::{self, Document, FieldError, Kinds, Object, Setting};
use crate::world::deed::Deed;
use crate::world::hub::HubSays;

/// What happens: when, what, and that in words.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub deeds: Vec<(u64, Deed, String)>,
}

/// Reads events one after the other, as what manifests say adds up.
struct Writer<'c> {
    cast: &'c Cast,
    kinds: Kinds,
    setting: Setting,
    random: &'c mut fastrand::Rng,
    gateways: Vec<Declared>,
    manifests: BTreeMap<String, Intent>,
    /// What the hub has, and what was deleted there since the link went down.
    at_hub: BTreeSet<String>,
    leaving: BTreeSet<String>,
    link_up: bool,
    script: Script,
}

impl Script {
    pub fn of(
        typed: &TypedScenario,
        cast: &Cast,
        poll_interval: Duration,
        random: &mut fastrand::Rng,
    ) -> Result<Self, FieldError> {
        let setting = Setting { dir: PathBuf::from("/manifests"), poll_interval, secrets: false };
        let gateways = cast.specs.clone();
        let (kinds, manifests) = (Kinds::default(), BTreeMap::new());
        let (at_hub, leaving, script) = (BTreeSet::new(), BTreeSet::new(), Self::default());
        let mut writer =
            Writer { cast, kinds, setting, random, gateways, manifests, at_hub, leaving, link_up: true, script };
        writer.add("manifests", &typed.manifests)?;
        writer.declare(0, "the site starts, with these manifests".into());
        let mut events = Vec::new();
        for (nth, event) in typed.events.iter().enumerate() {
            let field = format!("events[{nth}]");
            events.push((moment(&format!("{field}.at"), &event.at)?, field, event));
        }
        events.sort_by_key(|(at, ..)| *at);
        let mut joins: Vec<u64> = cast.specs.iter().map(|declared| declared.from).filter(|from| *from > 0).collect();
        joins.sort_unstable();
        joins.dedup();
        for (at, field, event) in events {
            while let Some(join) = joins.first().copied().filter(|join| *join <= at) {
                joins.remove(0);
                writer.join(join);
            }
            writer.event(&field, at, event)?;
        }
        for join in joins {
            writer.join(join);
        }
        // what is copied for a while ends later
        writer.script.deeds.sort_by_key(|(at, ..)| *at);
        Ok(writer.script)
    }
}

impl Writer<'_> {
    fn plan(&mut self, at: u64, deed: Deed, words: String) {
        self.script.deeds.push((at, deed, words));
    }

    fn add(&mut self, field: &str, manifests: &[Value]) -> Result<(), FieldError> {
        for (nth, value) in manifests.iter().enumerate() {
            let field = format!("{field}[{nth}]");
            let intent = self.intent(&field, value)?;
            if self.at_hub.contains(&intent.name()) {
                return Err(FieldError::new(field, declared_twice("at the hub")));
            }
            self.manifests.insert(intent.name(), intent);
        }
        Ok(())
    }

    fn intent(&self, field: &str, value: &Value) -> Result<Intent, FieldError> {
        let inside = |error: FieldError| FieldError::new(format!("{field}.{}", error.field), error.why);
        let document = Document { line: 1, value: value.clone() };
        let first =
            |errors: Vec<FieldError>| errors.into_iter().next().unwrap_or_else(|| FieldError::new("", "is wrong"));
        let checked = match self.kinds.object(&document).map_err(first).map_err(inside)? {
            Object::Gateway(object) => resources::gateway(&object, &self.setting).map(Intent::Gateway),
            Object::Rollout(object) => resources::rollout(&object, &self.setting)
                .map(|(identity, spec)| Intent::Rollout(identity, spec.into())),
            Object::Service(object) => {
                resources::service(&object).map(|(name, spec)| Intent::Service(name, spec.into()))
            }
        };
        checked.map_err(inside)
    }

    /// All that the manifests say at a time.
    fn declare(&mut self, at: u64, words: String) {
        let gateways = self.gateways.iter().filter(|declared| declared.from <= at);
        let gateways = gateways.map(|declared| Intent::Gateway(declared.spec.clone()));
        let intents = gateways.chain(self.manifests.values().cloned()).collect();
        self.plan(at, Deed::Declare(Listing { intents, refused: Vec::new() }), words);
    }

    fn join(&mut self, at: u64) {
        let count = self.gateways.iter().filter(|declared| declared.from == at).count();
        self.declare(at, format!("{} declared", gateways(count)));
    }

    fn event(&mut self, field: &str, at: u64, event: &TypedEvent) -> Result<(), FieldError> {
        let said = [
            !event.declare.is_empty(),
            event.remove.is_some(),
            !event.hub.is_empty(),
            !event.drop.is_empty(),
            event.person.is_some(),
            event.site.is_some(),
            event.power.is_some(),
            event.network.is_some(),
            event.link.is_some(),
            !event.gates.is_empty(),
            event.clock.is_some(),
            event.hold.is_some(),
        ];
        if said.iter().filter(|said| **said).count() != 1 {
            let why = "should say one thing: declare, hub, remove, drop, person, site, power, network, link, gates, clock or hold";
            return Err(FieldError::new(field, why));
        }
        let moves = event.power.is_some() || event.network.is_some() || event.hold.is_some();
        if event.who.is_some() && !moves {
            return Err(FieldError::new(format!("{field}.who"), "goes only with power, network and hold"));
        }
        if event.copying.is_some() && event.drop.is_empty() {
            return Err(FieldError::new(format!("{field}.copying"), "goes only with drop"));
        }
        match event {
            TypedEvent { declare: manifests, .. } if !manifests.is_empty() => {
                self.add(&format!("{field}.declare"), manifests)?;
                self.declare(at, format!("the manifests change: {}", names(manifests)));
            }
            TypedEvent { remove: Some(names), .. } => self.remove(field, at, names)?,
            TypedEvent { hub: manifests, .. } if !manifests.is_empty() => self.hub(field, at, manifests)?,
            TypedEvent { drop: manifests, .. } if !manifests.is_empty() => self.drop(field, at, event, manifests)?,
            TypedEvent { person: Some(words), .. } => {
                let orders = orders(words).map_err(|why| FieldError::new(format!("{field}.person"), why))?;
                for order in orders {
                    self.plan(at, Deed::Order(order, "technician".into()), format!("a person says: {words}"));
                }
            }
            TypedEvent { site: Some(site), .. } => self.site(at, *site),
            TypedEvent { link: Some(link), .. } => {
                self.link(at, *link == TypedLink::Up);
            }
            TypedEvent { gates, .. } if !gates.is_empty() => self.gates(at, gates),
            TypedEvent { clock: Some(text), .. } => {
                let says = wall(&format!("{field}.clock"), text)?;
                self.plan(at, Deed::Clock(says), format!("the wall clock says {text}"));
            }
            _ => self.gateways(field, at, event)?,
        }
        Ok(())
    }

    fn gateways(&mut self, field: &str, at: u64, event: &TypedEvent) -> Result<(), FieldError> {
        let who = self.who(field, event.who.as_ref())?;
        let on = |switch: Option<TypedSwitch>| switch == Some(TypedSwitch::On);
        let word = |on: bool| if on { "on" } else { "off" };
        let count = gateways(who.len());
        match event {
            TypedEvent { hold: Some(hold), .. } => {
                for at in who {
                    if let Some(declared) = self.gateways.get_mut(at) {
                        declared.spec.hold = *hold;
                    }
                }
                self.declare(at, format!("{count} {}", if *hold { "held" } else { "no longer held" }));
            }
            TypedEvent { power: Some(_), .. } => {
                let on = on(event.power);
                self.plan(at, Deed::Power(who, on), format!("the power of {count} goes {}", word(on)));
            }
            _ => {
                let on = on(event.network);
                self.plan(at, Deed::Network(who, on), format!("the network of {count} goes {}", word(on)));
            }
        }
        Ok(())
    }

    fn who(&mut self, field: &str, who: Option<&TypedWho>) -> Result<Vec<usize>, FieldError> {
        chosen(&format!("{field}.who"), who, 0..self.cast.roles.len(), self.cast, self.random)
    }

    fn remove(&mut self, field: &str, at: u64, names: &[String]) -> Result<(), FieldError> {
        let (mut manifests, mut objects) = (Vec::new(), Vec::new());
        for name in names {
            let object = format!("OtaRollout/{name}");
            if self.manifests.remove(&object).is_some() {
                manifests.push(name.clone());
            } else if self.at_hub.remove(&object) {
                objects.push(name.clone());
                self.leaving.extend((!self.link_up).then_some(object));
            } else {
                return Err(FieldError::new(format!("{field}.remove"), format!("{name:?} is not declared then")));
            }
        }
        if !manifests.is_empty() {
            self.declare(at, format!("the manifests change: {} not in them any more", manifests.join(", ")));
        }
        if !objects.is_empty() {
            let words = format!("{} deleted at the hub{}", objects.join(", "), self.unheard());
            let objects = objects.into_iter().map(|name| ObjectName::Rollout(Identity(name)));
            self.plan(at, Deed::Hub(HubSays::Deletes(objects.collect())), words);
        }
        Ok(())
    }

    /// What the hub says the site hears over the link.
    fn hub(&mut self, field: &str, at: u64, manifests: &[Value]) -> Result<(), FieldError> {
        let intents = manifests.iter().enumerate();
        let intents = intents.map(|(nth, value)| {
            let field = format!("{field}.hub[{nth}]");
            let intent = self.intent(&field, value)?;
            match intent.name() {
                name if self.manifests.contains_key(&name) => {
                    Err(FieldError::new(field, declared_twice("in the manifests")))
                }
                name if self.leaving.contains(&name) => {
                    let why = "is being deleted until the site hears of that; have the link up first";
                    Err(FieldError::new(field, why))
                }
                _ => Ok(intent),
            }
        });
        let intents = intents.collect::<Result<Vec<_>, _>>()?;
        self.at_hub.extend(intents.iter().map(Intent::name));
        let words = format!("the hub says: {}{}", names(manifests), self.unheard());
        self.plan(at, Deed::Hub(HubSays::Declares(intents)), words);
        Ok(())
    }

    fn unheard(&self) -> &'static str {
        if self.link_up { "" } else { "; the link is down" }
    }

    fn link(&mut self, at: u64, up: bool) {
        self.plan(at, Deed::Link(up), format!("the link is {}", if up { "up" } else { "down" }));
        self.link_up = up;
        if up {
            self.leaving.clear();
        }
    }

    fn gates(&mut self, at: u64, gates: &BTreeMap<String, TypedGate>) {
        for (question, says) in gates {
            let key = if question.starts_with('/') { GateKey::File } else { GateKey::Http };
            let (answer, word) = match says {
                TypedGate::Open => (GateAnswer::Open, "is open"),
                TypedGate::Closed => (GateAnswer::Closed("it said no".into()), "is closed"),
                TypedGate::Unknown => (GateAnswer::Unknown("no answer".into()), "does not answer"),
            };
            self.plan(at, Deed::Gate(key(question.clone()), answer), format!("gate {question} {word}"));
        }
    }

    fn drop(&mut self, field: &str, at: u64, event: &TypedEvent, manifests: &[Value]) -> Result<(), FieldError> {
        let copying = event.copying.as_deref().map_or(Ok(0), |text| moment(&format!("{field}.copying"), text))?;
        let intents = manifests.iter().enumerate();
        let intents = intents.map(|(nth, value)| self.intent(&format!("{field}.drop[{nth}]"), value));
        let intents = intents.collect::<Result<Vec<_>, _>>()?;
        let files = intents.iter().flat_map(files).collect();
        let content = Ok(intents);
        let digest = Digest::new(Sha256::digest(Value::from(manifests.to_vec()).to_string()).into());
        let dropped = Dropped { file: "stick.yaml".into(), digest: Some(digest), content };
        self.plan(at, Deed::Drop(dropped.clone()), format!("somebody brings a stick: {}", names(manifests)));
        // it is looked at again when something of it arrives
        self.plan(at + copying, Deed::Files(files), "the files of the stick are copied".into());
        self.plan(at + copying, Deed::Drop(dropped), "the stick is whole".into());
        Ok(())
    }

    fn site(&mut self, at: u64, site: TypedSite) {
        let (deed, words) = match site {
            TypedSite::Off => (Deed::SitePower(false), "the site's machine loses power"),
            TypedSite::On => (Deed::SitePower(true), "the site's machine has power again"),
            TypedSite::PowerCut => (Deed::PowerCut, "the power is cut in the middle of a commit"),
        };
        self.plan(at, deed, words.into());
    }
}

fn declared_twice(elsewhere: &str) -> String {
    format!("is declared {elsewhere} too, so that neither counts; remove it there first")
}

/// What a person says on the spot, in the words of the command line; gateways by their controller ids.
fn orders(words: &str) -> Result<Vec<Order>, String> {
    let rollout = |name: &str| Identity(name.to_owned());
    let gateway = |id: &str| id.parse::<ControllerId>().map_err(|why| format!("{id:?}: {why}"));
    Ok(match words.split_whitespace().collect::<Vec<_>>().as_slice() {
        ["resume"] => vec![Order::Resume],
        ["pause", name] => vec![Order::Give(StandingOrder::Pause(rollout(name)), None)],
        ["cancel", name] => vec![Order::Give(StandingOrder::Cancel(rollout(name)), None)],
        ["resume", name] => {
            [StandingOrder::Cancel(rollout(name)), StandingOrder::Pause(rollout(name))].map(Order::Lift).into()
        }
        ["hold", id] => vec![Order::Give(StandingOrder::Hold(gateway(id)?), None)],
        ["unhold", id, "--repaired"] => vec![Order::Repaired(gateway(id)?)],
        ["unhold", id] => vec![Order::Lift(StandingOrder::Hold(gateway(id)?))],
        ["approve", name, waves @ ..] if !waves.is_empty() => {
            vec![Order::Approve(rollout(name), waves.iter().map(ToString::to_string).collect())]
        }
        ["retry", name, ids @ ..] => {
            vec![Order::Retry(rollout(name), ids.iter().map(|id| gateway(id)).collect::<Result<_, _>>()?)]
        }
        _ => return Err(format!("{words:?} is not an order such as resume, pause press-fw or hold gw-1")),
    })
}

/// The files of a rollout.
fn files(intent: &Intent) -> Vec<Digest> {
    match intent {
        Intent::Rollout(_, spec) => spec.files().map(|file| file.key.digest).collect(),
        Intent::Gateway(_) | Intent::Service(..) => Vec::new(),
    }
}

fn names(manifests: &[Value]) -> String {
    let name = |manifest: &Value| {
        let text = |at: &str| manifest.pointer(at).and_then(Value::as_str).unwrap_or("?").to_owned();
        match manifest.pointer("/spec/artifact/version") {
            Some(_) => format!("{} to {}", text("/metadata/name"), text("/spec/artifact/version")),
            None => text("/metadata/name"),
        }
    };
    manifests.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// `1 gateway`, `2 gateways`.
pub(super) fn gateways(count: usize) -> String {
    format!("{count} gateway{}", if count == 1 { "" } else { "s" })
}
