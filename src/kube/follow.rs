//! Following the API server: which cluster answers, all that it has, and then what changes, until the link breaks; and again.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{info, warn};

use super::access::Access;
use super::connection::{Api, Shared};
use super::convert::{intent, name};
use super::fault::Fault;
use super::item::{Item, Kind};
use super::list::list;
use super::namespace::{self, Namespace};
use super::objects::Objects;
use super::secrets::Secrets;
use super::settings::{Backoff, Link, Settings, jittered};
use super::watch::{Seen, Watch};
use crate::model::{ApiFact, ApiListing, Event, ObjectName, Uid, Verdict};
use crate::resources::{Kinds, Setting};

use super::report::{Report, Show};

/// What the room asks of the site.
pub trait Desk {
    /// The poll interval that gateways are told.
    fn poll_interval(&self) -> Duration;
    /// Tells the heart; its verdicts after the commit, or none if it could not be saved.
    fn decide(&self, events: Vec<Event>) -> impl Future<Output = Option<Vec<Verdict>>>;
    /// What the site says about an object; of this uid, as far as it does not know better.
    fn report(&self, object: ObjectName, uid: Uid) -> impl Future<Output = Option<Report>>;
    /// A rollout of a drop that the API does not show, but for those whose objects are called so.
    fn unshown(&self, but: Vec<String>) -> impl Future<Output = Option<Show>>;
}

/// How often another cluster is asked whether it is the right one again.
const OTHER_CLUSTER: Duration = Duration::from_secs(20);
/// So much of what a watch says goes into one commit: as many as the loop takes.
const MOST_AT_ONCE: usize = 64;
/// … and what comes in so short a time: the server sends each change by itself, and a commit for each would be slow.
const LINGER: Duration = Duration::from_millis(50);
/// What was not accepted because of another object is looked at again this often, as nobody says when that one goes.
const REFUSED_AGAIN: Duration = Duration::from_secs(300);

/// What to remember of an object once what it says is in the store.
enum Lesson {
    Learn(ObjectName, Item, Option<String>),
    Free(ObjectName, Item),
    Forget(ObjectName),
}

/// Where the watches go on.
struct Place {
    cluster: Uid,
    /// In the order of [`Kind::ALL`].
    versions: [String; 3],
    listed: Instant,
}

/// Follows until it is dropped.
pub async fn follow(settings: Settings, objects: Rc<Objects>, desk: impl Desk) {
    let mut follower = Follower { settings, objects, desk, place: None, secrets: Secrets::default(), ends: false };
    let mut backoff = Backoff::default();
    loop {
        let fault = match follower.session(&mut backoff).await {
            Fault::Again => {
                follower.place = None;
                continue;
            }
            fault => fault,
        };
        follower.objects.api.replace(None);
        if matches!(fault, Fault::Expired | Fault::NotSaved) {
            follower.place = None;
            info!(why = %fault, "the API server's objects are read again");
        } else if follower.objects.set_link(Link::Down(fault.to_string())) {
            warn!(why = %fault, "the API server is not followed; this site goes on from what it knows");
        }
        sleep(backoff.next()).await;
    }
}

struct Follower<D> {
    settings: Settings,
    objects: Rc<Objects>,
    desk: D,
    place: Option<Place>,
    secrets: Secrets,
    /// Our namespace was deleted: whatever is in it is, too.
    ends: bool,
}

impl<D: Desk> Follower<D> {
    /// One connection's life.
    async fn session(&mut self, backoff: &mut Backoff) -> Fault {
        let api = match self.connect().await {
            Ok(api) => api,
            Err(fault) => return fault,
        };
        loop {
            if let Err(fault) = self.cycle(&api, backoff).await {
                return fault;
            }
        }
    }

    async fn connect(&self) -> Result<Shared, Fault> {
        let access = Access::load(self.settings.kubeconfig.as_deref()).await?;
        Ok(Rc::new(Api::new(access, self.settings.namespace.clone(), self.objects.answers.clone())))
    }

    /// As long as one set of watches. Who answers is asked each time: behind an address another server may stand by now.
    async fn cycle(&mut self, api: &Shared, backoff: &mut Backoff) -> Result<(), Fault> {
        let namespace = Namespace::look(api, &self.objects).await?;
        let found = namespace.cluster();
        // what is listed then counts as deleted
        let ends = namespace.ends() && !self.ends;
        self.ends = namespace.ends();
        if ends {
            self.place = None;
        }
        if self.place.is_some() && self.secrets.ask_again(api, &self.objects).await? {
            return Err(Fault::Again);
        }
        if self.place.as_ref().is_none_or(|place| place.cluster != found) {
            self.place = None;
            self.list(api, found).await?;
        }
        let Some(place) = &self.place else {
            sleep(jittered(OTHER_CLUSTER)).await;
            return Ok(());
        };
        let [gateways, rollouts, services] = &place.versions;
        let selector = &self.settings.selector;
        let mut gateways = Watch::begin(api, &self.objects, Kind::Gateway, selector, gateways).await?;
        let mut rollouts = Watch::begin(api, &self.objects, Kind::Rollout, selector, rollouts).await?;
        let mut services = Watch::begin(api, &self.objects, Kind::Service, selector, services).await?;
        let mut namespace = namespace::Watch::begin(api, &self.objects).await?;
        backoff.reset();
        self.objects.followed.set(Some(found));
        self.objects.api.replace(Some(api.clone()));
        if self.objects.set_link(Link::Up) {
            self.objects.shown.borrow_mut().clear();
            info!(namespace = api.namespace(), cluster = %found, "the API server is followed");
        }
        self.objects.to_write.notify_waiters();
        let (mut gateways_end, mut rollouts_end, mut services_end, mut is_watched) = (false, false, false, true);
        while !(gateways_end && rollouts_end && services_end) {
            tokio::select! {
                () = self.objects.read_again.notified() => return Err(Fault::Again),
                ends = namespace.ends(), if is_watched => {
                    if ends? && !self.ends {
                        return Err(Fault::Again);
                    }
                    is_watched = false;
                }
                seen = gateways.next(), if !gateways_end => {
                    gateways_end = self.take(api, Kind::Gateway, seen?, &mut gateways).await?;
                }
                seen = rollouts.next(), if !rollouts_end => {
                    rollouts_end = self.take(api, Kind::Rollout, seen?, &mut rollouts).await?;
                }
                seen = services.next(), if !services_end => {
                    services_end = self.take(api, Kind::Service, seen?, &mut services).await?;
                }
            }
        }
        let refused = self.objects.known.borrow().values().any(|object| object.refused.is_some());
        let old = self.place.as_ref().is_some_and(|place| place.listed.elapsed() > REFUSED_AGAIN);
        if refused && old { Err(Fault::Again) } else { Ok(()) }
    }

    /// Reads all that the server has, and tells the heart.
    async fn list(&mut self, api: &Shared, cluster: Uid) -> Result<(), Fault> {
        let (kinds, setting) = (Kinds::default(), self.setting());
        let mut listing =
            ApiListing { cluster, objects: Vec::new(), deleted: Vec::new(), refused: Vec::new(), adopted: None };
        let (mut learned, mut named) = (Vec::new(), BTreeSet::new());
        let mut versions = [const { String::new() }; 3];
        for (place, kind) in versions.iter_mut().zip(Kind::ALL) {
            let mut waiting = Vec::new();
            let secrets = &self.secrets;
            *place = list(api, &self.objects, kind, &self.settings.selector, |item| {
                if !item.may_be_ours(&self.settings.site) {
                    return;
                }
                let secret = Secrets::named(&item);
                let lacks = secret.as_ref().is_some_and(|named| secrets.lacks(named));
                named.extend(secret);
                if lacks {
                    waiting.push(item);
                } else {
                    learned.push(self.enlist(&mut listing, kind, item, (&kinds, &setting)));
                }
            })
            .await?;
            for item in waiting {
                self.learn_secret(api, &item).await?;
                learned.push(self.enlist(&mut listing, kind, item, (&kinds, &setting)));
            }
        }
        self.secrets.keep(&named);
        drop((kinds, named));
        let found = (listing.objects.len(), listing.refused.len());
        let verdicts = self.desk.decide(vec![Event::ApiListed(listing.into())]).await;
        match verdicts.map(|verdicts| verdicts.first().copied()) {
            Some(Some(Verdict::AnotherCluster(known))) => {
                self.objects.known.borrow_mut().clear();
                self.objects.api.replace(None);
                if self.objects.set_link(Link::Another(cluster, known)) {
                    warn!(%cluster, belongs_to = %known, "another cluster answers as the API server; what it says does not count");
                }
                return Ok(());
            }
            Some(_) => {}
            None => return Err(Fault::NotSaved),
        }
        info!(objects = found.0, refused = found.1, "the API server's objects are read");
        self.learn(learned);
        self.place = Some(Place { cluster, versions, listed: Instant::now() });
        Ok(())
    }

    /// Asks for the Secret that an object names, if it names one.
    async fn learn_secret(&mut self, api: &Shared, item: &Item) -> Result<(), Fault> {
        match Secrets::named(item) {
            Some(named) => self.secrets.ask(api, &self.objects, &named).await.map(drop),
            None => Ok(()),
        }
    }

    /// Puts an object into a listing; what to remember of it.
    fn enlist(
        &self,
        listing: &mut ApiListing,
        kind: Kind,
        mut item: Item,
        (kinds, setting): (&Kinds, &Setting),
    ) -> (Kind, Item, Option<String>) {
        if listing.adopted.is_none() && item.was_adopted_by(&self.settings.site) {
            listing.adopted = Some(name(kind, &item));
        }
        let mut why = None;
        if self.is_deleted(kind, &item) {
            listing.deleted.push((item.metadata.uid, name(kind, &item)));
        } else {
            match intent(kind, &mut item, kinds, (setting, &self.secrets)) {
                Ok(intent) => listing.objects.push((item.metadata.uid, intent)),
                Err(refusal) => {
                    why = Some(refusal.why.clone());
                    listing.refused.push((name(kind, &item), refusal));
                }
            }
        }
        (kind, item, why)
    }

    fn learn(&self, learned: Vec<(Kind, Item, Option<String>)>) {
        let there: BTreeSet<ObjectName> = learned.iter().map(|(kind, item, _)| name(*kind, item)).collect();
        self.objects.known.borrow_mut().retain(|name, _| there.contains(name));
        for (kind, item, why) in learned {
            let name = name(kind, &item);
            if self.is_deleted(kind, &item) {
                self.objects.set_free(kind, &name, &item);
            } else {
                self.objects.learn(kind, name, &item, why.as_deref());
            }
        }
    }

    /// Takes what a watch says, and what it has said by now, in one commit as far as it can be; whether it ended.
    async fn take(&mut self, api: &Shared, kind: Kind, first: Seen, watch: &mut Watch) -> Result<bool, Fault> {
        let (mut said, mut fault) = (vec![first], None);
        let until = Instant::now() + LINGER;
        while said.len() < MOST_AT_ONCE && !matches!(said.last(), Some(Seen::End)) {
            tokio::select! {
                biased;
                seen = watch.next() => match seen {
                    Ok(seen) => said.push(seen),
                    Err(error) => {
                        fault = Some(error);
                        break;
                    }
                },
                () = sleep_until(until) => break,
            }
        }
        let Some(cluster) = self.place.as_ref().map(|place| place.cluster) else { return Err(Fault::Again) };
        for seen in &said {
            if let Seen::There(item) = seen
                && !self.objects.declared(&name(kind, item), item)
            {
                self.learn_secret(api, item).await?;
            }
        }
        let (mut ended, mut version, mut events, mut learned) = (false, None, Vec::new(), Vec::new());
        let (kinds, setting) = (Kinds::default(), self.setting());
        for seen in said {
            let (fact, lesson) = match seen {
                Seen::End => {
                    ended = true;
                    continue;
                }
                Seen::Nothing(until) => {
                    version = Some(until);
                    continue;
                }
                Seen::There(item) => {
                    version = Some(item.metadata.version().to_owned());
                    self.there(kind, *item, &kinds, &setting)
                }
                Seen::Away(item) => {
                    version = Some(item.metadata.version().to_owned());
                    self.away(kind, &item)
                }
            };
            events.push(Event::Api(cluster, fact.into()));
            learned.push(lesson);
        }
        if !events.is_empty() {
            let verdicts = self.desk.decide(events).await.ok_or(Fault::NotSaved)?;
            if verdicts.iter().any(|verdict| matches!(verdict, Verdict::AnotherCluster(_))) {
                return Err(Fault::Again);
            }
        }
        for lesson in learned {
            self.remember(kind, lesson);
        }
        let places = self.place.as_mut().map(|place| Kind::ALL.into_iter().zip(&mut place.versions));
        let place = places.and_then(|mut places| places.find(|(known, _)| *known == kind));
        if let Some(((_, place), version)) = place.zip(version) {
            *place = version;
        }
        fault.map_or(Ok(ended), Err)
    }

    fn there(&self, kind: Kind, mut item: Item, kinds: &Kinds, setting: &Setting) -> (ApiFact, Lesson) {
        let name = name(kind, &item);
        if !item.may_be_ours(&self.settings.site) {
            return (ApiFact::Gone(name.clone()), Lesson::Forget(name));
        }
        let uid = item.metadata.uid;
        if self.is_deleted(kind, &item) {
            return (ApiFact::Deleted(uid, name.clone()), Lesson::Free(name, item));
        }
        match intent(kind, &mut item, kinds, (setting, &self.secrets)) {
            Ok(intent) => (ApiFact::Declared(uid, intent), Lesson::Learn(name, item, None)),
            Err(refusal) => {
                let why = Some(refusal.why.clone());
                (ApiFact::Refused(name.clone(), refusal), Lesson::Learn(name, item, why))
            }
        }
    }

    /// Out of a watch with a selector an object also goes when its labels change, and then nobody deleted it.
    fn away(&self, kind: Kind, item: &Item) -> (ApiFact, Lesson) {
        let name = name(kind, item);
        let ours = item.may_be_ours(&self.settings.site);
        let deleted = ours && (item.is_deleted() || self.settings.selector.is_empty());
        let fact =
            if deleted { ApiFact::Deleted(item.metadata.uid, name.clone()) } else { ApiFact::Gone(name.clone()) };
        (fact, Lesson::Forget(name))
    }

    /// Of a namespace that ends every rollout is as good as deleted: its finalizer must go while we may still take it off.
    fn is_deleted(&self, kind: Kind, item: &Item) -> bool {
        item.is_deleted() || (self.ends && kind == Kind::Rollout)
    }

    fn remember(&self, kind: Kind, lesson: Lesson) {
        match lesson {
            Lesson::Learn(name, item, why) => self.objects.learn(kind, name, &item, why.as_deref()),
            Lesson::Free(name, item) => self.objects.set_free(kind, &name, &item),
            Lesson::Forget(name) => self.objects.forget(&name),
        }
    }

    fn setting(&self) -> Setting {
        let dir: PathBuf = self.settings.files.clone();
        Setting { dir, poll_interval: self.desk.poll_interval(), secrets: false }
    }
}

/// Waits until something should be written, or so long.
pub(super) async fn until_news(objects: &Objects, wait: Duration) {
    let _ = timeout(wait, objects.to_write.notified()).await;
}
