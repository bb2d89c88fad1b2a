//! `lamplighter accept`: gateways that nobody declared become gateways of the site, on a person's word.

use tokio::sync::oneshot;

use super::control::Answer;
use super::report::{Acceptance, Accepted, NotAccepted};
use super::shell::Shell;
use crate::model::{ControllerId, Event, Newcomer, Verdict};
use crate::resources::check_labels;

const UNKNOWN: &str = "it does not wait; `lamplighter status` lists those that do";
const CONTESTED: &str = "two tokens were shown in its name, so one of them is not what it says; declare it in a manifest with the right one";

impl Shell {
    /// Accepts whom a person names, or all that wait; answered once it is on disk.
    pub(super) async fn accept(&mut self, wanted: Acceptance, who: String) -> Answer {
        if let Some(trouble) = &self.trouble {
            return Answer::Trouble(trouble.why.clone());
        }
        if let Err((key, why)) = check_labels(&wanted.labels) {
            return Answer::Refused(format!("label {key}: {why}"));
        }
        let (newcomers, mut refused) = self.chosen(&wanted);
        let (mut events, mut asked) = (Vec::new(), Vec::new());
        for newcomer in newcomers {
            let (verdict, said) = oneshot::channel();
            asked.push((newcomer.controller_id.clone(), said));
            events.push((Event::Registered(Box::new(newcomer), Some(who.clone())), Some(verdict)));
        }
        self.take(events).await;
        let mut accepted = Vec::new();
        for (id, mut said) in asked {
            // without a verdict the commit failed
            let Ok(verdict) = said.try_recv() else {
                return Answer::Trouble("they could not be saved".into());
            };
            if verdict == Verdict::OverQuota {
                let why = "the site has as many accepted gateways as it takes; declare some of them in manifests";
                refused.push(NotAccepted { controller_id: id.to_string(), why: why.into() });
                continue;
            }
            self.devices.strangers.borrow_mut().forget(&id);
            accepted.push(id.to_string());
        }
        serde_json::to_vec(&Accepted { accepted, refused })
            .map_or_else(|error| Answer::Trouble(error.to_string()), Answer::Json)
    }

    /// Who is meant, and who cannot be.
    fn chosen(&self, wanted: &Acceptance) -> (Vec<Newcomer>, Vec<NotAccepted>) {
        let strangers = self.devices.strangers.borrow();
        let known = &self.core.state().gateways;
        let mut labels = strangers.labels().clone();
        wanted.labels.iter().for_each(|(key, value)| labels.insert(key.clone(), value.clone()));
        let ids: Vec<&str> = match wanted.ids.as_slice() {
            [] => strangers.iter().filter(|(id, _)| !known.contains_key(*id)).map(|(id, _)| id.as_str()).collect(),
            ids => ids.iter().map(String::as_str).collect(),
        };
        let (mut newcomers, mut refused) = (Vec::new(), Vec::new());
        for name in ids {
            match strangers.get(name).filter(|(id, _)| !known.contains_key::<ControllerId>(id)) {
                Some((id, stranger)) if !stranger.contested => newcomers.push(Newcomer {
                    controller_id: id.clone(),
                    token: stranger.credential.own(),
                    labels: labels.clone(),
                    from: stranger.from.to_string(),
                }),
                found => {
                    let why = if found.is_some() { CONTESTED } else { UNKNOWN };
                    refused.push(NotAccepted { controller_id: name.to_owned(), why: why.into() });
                }
            }
        }
        (newcomers, refused)
    }
}
