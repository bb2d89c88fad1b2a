//! Who is there: what polling, and every other sign of life, says about each gateway. Pure; time comes in.
//!
//! It lives in memory only. What the heart must know leaves as events, and steady polling yields none.

mod addresses;
mod track;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use crate::model::{ActionId, Ask, Client, ControllerId, Event, Presence as State, SiteTime, poll_interval};

use track::Track;

/// How often gateways are told to poll, and when silence means offline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// The site's interval, at least a second; each gateway is told its own, a tenth more or less.
    pub told: Duration,
    /// Without a sign of life for this long a gateway is offline.
    pub offline_after: Duration,
}

impl Pacing {
    /// As it is for one gateway.
    fn of(self, gateway: &str) -> Self {
        Self { told: poll_interval::told(self.told, gateway), ..self }
    }
}

/// A gateway's last word on an order that is under way; kept in memory only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The order.
    pub action: ActionId,
    /// What it said, shortened.
    pub message: Option<String>,
    /// Steps done.
    pub done: u32,
    /// Of so many; zero if it doesn't say.
    pub of: u32,
    /// When.
    pub at: SiteTime,
}

/// Every declared gateway's signs of life.
#[derive(Debug)]
pub struct Attendance {
    pacing: Pacing,
    /// Boxed: half of a hash map's room is empty, and a track is large.
    tracks: HashMap<ControllerId, Box<Track>>,
    /// When to look at a gateway again. A poll does not move an entry: it is corrected when its time comes.
    due: BTreeSet<(SiteTime, ControllerId)>,
}

impl Attendance {
    /// Nobody is known yet.
    pub fn new(pacing: Pacing) -> Self {
        Self { pacing: checked(pacing), tracks: HashMap::new(), due: BTreeSet::new() }
    }

    /// Takes other settings: when silence means offline from now on, the interval from each gateway's next poll on.
    pub fn set_pacing(&mut self, pacing: Pacing) {
        self.pacing = checked(pacing);
        let ids: Vec<_> = self.tracks.keys().cloned().collect();
        for id in &ids {
            self.list(id);
        }
    }

    /// Starts over from what the store says: state, pace if it is not the one told, and client of each gateway.
    ///
    /// Silence is counted from now, so that nobody turns offline for the time that the site was down.
    pub fn start(
        &mut self,
        now: SiteTime,
        gateways: impl IntoIterator<Item = (ControllerId, State, Option<Duration>, Client)>,
    ) {
        self.tracks.clear();
        self.due.clear();
        for (id, state, pace, client) in gateways {
            let track = Track::restored(now, state, pace, client, self.pacing.of(id.as_str()));
            self.tracks.insert(id.clone(), Box::new(track));
            self.list(&id);
        }
    }

    /// The site itself stood still: silence is counted from now.
    pub fn resume(&mut self, now: SiteTime) {
        self.due.clear();
        let ids: Vec<_> = self.tracks.keys().cloned().collect();
        for id in ids {
            let track = self.track(&id);
            track.listed = None;
            track.excuse_silence(now);
            self.list(&id);
        }
    }

    /// A gateway polled. `tell_from` is the board's `tell_poll_from`.
    pub fn poll(&mut self, id: &ControllerId, now: SiteTime, tell_from: Option<SiteTime>) -> Vec<Event> {
        let mut events: Vec<Event> = self.heard(id, now).into_iter().collect();
        let pacing = self.pacing.of(id.as_str());
        let track = self.track(id);
        // who counted as there when the site started is told of as well: only now is it known
        if !std::mem::replace(&mut track.told, true) && events.is_empty() {
            events.push(Event::Seen(id.clone()));
        }
        if track.polled(now, pacing) {
            events.push(Event::Pace(id.clone(), track.pace()));
        }
        if track.tells(now, tell_from) {
            events.push(Event::Polled(id.clone()));
        }
        self.list(id);
        events
    }

    /// A request under a gateway's id came from this address. News is when two poll in turns, and when they no longer do.
    pub fn comes_from(&mut self, id: &ControllerId, from: IpAddr, polls: bool, now: SiteTime) -> Option<Event> {
        let track = self.track(id);
        let interval = track.pace().max(State::SHORTEST_INTERVAL);
        let shared = track.addresses.asks(from, polls, now, interval)?;
        Some(Event::Shared(id.clone(), shared))
    }

    /// Two machines used its id before the site started.
    pub fn was_shared(&mut self, id: &ControllerId, now: SiteTime) {
        self.track(id).addresses.were_shared(now);
    }

    /// A gateway gave another sign of life: it asked for something else, or bytes reached it.
    pub fn heard(&mut self, id: &ControllerId, now: SiteTime) -> Option<Event> {
        let returned = self.track(id).heard(now);
        if returned {
            self.list(id);
        }
        returned.then(|| Event::Seen(id.clone()))
    }

    /// A request of a gateway looked like this client's.
    pub fn runs(&mut self, id: &ControllerId, client: Client, now: SiteTime) -> Option<Event> {
        self.track(id).runs(client, now).then(|| Event::Client(id.clone(), client))
    }

    /// Who fell silent by now.
    pub fn due(&mut self, now: SiteTime) -> Vec<Event> {
        let mut events = Vec::new();
        while self.next_due().is_some_and(|at| at <= now) {
            let Some((_, id)) = self.due.pop_first() else { break };
            let Some(track) = self.tracks.get_mut(&id) else { continue };
            track.listed = None;
            match track.falls_silent(now, self.pacing.of(id.as_str())) {
                Some(State::Offline) => events.push(Event::Offline(id.clone())),
                Some(_) => events.push(Event::Quiet(id.clone())),
                None => {}
            }
            self.list(&id);
        }
        events
    }

    /// When to call [`Attendance::due`] next.
    pub fn next_due(&self) -> Option<SiteTime> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Is it there?
    pub fn state(&self, id: &str) -> State {
        self.tracks.get(id).map(|track| track.state()).unwrap_or_default()
    }

    /// When it polled last since the site started.
    pub fn last_poll(&self, id: &str) -> Option<SiteTime> {
        self.tracks.get(id)?.last_poll()
    }

    /// The interval at which it really polls.
    pub fn interval(&self, id: &str) -> Duration {
        self.tracks.get(id).map_or_else(|| self.pacing.of(id).told, |track| track.pace())
    }

    /// Its last word on the order that is under way.
    pub fn progress(&self, id: &str) -> Option<&Progress> {
        self.tracks.get(id)?.progress.as_ref()
    }

    /// Keeps its word on the order that is under way.
    pub fn note(&mut self, id: &ControllerId, progress: Progress) {
        self.track(id).progress = Some(progress);
    }

    /// It took its order: what went wrong before no longer excuses anything.
    pub fn fetched(&mut self, id: &ControllerId) {
        let track = self.track(id);
        track.excused = false;
        track.progress = None;
    }

    /// We could not give it what it asked for.
    pub fn excuse(&mut self, id: &ControllerId) {
        self.track(id).excuse();
    }

    /// Did we fail it since it fetched its order?
    pub fn excused(&self, id: &str) -> bool {
        self.tracks.get(id).is_some_and(|track| track.excused)
    }

    /// Is it shown the request for its attributes now?
    pub fn shows_request(&self, id: &str, ask: Ask, now: SiteTime) -> bool {
        match ask {
            Ask::No => false,
            Ask::Once => true,
            Ask::EachInterval => self.tracks.get(id).is_none_or(|track| track.may_be_asked(now, self.pacing.of(id))),
        }
    }

    /// It sent its attributes.
    pub fn attributes_sent(&mut self, id: &ControllerId, now: SiteTime) {
        self.track(id).addresses.attributes_sent(now);
    }

    fn track(&mut self, id: &ControllerId) -> &mut Track {
        self.tracks.entry(id.clone()).or_insert_with(|| Box::new(Track::new(self.pacing.of(id.as_str()))))
    }

    /// Sees to it that a gateway is looked at no later than its deadline; looking too early is corrected then.
    fn list(&mut self, id: &ControllerId) {
        let Some(track) = self.tracks.get_mut(id) else { return };
        let Some(deadline) = track.deadline(self.pacing.of(id.as_str())) else { return };
        match track.listed {
            Some(listed) if listed <= deadline => return,
            Some(listed) => _ = self.due.remove(&(listed, id.clone())),
            None => {}
        }
        track.listed = Some(deadline);
        self.due.insert((deadline, id.clone()));
    }
}

/// An interval of zero would make every gap endless.
fn checked(pacing: Pacing) -> Pacing {
    Pacing { told: pacing.told.max(Duration::from_secs(1)), ..pacing }
}

#[cfg(test)]
mod tests;
