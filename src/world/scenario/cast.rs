//! The gateways of a scenario: what each is like, and how it is declared.

use super::pattern;
use super::read::moment;
use super::typed::{TypedBehaviour, TypedClient, TypedException, TypedGroup};
use super::who::chosen;
use crate::model::{Client, Digest, GatewaySpec};
use crate::resources::{FieldError, check_labels};
use crate::world::character::{Character, Fate, Role};
use crate::world::link::token_hash;

/// The gateways, by index.
#[derive(Debug, Default)]
pub(super) struct Cast {
    pub roles: Vec<Role>,
    pub specs: Vec<Declared>,
}

/// How a gateway is declared.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    pub spec: GatewaySpec,
    /// From which time on, in milliseconds.
    pub from: u64,
}

impl Cast {
    pub fn of(groups: &[TypedGroup], random: &mut fastrand::Rng) -> Result<Self, FieldError> {
        let mut cast = Self::default();
        for (at, group) in groups.iter().enumerate() {
            cast.add(&format!("gateways[{at}]"), group, random)?;
        }
        let mut names: Vec<_> = cast.roles.iter().map(|role| role.id.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => {
                let why = format!("{:?} is the name of two; write {{n}} where the number goes", pair.concat());
                Err(FieldError::new("gateways", why))
            }
            None => Ok(cast),
        }
    }

    pub fn name(&self, at: usize) -> &str {
        self.roles.get(at).map_or("", |role| role.id.as_str())
    }

    fn add(&mut self, field: &str, group: &TypedGroup, random: &mut fastrand::Rng) -> Result<(), FieldError> {
        let first = self.roles.len();
        let from = group.declared_at.as_deref().map_or(Ok(0), |text| moment(&format!("{field}.declaredAt"), text))?;
        for n in 0..group.count.unwrap_or(1) {
            let role = role(field, group, n, random)?;
            let labels = group.labels.iter().map(|(key, value)| {
                let value = pattern::fill(value, n);
                Ok((key.clone(), value.map_err(|why| FieldError::new(format!("{field}.labels.{key}"), why))?))
            });
            let labels: std::collections::BTreeMap<_, _> = labels.collect::<Result<_, FieldError>>()?;
            check_labels(&labels).map_err(|(key, why)| FieldError::new(format!("{field}.labels.{key}"), why))?;
            let spec = GatewaySpec {
                name: role.id.to_string(),
                controller_id: role.id.clone(),
                labels: labels.into_iter().collect(),
                token: Some(token_hash(&role.id)),
                hold: group.hold.unwrap_or(false),
            };
            self.roles.push(role);
            self.specs.push(Declared { spec, from });
        }
        for (nth, but) in group.but.iter().enumerate() {
            let who = format!("{field}.but[{nth}].who");
            for at in chosen(&who, Some(&but.who), first..self.roles.len(), self, random)? {
                self.change(at, but);
            }
        }
        Ok(())
    }

    fn change(&mut self, at: usize, but: &TypedException) {
        if let Some(role) = self.roles.get_mut(at) {
            let character = &mut role.character;
            character.client = but.client.and_then(client).unwrap_or(character.client);
            character.fate = but.behaves.map_or(character.fate, fate);
            role.only = but.only_with.clone().or_else(|| role.only.take());
        }
        if let (Some(declared), Some(hold)) = (self.specs.get_mut(at), but.hold) {
            declared.spec.hold = hold;
        }
    }
}

fn role(field: &str, group: &TypedGroup, n: u32, random: &mut fastrand::Rng) -> Result<Role, FieldError> {
    let name = pattern::fill(&group.name, n).map_err(|why| FieldError::new(format!("{field}.name"), why))?;
    let typed = group.client.unwrap_or(TypedClient::Mixed);
    let any = [Client::SwUpdate, Client::Rauc, Client::Zephyr];
    let client = client(typed).or_else(|| random.choice(any)).unwrap_or_default();
    Ok(Role {
        id: name.parse().map_err(|error: crate::model::Invalid| FieldError::new(format!("{field}.name"), error.0))?,
        character: Character {
            client,
            reports: group.reports.unwrap_or(true),
            fate: fate(group.behaves.unwrap_or(TypedBehaviour::Well)),
        },
        runs: group.runs.clone().unwrap_or_else(|| "1.0.0".into()),
        key: group.version_key.clone().unwrap_or_else(|| "gateway-os".into()),
        attributes: group.attributes.clone(),
        only: group.only_with.clone(),
        files: files(field, group)?,
    })
}

fn files(field: &str, group: &TypedGroup) -> Result<Vec<Digest>, FieldError> {
    let files = group.files.iter().flatten().enumerate();
    let digest = |(at, text): (usize, &String)| {
        text.parse().map_err(|why: crate::model::Invalid| FieldError::new(format!("{field}.files[{at}]"), why.0))
    };
    files.map(digest).collect()
}

fn client(typed: TypedClient) -> Option<Client> {
    match typed {
        TypedClient::Swupdate => Some(Client::SwUpdate),
        TypedClient::Rauc => Some(Client::Rauc),
        TypedClient::Zephyr => Some(Client::Zephyr),
        TypedClient::Mixed => None,
    }
}

fn fate(typed: TypedBehaviour) -> Fate {
    match typed {
        TypedBehaviour::Well => Fate::Good,
        TypedBehaviour::FailsOnce => Fate::Fails(1),
        TypedBehaviour::Fails => Fate::Fails(u8::MAX),
        TypedBehaviour::FallsBack => Fate::FallsBack,
        TypedBehaviour::Rejects => Fate::Rejects,
        TypedBehaviour::Slow => Fate::Slow,
        TypedBehaviour::Cut => Fate::Cut(2),
        TypedBehaviour::Streams => Fate::Streams,
        TypedBehaviour::Noisy => Fate::Noisy,
        TypedBehaviour::Strange => Fate::Strange,
        TypedBehaviour::Lies => Fate::Lies,
        TypedBehaviour::SilentAfterFetch => Fate::SilentAfterFetch,
        TypedBehaviour::SilentAfterDownload => Fate::SilentAfterDownload,
        TypedBehaviour::NeverPolls => Fate::NeverPolls,
        TypedBehaviour::NeverFetches => Fate::NeverFetches,
    }
}
