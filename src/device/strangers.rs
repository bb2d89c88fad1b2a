//! Gateways that nobody declared and that knock all the same: kept in memory, so that a person can let them in.
//!
//! What is kept is bounded, and one address that knocks in many names pushes out its own. A restart forgets them; they
//! knock again. Must never let anybody in: that is the engine's, once a person or the site file says so.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::model::{ControllerId, Event, Labels, Newcomer, Registration, SiteTime, TokenHash};

/// One that knocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// The hash of the token that it showed first.
    pub token: TokenHash,
    /// Where it came from first.
    pub from: IpAddr,
    /// When it came first.
    pub since: SiteTime,
    /// When it came last.
    pub last: SiteTime,
    /// How often it came.
    pub times: u64,
    /// Another token was shown in its name: there are two, and one of them is not what it says.
    pub contested: bool,
}

/// Those that knock.
#[derive(Debug, Default)]
pub struct Strangers {
    registration: Registration,
    labels: Labels,
    known: BTreeMap<ControllerId, Stranger>,
}

impl Strangers {
    /// So many are kept, about 100 kB; a site that takes in more at once accepts them in turns.
    pub const MOST: usize = 256;

    /// What becomes of them, and the labels they are accepted with.
    pub fn new(registration: Registration, labels: Labels) -> Self {
        Self { registration, labels, known: BTreeMap::new() }
    }

    /// The labels they are accepted with.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// One knocks. The event, if the site file lets it in at once.
    pub(super) fn knock(&mut self, id: ControllerId, token: TokenHash, from: IpAddr, now: SiteTime) -> Option<Event> {
        match self.registration {
            Registration::Refuse => None,
            Registration::Accept => {
                let (labels, from) = (self.labels.clone(), from.to_string());
                Some(Event::Registered(Box::new(Newcomer { controller_id: id, token, labels, from }), None))
            }
            Registration::Pending => {
                self.keep(id, token, from, now);
                None
            }
        }
    }

    fn keep(&mut self, id: ControllerId, token: TokenHash, from: IpAddr, now: SiteTime) {
        if let Some(known) = self.known.get_mut(&id) {
            known.contested |= known.token != token;
            (known.last, known.times) = (now, known.times + 1);
            return;
        }
        if self.known.len() >= Self::MOST {
            self.make_room();
        }
        self.known.insert(id, Stranger { token, from, since: now, last: now, times: 1, contested: false });
    }

    /// Forgets, of the address that has most, the one that was silent for longest.
    fn make_room(&mut self) {
        let mut of = BTreeMap::<IpAddr, usize>::new();
        self.known.values().for_each(|known| *of.entry(known.from).or_default() += 1);
        let goes = |(_, known): &(&ControllerId, &Stranger)| {
            (std::cmp::Reverse(of.get(&known.from).copied().unwrap_or_default()), known.last)
        };
        let first = self.known.iter().min_by_key(goes).map(|(id, _)| id.clone());
        first.map(|id| self.known.remove(&id));
    }

    /// Those that wait, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&ControllerId, &Stranger)> {
        self.known.iter()
    }

    /// One that waits.
    pub fn get(&self, id: &str) -> Option<(&ControllerId, &Stranger)> {
        self.known.get_key_value(id)
    }

    /// One that is no stranger any more, whoever let it in.
    pub fn forget(&mut self, id: &ControllerId) {
        self.known.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strangers() -> Strangers {
        Strangers::new(Registration::Pending, Labels::new())
    }

    fn knock(strangers: &mut Strangers, id: &str, token: u8, from: [u8; 4], at: u64) -> Option<Event> {
        strangers.knock(id.parse().unwrap(), TokenHash::new([token; 32]), from.into(), SiteTime(at))
    }

    #[test]
    fn the_first_token_stays_and_another_one_is_a_contest() {
        let mut strangers = strangers();
        for (token, at) in [(1, 10), (1, 20), (2, 30), (1, 40)] {
            assert_eq!(knock(&mut strangers, "gw-7", token, [10, 0, 0, 7], at), None);
        }
        let (_, known) = strangers.get("gw-7").unwrap();
        assert_eq!(known.token, TokenHash::new([1; 32]));
        assert_eq!((known.times, known.since, known.last, known.contested), (4, SiteTime(10), SiteTime(40), true));
    }

    #[test]
    fn an_address_that_knocks_in_ten_thousand_names_pushes_out_its_own() {
        let mut strangers = strangers();
        for n in 0..40 {
            knock(&mut strangers, &format!("gw-{n}"), 1, [10, 0, 0, n], 0);
        }
        for n in 0..10_000 {
            knock(&mut strangers, &format!("fake-{n}"), 2, [10, 0, 9, 9], n);
        }
        assert_eq!(strangers.iter().count(), Strangers::MOST);
        let gateways = strangers.iter().filter(|(id, _)| id.as_str().starts_with("gw-"));
        assert_eq!(gateways.count(), 40);
        assert!(strangers.get("fake-9999").is_some(), "the newest are kept");
    }

    #[test]
    fn nothing_is_kept_where_strangers_are_refused_or_let_in_at_once() {
        let labels: Labels = [("line".into(), "3".into())].into();
        let mut refusing = Strangers::default();
        assert_eq!(knock(&mut refusing, "gw-7", 1, [10, 0, 0, 7], 0), None);
        let mut open = Strangers::new(Registration::Accept, labels.clone());
        let Some(Event::Registered(newcomer, None)) = knock(&mut open, "gw-7", 1, [10, 0, 0, 7], 0) else {
            panic!("it is let in")
        };
        assert_eq!((newcomer.labels, newcomer.from.as_str()), (labels, "10.0.0.7"));
        assert_eq!((refusing.iter().count(), open.iter().count()), (0, 0));
    }
}
