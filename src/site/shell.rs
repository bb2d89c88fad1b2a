//! The loop: takes what is waiting, steps, commits, and only then shows and answers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::error::Error;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use tracing::{error, info, warn};

use super::api;
use super::clock::Clock;
use super::control::{Answer, Asked, Query};
use super::core::{Core, Stepped};
use super::credentials::Notices;
use super::health::Health;
use super::outlook::Outlook;
use super::report;
use super::site_file::{Said, Standing};
use super::tally::{Outcome, Taken, Tally, kinds};
use super::trouble::Trouble;
use crate::artifact::Keeper;
use crate::config::SiteConfig;
use crate::device::{Attendance, Board, Context, Envelope};
use crate::engine::Settings;
use crate::intake::Manifests;
use crate::intake::drops::DropLine;
use crate::kube::Objects;
use crate::model::{
    ActionId, ArtifactSpec, ControllerId, Digest, Event, GateAllowance, GateKey, Listing, SiteTime, Verdict,
};
use crate::store::{Batch, Handle, Recalled};

/// At most so many events go into one step, so that one commit answers them soon.
const MOST_EVENTS: usize = 64;
/// Site time is saved this often while something is due, so that a crash loop cannot stop it.
const SAVE_EVERY: Duration = Duration::from_secs(60);
/// So many addresses that send wrong tokens are shown.
const MOST_GUESSERS: usize = 16;

/// Everything that the loop holds.
pub(super) struct Shell {
    pub config: Rc<SiteConfig>,
    pub core: Core,
    pub store: Handle,
    pub clock: Rc<Clock>,
    pub board: Rc<RefCell<Board>>,
    pub presence: Rc<RefCell<Attendance>>,
    pub keeper: Rc<Keeper>,
    pub wanted: watch::Sender<Vec<ArtifactSpec>>,
    /// The questions that gates should be asked.
    pub gates: watch::Sender<BTreeSet<GateKey>>,
    /// What gates may be asked.
    pub gates_allowed: watch::Sender<Rc<GateAllowance>>,
    /// Drops that wait or were refused.
    pub drops: Rc<RefCell<Vec<DropLine>>>,
    /// Counts commits.
    pub committed: watch::Sender<u64>,
    pub manifests: watch::Sender<Manifests>,
    pub devices: Rc<Context>,
    pub notices: Rc<Notices>,
    pub next_due: Option<SiteTime>,
    /// When windows open or end.
    pub next_change: Option<SiteTime>,
    pub saved_at: SiteTime,
    /// While there is some, nothing moves.
    pub trouble: Option<Trouble>,
    pub site_file: Standing,
    pub said_by_file: watch::Receiver<Said>,
    /// What is remembered of the API server, if one is followed.
    pub objects: Option<Rc<Objects>>,
    pub health: Rc<Health>,
    pub tally: Tally,
}

/// What woke the loop.
enum Woken {
    Event(Envelope),
    Query(Asked),
    SiteFile,
    Due,
    Stop,
}

impl Shell {
    /// Runs until `stop` is done, or until every sender of events is gone.
    pub async fn run(
        &mut self,
        mut events: mpsc::Receiver<Envelope>,
        mut queries: mpsc::Receiver<Asked>,
        stop: impl Future<Output = ()>,
    ) {
        let mut stop = pin!(stop);
        loop {
            if self.trouble.as_ref().is_some_and(Trouble::is_due) {
                self.recover().await;
            }
            let sleep = sleep_until(self.wake_at());
            let woken = tokio::select! {
                biased;
                () = &mut stop => Woken::Stop,
                query = queries.recv() => query.map_or(Woken::Stop, Woken::Query),
                Ok(()) = self.said_by_file.changed() => Woken::SiteFile,
                event = events.recv() => event.map_or(Woken::Stop, Woken::Event),
                () = sleep => Woken::Due,
            };
            match woken {
                Woken::Stop => return,
                Woken::Query((Query::Accept(wanted, who), answer)) => {
                    let _ = answer.send(self.accept(wanted, who).await);
                }
                Woken::Query((Query::Order(wanted, who), answer)) => {
                    let _ = answer.send(self.order(wanted, who).await);
                }
                Woken::Query((Query::Metrics, answer)) => {
                    let _ = answer.send(Answer::Text(self.figures(events.len()).text()));
                }
                Woken::Query((query, answer)) => {
                    let _ = answer.send(self.answer(query).await);
                }
                Woken::SiteFile => {
                    let said = self.said_by_file.borrow().clone();
                    if let Some(said) = said {
                        self.reload(said).await;
                    }
                }
                Woken::Event(first) => {
                    let mut waiting = vec![first];
                    while waiting.len() < MOST_EVENTS
                        && let Ok(next) = events.try_recv()
                    {
                        waiting.push(next);
                    }
                    // in trouble whoever waits for a verdict hears 429; all else is said again after the rebuild
                    if self.trouble.is_none() {
                        self.take(waiting).await;
                    }
                }
                Woken::Due if self.trouble.is_some() => {}
                Woken::Due => self.take(Vec::new()).await,
            }
        }
    }

    /// One step with the waiting events and those that time brings, and its commit.
    pub async fn take(&mut self, waiting: Vec<Envelope>) {
        let now = self.clock.now();
        let (mut events, mut answers) = (Vec::with_capacity(waiting.len()), Vec::with_capacity(waiting.len()));
        if self.excuse_standstill(now.site) {
            // before all else: what was known of gateways and gates is as old as the standstill
            events.push(Event::StoodStill);
            answers.push(None);
        }
        for (event, answer) in waiting {
            events.push(event);
            answers.push(answer);
        }
        events.extend(self.presence.borrow_mut().due(now.site));
        let (taken, begun) = (Taken::of(&events), Instant::now());
        let Stepped { mut batch, outlook, verdicts } = self.core.step(now, events);
        let (took, kinds) = (begun.elapsed(), kinds(&batch.journal));
        log(&batch);
        let due_soon = outlook.next_due.is_some() && now.site.since(self.saved_at) >= SAVE_EVERY;
        // after trouble only a commit shows that it is over
        let rows = if self.objects.is_some() { batch.journal.clone() } else { Vec::new() };
        if !batch.is_empty() || due_soon || self.trouble.is_some() {
            batch.time = self.clock.saved(now.site);
            self.health.commits();
            if let Err(error) = self.store.commit(batch).await {
                // whoever waits for a verdict hears 429
                drop(answers);
                self.tally.step(taken, took, Outcome::Failed, &[]);
                return self.fails(&error);
            }
            self.health.committed();
            self.saved_at = now.site;
            self.committed.send_modify(|count| *count += 1);
            self.tally.step(taken, took, Outcome::Committed, &kinds);
        } else {
            self.tally.step(taken, took, Outcome::Unchanged, &[]);
        }
        if self.trouble.take().is_some() {
            info!("the store works again");
        }
        if let Some(objects) = &self.objects {
            objects.changed(outlook.objects.iter().cloned());
            api::tell(objects, &rows);
        }
        self.publish(outlook);
        reply(answers, verdicts);
    }

    /// Polls that could not be answered are no silence.
    fn excuse_standstill(&self, now: SiteTime) -> bool {
        let standstill = self.clock.stood_still();
        if let Some(standstill) = standstill {
            warn!(seconds = standstill.as_secs(), "the process stood still; nobody is blamed for that time");
            self.presence.borrow_mut().resume(now);
        }
        standstill.is_some()
    }

    fn publish(&mut self, outlook: Outlook) {
        let mut board = self.board.borrow_mut();
        for (gateway, entry) in outlook.board {
            board.put(gateway, entry);
        }
        board.complete();
        if let Some(wanted) = outlook.wanted {
            self.wanted.send_if_modified(|before| {
                let changed = *before != wanted;
                *before = wanted;
                changed
            });
        }
        if let Some(gates) = outlook.gates {
            self.gates.send_if_modified(|before| {
                let changed = *before != gates;
                *before = gates;
                changed
            });
        }
        self.next_due = outlook.next_due;
        self.next_change = outlook.next_change;
    }

    /// A failed commit is a crash that we survive: its outcome is unknown, so the state is rebuilt from what the disk says.
    fn fails(&mut self, error: &dyn Error) {
        let trouble = Trouble::after(self.trouble.take(), error);
        // a disk may be full for a week-end
        if trouble.is_news {
            error!(
                error = trouble.why,
                "the store fails: nothing moves until it works again, which is tried by itself"
            );
        }
        self.health.fails(&trouble.why);
        self.trouble = Some(trouble);
    }

    /// Opens the store again and rebuilds the state.
    async fn recover(&mut self) {
        let recalled = match self.store.reopen().await {
            Ok(recalled) => recalled,
            Err(error) => return self.fails(&error),
        };
        let manifests = self.manifests.borrow().clone();
        let listing = tokio::task::spawn_blocking(move || manifests.list()).await.unwrap_or_default();
        let opening = self.rebuild(recalled, listing);
        self.keeper.report_again();
        if let Some(objects) = &self.objects {
            objects.read_again();
        }
        self.take(opening).await;
    }

    /// Puts the state that the store holds in the place of the one in memory; says what its first step must hear.
    pub fn rebuild(&mut self, recalled: Recalled, listing: Listing) -> Vec<Envelope> {
        let mut opening = Vec::new();
        if let Some(lost) = recalled.lost {
            let text = format!("{}; its bytes are in {}", lost.why, lost.set_aside.display());
            error!(set_aside = %lost.set_aside.display(), why = %lost.why, "the store was lost: nothing is offered until `lamplighter resume`");
            opening.push((Event::StoreLost(text), None));
            self.board.borrow_mut().clear();
        }
        self.core = Core::rebuild(recalled.snapshot, settings(&self.config), action_base());
        let now = self.clock.site_now();
        let state = self.core.state();
        let known = state.gateways.iter();
        let known = known.map(|(id, gateway)| (id.clone(), gateway.presence, state.comes_by(gateway), gateway.client));
        let mut presence = self.presence.borrow_mut();
        presence.start(now, known);
        let gateways = self.core.state().gateways.iter();
        gateways.filter(|(_, gateway)| gateway.duplicate).for_each(|(id, _)| presence.was_shared(id, now));
        drop(presence);
        opening.push((Event::Started, None));
        if self.objects.is_some() {
            opening.push((Event::ApiAwaited(self.config.kubernetes.cluster), None));
        }
        opening.push((Event::Listed(listing), None));
        opening
    }

    /// When to wake although nothing happens.
    fn wake_at(&self) -> Instant {
        if let Some(trouble) = &self.trouble {
            return trouble.again();
        }
        let now = self.clock.site_now();
        let save = self.next_due.map(|_| self.saved_at.plus(SAVE_EVERY));
        let next =
            [self.next_due, self.next_change, self.presence.borrow().next_due(), save].into_iter().flatten().min();
        let heartbeat = self.clock.heartbeat();
        // a millisecond late rather than early: waking early would spin until the deadline
        let wait = next.map_or(heartbeat, |at| at.since(now) + Duration::from_millis(1));
        Instant::now() + wait.min(heartbeat)
    }

    async fn answer(&self, query: Query) -> Answer {
        if let Some(trouble) = &self.trouble {
            return Answer::Trouble(trouble.why.clone());
        }
        let (state, now) = (self.core.state(), self.clock.site_now());
        let json = match query {
            Query::Status => {
                let progress = |digest: &Digest| self.keeper.progress(digest);
                let drops = self.drops.borrow().clone();
                let status = report::status(&self.config.site, state, now, progress, drops, self.counters());
                let link = self.objects.as_deref().and_then(api::notice);
                serde_json::to_vec(&report::Status {
                    notices: link
                        .into_iter()
                        .chain(self.health.deaf.borrow().clone())
                        .chain(self.notices.now())
                        .collect(),
                    clock: Some(self.clock.line()),
                    site_file: Some(self.site_file.line(now)),
                    pending: report::pending(&self.devices.strangers.borrow(), state, now),
                    guessers: report::guessers(self.devices.guessers(MOST_GUESSERS)),
                    ..status
                })
            }
            // they change what is known, so they were taken out before
            Query::Accept(..) | Query::Order(..) | Query::Metrics => return Answer::Refused("ask again".into()),
            Query::Gateways => serde_json::to_vec(&report::gateways(state)),
            Query::Artifacts => serde_json::to_vec(&report::artifacts(state, |digest| self.keeper.progress(digest))),
            Query::Object(name) => serde_json::to_vec(&report::object(state, self.clock.now(), &name)),
            Query::IsDropAccepted(manifest) => serde_json::to_vec(&state.drops.contains_key(&manifest)),
            Query::Journal(filter) => {
                let page = self.store.journal_page(filter.span(), filter.limit, filter.keep(state)).await;
                match page {
                    Ok(page) => serde_json::to_vec(&report::journal(state, page)),
                    Err(error) => return Answer::Unreadable(error.to_string()),
                }
            }
            Query::Plan(of) => match report::plans(state, now, of.as_deref()) {
                Ok(plans) => serde_json::to_vec(&plans),
                Err(why) => return Answer::Nobody(why),
            },
            Query::PlanWith(listing) => {
                let now = self.clock.now();
                serde_json::to_vec(&report::plans_with(state, now, listing.intents, listing.refused))
            }
            Query::WhyRollout(who) => {
                let rows = self.store.journal(report::ROWS_FOR_WHY).await.unwrap_or_default();
                let rows: Vec<_> = rows.into_iter().map(|row| row.entry).collect();
                match report::rollout_why(state, now, &who, &rows) {
                    Ok(why) => serde_json::to_vec(&why),
                    Err(why) => return Answer::Nobody(why),
                }
            }
            Query::Why(who) => {
                let rows = self.store.journal(report::ROWS_FOR_WHY).await.unwrap_or_default();
                let rows: Vec<_> = rows.into_iter().map(|row| row.entry).collect();
                let presence = self.presence.borrow();
                let polled = |id: &ControllerId| presence.last_poll(id.as_str());
                let progress = |id: &ControllerId| presence.progress(id.as_str()).cloned();
                match report::why(state, now, &who, polled, progress, &rows) {
                    Some(why) => serde_json::to_vec(&why),
                    None => return Answer::Nobody(report::no_such_gateway(state, &who)),
                }
            }
        };
        json.map_or_else(|error| Answer::Trouble(error.to_string()), Answer::Json)
    }

    fn counters(&self) -> report::Counters {
        let (written, served) = (self.store.written(), self.devices.stats.now());
        let (api_requests, api_writes) = self.objects.as_ref().map(|objects| objects.counts()).unwrap_or_default();
        report::Counters {
            commits: written.commits(),
            store_bytes: written.bytes(),
            requests: served.requests,
            served_bytes: served.served_bytes,
            unauthorized: served.unauthorized,
            unknown: served.unknown,
            held_back: served.held_back,
            handshakes_failed: served.handshakes_failed,
            api_requests,
            api_writes,
        }
    }

    /// Saves site time and closes the store.
    pub async fn stop(self) {
        let time = self.clock.saved(self.clock.site_now());
        let saved = self.store.commit(Batch { time, ..Batch::default() }).await;
        let closed = self.store.close().await;
        if let Err(error) = saved.and(closed) {
            warn!(%error, "the store did not close cleanly; nothing that was answered is lost");
        }
    }
}

/// What the engine needs to know of the site file.
pub fn settings(config: &SiteConfig) -> Settings {
    Settings {
        poll_interval: config.devices.poll_interval,
        offline_after: config.devices.offline_after,
        download_slots: config.devices.load.downloads,
        max_in_flight: config.max_in_flight,
        version_keys: config.devices.version_keys.clone(),
        time_zone: config.time_zone.clone(),
    }
}

/// A new store's first action id; without randomness it is the smallest, which only costs the protection of a lost store.
pub(super) fn action_base() -> ActionId {
    let mut random = [0; 4];
    if let Err(error) = getrandom::fill(&mut random) {
        warn!(%error, "no randomness for the base of action ids");
    }
    ActionId::base(u32::from_ne_bytes(random))
}

fn reply(answers: Vec<Option<oneshot::Sender<Verdict>>>, verdicts: Vec<Verdict>) {
    for (answer, verdict) in answers.into_iter().zip(verdicts) {
        if let Some(answer) = answer {
            // the device may have hung up
            let _ = answer.send(verdict);
        }
    }
}

/// What goes into the journal goes to the log too.
fn log(batch: &Batch) {
    for row in &batch.journal {
        let (rollout, gateway) = (row.rollout.as_deref().unwrap_or(""), row.gateway.as_deref().unwrap_or(""));
        info!(what = ?row.what, rollout, gateway, detail = row.detail, "journal");
    }
}
