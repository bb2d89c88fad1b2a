//! The hub: the objects that it has in the API server of the site's cluster, each with a uid of its own, and how the site hears
//! of them while there is a link.

use std::collections::BTreeMap;

use super::play::World;
use crate::model::{ApiFact, ApiListing, Event, Intent, ObjectName, Uid};

/// The one that the site belongs to.
const CLUSTER: Uid = Uid::new([0xc; 16]);

/// What somebody does at the hub.
#[derive(Debug, Clone)]
pub enum HubSays {
    /// These are made, or edited.
    Declares(Vec<Intent>),
    /// These are deleted.
    Deletes(Vec<ObjectName>),
}

/// The API server as it stands.
#[derive(Debug, Default)]
pub(super) struct Hub {
    objects: BTreeMap<ObjectName, (Uid, Intent)>,
    /// Deleted, and kept by the site's finalizer until it has that in its store.
    leaving: Vec<(Uid, ObjectName)>,
    made: u8,
}

impl Hub {
    /// Somebody does something; what there is to hear of it, or why it cannot be done.
    fn says(&mut self, says: HubSays) -> Result<Vec<ApiFact>, String> {
        match says {
            HubSays::Declares(intents) => intents.into_iter().map(|intent| self.declares(intent)).collect(),
            HubSays::Deletes(names) => Ok(names.into_iter().filter_map(|name| self.deletes(name)).collect()),
        }
    }

    fn declares(&mut self, intent: Intent) -> Result<ApiFact, String> {
        let name = intent.object();
        if self.leaving.iter().any(|(_, leaving)| *leaving == name) {
            return Err(format!("{name} cannot be made again: the site does not let the deleted one go"));
        }
        let uid = match self.objects.get(&name) {
            Some((uid, _)) => *uid,
            None => self.next_uid()?,
        };
        self.objects.insert(name, (uid, intent.clone()));
        Ok(ApiFact::Declared(uid, intent))
    }

    fn deletes(&mut self, name: ObjectName) -> Option<ApiFact> {
        let (uid, _) = self.objects.remove(&name)?;
        self.leaving.push((uid, name.clone()));
        Some(ApiFact::Deleted(uid, name))
    }

    fn next_uid(&mut self) -> Result<Uid, String> {
        self.made = self.made.checked_add(1).ok_or("too many objects were made")?;
        Ok(Uid::new([self.made; 16]))
    }

    fn list(&self) -> ApiListing {
        let objects = self.objects.values().cloned().collect();
        ApiListing { cluster: CLUSTER, objects, deleted: self.leaving.clone(), refused: Vec::new(), adopted: None }
    }

    /// The site has these in its store: what it heard to be deleted it lets go.
    pub(super) fn saved(&mut self, events: &[Event]) {
        for event in events {
            match event {
                Event::Api(_, fact) => {
                    if let ApiFact::Deleted(uid, _) = &**fact {
                        self.leaving.retain(|(leaving, _)| leaving != uid);
                    }
                }
                Event::ApiListed(list) => self.leaving.retain(|leaving| !list.deleted.contains(leaving)),
                _ => {}
            }
        }
    }
}

impl World {
    /// A process of the site starts to follow the API server, if it has one.
    pub(super) fn await_hub(&mut self) {
        if self.hub.is_some() {
            self.tell_site(Event::ApiAwaited(None));
            self.list_hub();
        }
    }

    /// What the API server has, if there is a link.
    pub(super) fn list_hub(&mut self) {
        if let Some(list) = self.hub.as_ref().filter(|_| self.link_up).map(Hub::list) {
            self.tell_site(Event::ApiListed(list.into()));
        }
    }

    pub(super) fn hub_says(&mut self, says: HubSays) {
        let Some(hub) = &mut self.hub else { return };
        match hub.says(says) {
            Ok(facts) => {
                for fact in facts.into_iter().filter(|_| self.link_up).collect::<Vec<_>>() {
                    self.tell_site(Event::Api(CLUSTER, fact.into()));
                }
            }
            Err(why) => self.oracle.found(why),
        }
    }
}
