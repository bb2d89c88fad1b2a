//! The jobs about units: each is done once, those of one service one after another, a few at a time.

use std::thread;

use tokio::sync::{mpsc, watch};
use tracing::warn;

use super::restart;
use crate::model::{Event, ServiceName, ServiceReason, UnitFact, UnitJob};

/// A unit may take minutes to stop, and must not hold up the others.
const MOST: usize = 8;
/// Enough for a message of the bus.
const STACK: usize = 256 * 1024;

/// Does what is wanted and says what became of it, until nobody says any more what is wanted.
pub async fn follow(mut wanted: watch::Receiver<Vec<UnitJob>>, say: impl AsyncFn(Event)) {
    let mut running: Vec<ServiceName> = Vec::new();
    let mut done: Vec<(ServiceName, u64)> = Vec::new();
    let (end, mut ended) = mpsc::channel(MOST);
    loop {
        let jobs = wanted.borrow_and_update().clone();
        done.retain(|(service, number)| jobs.iter().any(|job| job.service == *service && job.number == *number));
        for job in jobs {
            let key = (job.service.clone(), job.number);
            if running.len() < MOST && !running.contains(&job.service) && !done.contains(&key) {
                running.push(key.0);
                begin(job, end.clone());
            }
        }
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() { return },
            Some((service, number, fact)) = ended.recv() => {
                running.retain(|other| *other != service);
                done.push((service.clone(), number));
                say(Event::Unit(service, number, fact)).await;
            }
        }
    }
}

/// On a thread of its own: the blocking ones are few, and the disk needs them.
fn begin(job: UnitJob, end: mpsc::Sender<(ServiceName, u64, UnitFact)>) {
    let (service, number, failed) = (job.service.clone(), job.number, end.clone());
    let thread = thread::Builder::new().name("unit".into()).stack_size(STACK);
    let begun = thread.spawn(move || {
        let fact = restart::run(&job);
        // the site may have stopped meanwhile
        let _ = end.blocking_send((job.service, job.number, fact));
    });
    if let Err(error) = begun {
        warn!(%error, "no thread for a unit's job");
        let fact = UnitFact::Refused(ServiceReason::BusUnavailable, format!("no thread can be started: {error}"));
        let _ = failed.try_send((service, number, fact));
    }
}
