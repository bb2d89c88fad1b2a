//! The one writer: what is to be said about objects, latest wins, a few at a time, and never what the server has already.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::connection::Shared;
use super::fault::Fault;
use super::follow::{Desk, until_news};
use super::item::Kind;
use super::mark::mark;
use super::objects::{Known, Objects};
use super::report::Report;
use super::settings::{Backoff, Settings};
use super::{news, patch};
use crate::model::{ObjectName, Uid};

/// So many writes a second, …
const PER_SECOND: f64 = 5.0;
/// … and so many at once after a rest.
const BURST: f64 = 20.0;
/// A gateway is written about at most so often, …
const GATEWAY: Duration = Duration::from_secs(30);
/// … and a rollout or a service so often.
const ROLLOUT: Duration = Duration::from_secs(5);
/// Without news it is looked whether something waits for its time.
const LOOK: Duration = Duration::from_secs(30);

/// Something to write.
enum Work {
    Release(ObjectName, Uid),
    Adopt(ObjectName, Uid),
    Status(ObjectName, Uid),
    News(news::News, Uid),
}

/// Writes until it is dropped.
pub async fn write(settings: Settings, objects: Rc<Objects>, desk: impl Desk) {
    let mut tokens = Tokens { left: BURST, at: Instant::now() };
    let mut backoff = Backoff::default();
    loop {
        let Some(api) = objects.api.borrow().clone() else {
            until_news(&objects, LOOK).await;
            continue;
        };
        show(&api, &settings, &objects, &desk, &mut tokens).await;
        let Some(work) = next(&objects) else {
            let wait = due(&objects).map_or(LOOK, |at| at.saturating_duration_since(Instant::now()).min(LOOK));
            until_news(&objects, wait.max(Duration::from_millis(50))).await;
            continue;
        };
        let written = match &work {
            Work::Status(name, uid) => status(&api, &objects, &desk, name, *uid, &mut tokens).await,
            Work::Adopt(name, uid) => {
                tokens.take().await;
                patch::adopt(&api, &objects, name, *uid, &settings.site).await
            }
            Work::Release(name, uid) => {
                tokens.take().await;
                patch::release(&api, &objects, name, *uid).await
            }
            Work::News(news, uid) => {
                tokens.take().await;
                let (_, event) = news.event(api.namespace(), *uid, &settings.site);
                patch::event(&api, &objects, &event).await
            }
        };
        match done(&objects, work, written) {
            Ok(()) => backoff.reset(),
            Err(fault) => {
                debug!(%fault, "a write to the API server failed, and is tried again");
                sleep(backoff.next()).await;
            }
        }
    }
}

/// Shows rollouts that came by a drop. It is tried once while the link is up: whoever may not make them goes on without.
async fn show(api: &Shared, settings: &Settings, objects: &Objects, desk: &impl Desk, tokens: &mut Tokens) {
    while objects.unshown.get() {
        let made = objects.shown.borrow().clone();
        let Some(show) = desk.unshown(made).await else {
            // the watch brings those that were made, and the site says if there are others
            objects.unshown.set(false);
            return;
        };
        tokens.take().await;
        match patch::show(api, objects, &show, settings).await {
            Ok(()) => {}
            Err(fault @ Fault::Refused(..)) => {
                warn!(object = show.object, %fault, "the API server does not take a rollout that came by a drop");
            }
            Err(_) => return,
        }
        objects.shown.borrow_mut().push(show.object);
    }
}

/// What to do next: first what others wait for, then rollouts, then services and gateways that somebody should look at.
fn next(objects: &Objects) -> Option<Work> {
    let mut known = objects.known.borrow_mut();
    let now = Instant::now();
    let place = |name: &ObjectName, object: &Known| {
        let is_rollout = matches!(name, ObjectName::Rollout(_));
        match () {
            () if object.busy => None,
            () if object.free && object.adopted => Some(0),
            () if object.free => None,
            () if is_rollout && !object.adopted && object.refused.is_none() && object.not_before <= now => Some(1),
            () if !object.dirty || object.not_before > now => None,
            () if is_rollout => Some(2),
            () if object.urgent => Some(3),
            () => Some(4),
        }
    };
    let first = known.iter().filter_map(|(name, object)| Some((place(name, object)?, name.clone()))).min();
    let found = first.and_then(|(place, name)| Some((place, known.get_mut(&name)?, name)));
    match found {
        Some((place, object, name)) => {
            object.busy = true;
            let uid = object.uid;
            Some(match place {
                0 => Work::Release(name, uid),
                1 => Work::Adopt(name, uid),
                _ => {
                    (object.dirty, object.urgent) = (false, false);
                    Work::Status(name, uid)
                }
            })
        }
        None => {
            let mut news = objects.news.borrow_mut();
            let known_object = |news: &news::News| known.get(&news.object).map(|object| object.uid);
            let at = news.iter().position(|news| known_object(news).is_some())?;
            let news = news.remove(at);
            let uid = known_object(&news)?;
            Some(Work::News(news, uid))
        }
    }
}

/// When the first of what waits for its time may be written.
fn due(objects: &Objects) -> Option<Instant> {
    let known = objects.known.borrow();
    let waits = known.values().filter(|object| !object.busy && !object.free && object.dirty);
    waits.map(|object| object.not_before).min()
}

/// Says how an object stands, if that is not what the server has.
async fn status(
    api: &Shared,
    objects: &Objects,
    desk: &impl Desk,
    name: &ObjectName,
    uid: Uid,
    tokens: &mut Tokens,
) -> Result<(), Fault> {
    let refused = objects.known.borrow().get(name).and_then(|object| object.refused.clone());
    let report = match refused {
        Some(why) => Some(Report::not_accepted(uid, &why)),
        None => desk.report(name.clone(), uid).await,
    };
    let Some(report) = report.filter(|report| report.uid == uid) else { return Ok(()) };
    let now = jiff::Timestamp::now().as_second();
    let kind = Kind::of(name);
    let (status, news) = {
        let known = objects.known.borrow();
        let Some(object) = known.get(name).filter(|object| object.uid == uid) else { return Ok(()) };
        let status = report.status(object.generation, &object.since, now);
        let news = mark(kind, &status);
        if object.mark == Some(news) {
            return Ok(());
        }
        (status, news)
    };
    tokens.take().await;
    patch::status(api, objects, name, uid, &status).await?;
    if let Some(object) = objects.known.borrow_mut().get_mut(name).filter(|object| object.uid == uid) {
        object.mark = Some(news);
        object.since = super::mark::Since::of(&status);
        object.not_before = Instant::now() + if kind == Kind::Gateway { GATEWAY } else { ROLLOUT };
    }
    Ok(())
}

/// How a write ended; the fault, if it is to be tried again.
fn done(objects: &Objects, work: Work, written: Result<(), Fault>) -> Result<(), Fault> {
    let name = match &work {
        Work::Release(name, _) | Work::Adopt(name, _) | Work::Status(name, _) => name.clone(),
        Work::News(news, uid) => {
            return match written {
                // it is news only while it is, and where nobody may write events, as in a namespace that ends, all else goes on
                Err(fault) if !matches!(fault, Fault::Refused(400..=428 | 430..=499, ..)) => {
                    if objects.known.borrow().get(&news.object).is_some_and(|object| object.uid == *uid) {
                        news::add(&mut objects.news.borrow_mut(), news.clone());
                    }
                    Err(fault)
                }
                _ => Ok(()),
            };
        }
    };
    let mut known = objects.known.borrow_mut();
    let Some(object) = known.get_mut(&name) else { return Ok(()) };
    object.busy = false;
    match (written, work) {
        (Ok(()), Work::Release(..)) => object.adopted = false,
        (Ok(()), Work::Adopt(..)) => object.adopted = true,
        (Ok(()), _) => {}
        // the watch says what became of it
        (Err(fault), _) if fault.is_about_another_object() => drop(known.remove(&name)),
        (Err(fault), work) if fault.is_final() => {
            warn!(object = %name, %fault, "the API server does not take what is said about an object");
            object.not_before = Instant::now() + Duration::from_secs(3_600);
            object.adopted |= matches!(work, Work::Adopt(..));
            object.free = false;
        }
        (Err(fault), work) => {
            object.dirty |= matches!(work, Work::Status(..));
            return Err(fault);
        }
    }
    Ok(())
}

/// How much may be written now.
struct Tokens {
    left: f64,
    at: Instant,
}

impl Tokens {
    /// Takes one, as soon as there is one.
    async fn take(&mut self) {
        let wait = self.wait(Instant::now());
        if !wait.is_zero() {
            sleep(wait).await;
        }
    }

    /// Takes one that counts after so long.
    fn wait(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.left = (self.left + passed * PER_SECOND).min(BURST) - 1.0;
        Duration::from_secs_f64((-self.left / PER_SECOND).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_burst_five_a_second_are_written() {
        let begin = Instant::now();
        let mut tokens = Tokens { left: BURST, at: begin };
        let mut now = begin;
        let mut take = || {
            now += tokens.wait(now);
            now - begin
        };
        assert!((0..20).all(|_| take().is_zero()));
        let last = (0..50).map(|_| take()).last().unwrap();
        assert!((last.as_secs_f64() - 10.0).abs() < 0.01, "{last:?}");
        now += Duration::from_secs(60);
        assert!((0..20).all(|_| tokens.wait(now).is_zero()), "it rested");
        assert!(!tokens.wait(now).is_zero());
    }
}
