//! Gateways that nobody declared and that knock all the same: kept in memory, so that a person can let them in.
//!
//! What is kept is bounded, and one address that knocks in many names pushes out its own. A restart forgets them; they
//! knock again. Must never let anybody in: that is the engine's, once a person or the site file says so.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::model::{ControllerId, Event, Labels, Newcomer, Registration, SiteTime, TokenHash};

/// What one that knocks shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// A token that the site does not know; its hash.
    Unknown(TokenHash),
    /// The token that is derived for its id from the site's secret.
    Derived,
    /// The site's token for all gateways.
    Shared,
}

impl Credential {
    /// The token of its own that it is accepted with; none where it goes on with the site's.
    pub fn own(self) -> Option<TokenHash> {
        match self {
            Self::Unknown(token) => Some(token),
            Self::Derived | Self::Shared => None,
        }
    }
}

/// One that knocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// What it showed first; a token that only it can have takes the place of any other.
    pub credential: Credential,
    /// Where it came from first.
    pub from: IpAddr,
    /// When it came first.
    pub since: SiteTime,
    /// When it came last.
    pub last: SiteTime,
    /// How often it came.
    pub times: u64,
    /// Another token was shown in its name: there are two, and one of them is not what it says. Never where one of them is
    /// derived for it: it has that from whoever has the site's secret.
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

    /// What becomes of them from now on, and the labels they are accepted with. Those that would no longer be kept are
    /// forgotten.
    pub fn configure(&mut self, registration: Registration, labels: Labels) {
        (self.registration, self.labels) = (registration, labels);
        self.known.retain(|_, known| keeps(registration, known.credential));
    }

    /// One knocks. The event, if the site file lets it in at once.
    pub(super) fn knock(
        &mut self,
        id: ControllerId,
        credential: Credential,
        from: IpAddr,
        now: SiteTime,
    ) -> Option<Event> {
        if self.registration == Registration::Accept {
            let (labels, from) = (self.labels.clone(), from.to_string());
            let newcomer = Newcomer { controller_id: id, token: credential.own(), labels, from };
            return Some(Event::Registered(Box::new(newcomer), None));
        }
        if keeps(self.registration, credential) {
            self.keep(id, credential, from, now);
        }
        None
    }

    fn keep(&mut self, id: ControllerId, credential: Credential, from: IpAddr, now: SiteTime) {
        if let Some(known) = self.known.get_mut(&id) {
            match (known.credential, credential) {
                (Credential::Derived, _) => {}
                (_, Credential::Derived) => (known.credential, known.from, known.contested) = (credential, from, false),
                (before, now) => known.contested |= before != now,
            }
            (known.last, known.times) = (now, known.times + 1);
            return;
        }
        if self.known.len() >= Self::MOST {
            self.make_room();
        }
        self.known.insert(id, Stranger { credential, from, since: now, last: now, times: 1, contested: false });
    }

    /// Forgets, of the address that has most, the one that was silent for longest; those with the site's own token last.
    fn make_room(&mut self) {
        let mut of = BTreeMap::<IpAddr, usize>::new();
        self.known.values().for_each(|known| *of.entry(known.from).or_default() += 1);
        let goes = |(_, known): &(&ControllerId, &Stranger)| {
            let most = std::cmp::Reverse(of.get(&known.from).copied().unwrap_or_default());
            (known.credential.own().is_none(), most, known.last)
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

/// Where strangers are refused, one that has the site's own token is listed all the same: somebody forgot to declare it.
fn keeps(registration: Registration, credential: Credential) -> bool {
    match registration {
        Registration::Refuse => credential.own().is_none(),
        Registration::Pending => true,
        Registration::Accept => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strangers() -> Strangers {
        Strangers::new(Registration::Pending, Labels::new())
    }

    fn unknown(token: u8) -> Credential {
        Credential::Unknown(TokenHash::new([token; 32]))
    }

    fn knock(strangers: &mut Strangers, id: &str, token: u8, from: [u8; 4], at: u64) -> Option<Event> {
        strangers.knock(id.parse().unwrap(), unknown(token), from.into(), SiteTime(at))
    }

    #[test]
    fn the_first_token_stays_and_another_one_is_a_contest() {
        let mut strangers = strangers();
        for (token, at) in [(1, 10), (1, 20), (2, 30), (1, 40)] {
            assert_eq!(knock(&mut strangers, "gw-7", token, [10, 0, 0, 7], at), None);
        }
        let (_, known) = strangers.get("gw-7").unwrap();
        assert_eq!(known.credential, unknown(1));
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

    #[test]
    fn the_token_that_only_it_can_have_takes_the_place_of_any_other() {
        let mut strangers = strangers();
        let mut shows = |credential, at| {
            assert_eq!(strangers.knock("gw-7".parse().unwrap(), credential, [10, 0, 0, 7].into(), SiteTime(at)), None);
            let (_, known) = strangers.get("gw-7").unwrap();
            (known.credential, known.contested)
        };
        assert_eq!(shows(unknown(1), 1), (unknown(1), false));
        assert_eq!(shows(Credential::Shared, 2), (unknown(1), true), "any gateway of the site may say that");
        assert_eq!(shows(Credential::Derived, 3), (Credential::Derived, false));
        assert_eq!(shows(unknown(2), 4), (Credential::Derived, false), "a guess contests nothing");
    }

    #[test]
    fn where_strangers_are_refused_those_with_the_site_s_own_token_are_kept_and_only_they() {
        let mut strangers = Strangers::default();
        for (id, credential) in [("a", unknown(1)), ("b", Credential::Derived), ("c", Credential::Shared)] {
            assert_eq!(strangers.knock(id.parse().unwrap(), credential, [10, 0, 0, 7].into(), SiteTime(1)), None);
        }
        let ids = |strangers: &Strangers| strangers.iter().map(|(id, _)| id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(&strangers), ["b", "c"]);
        strangers.configure(Registration::Pending, Labels::new());
        knock(&mut strangers, "a", 1, [10, 0, 0, 7], 2);
        assert_eq!(ids(&strangers), ["a", "b", "c"]);
        strangers.configure(Registration::Refuse, Labels::new());
        assert_eq!(ids(&strangers), ["b", "c"]);
        strangers.configure(Registration::Accept, Labels::new());
        assert_eq!(ids(&strangers), [""; 0]);
    }

    #[test]
    fn strangers_without_the_site_s_token_push_out_none_that_has_it() {
        let mut strangers = strangers();
        strangers.knock("mine".parse().unwrap(), Credential::Derived, [10, 0, 9, 9].into(), SiteTime(0));
        for n in 0..1_000 {
            knock(&mut strangers, &format!("fake-{n}"), 2, [10, 0, 9, 9], n);
        }
        assert!(strangers.get("mine").is_some());
    }
}
