//! Following the files: a change is used at once, a broken one is not used at all, and our own certificate is renewed.

use std::rc::Rc;

use super::Notices;
use super::read::{FileError, Files, Loaded};
use crate::authority::{self, AuthorityError, Renewal};
use crate::device::Context;
use crate::intake::{Pace, Watch, around};

/// Follows them until it is dropped. `print` is that of the files in use.
pub(in crate::site) async fn follow(files: Files, mut print: [u8; 32], context: Rc<Context>, notices: Rc<Notices>) {
    let pace = Pace::default();
    if files.all().next().is_none() {
        return;
    }
    let mut watch = Watch::new();
    let heard = watch.heard();
    let mut broken = Vec::new();
    loop {
        let before = heard.count();
        let files = files.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let watched = watch.renew(&around(files.all()));
            let renewal = files.tls.as_ref().map(|tls| authority::renew(&tls.certificate, &tls.key, now()));
            (watch, watched, renewal, files.load())
        });
        // only a runtime that is shutting down drops the task
        let Ok((still, watched, renewal, loaded)) = looking.await else { return };
        watch = still;
        if loaded.print != print {
            print = loaded.print;
            broken = apply(&context, loaded);
        }
        notices.put(broken.iter().cloned().chain(renewal.and_then(words)).collect());
        heard.news(before, watched, pace).await;
    }
}

/// Uses what is right, and says what is not: of that the one from before stays.
fn apply(context: &Context, loaded: Loaded) -> Vec<String> {
    let mut broken = Vec::new();
    if let Some(tls) = right(loaded.tls, &mut broken) {
        context.prove_with(tls);
    }
    let tokens = &mut context.settings.borrow_mut().tokens;
    if let Some(secret) = right(loaded.secret, &mut broken) {
        tokens.secret = secret;
    }
    if let Some(gateway) = right(loaded.gateway, &mut broken) {
        tokens.gateway = gateway;
    }
    if broken.is_empty() {
        tracing::info!("the files of devices.tls and devices.tokens changed and are in use");
    }
    broken
}

fn right<T>(read: Result<T, FileError>, broken: &mut Vec<String>) -> Option<T> {
    read.map_err(|error| broken.push(format!("{error}; the one from before stays in use"))).ok()
}

/// What a person should know about the certificate's end.
fn words(renewal: Result<Renewal, AuthorityError>) -> Option<String> {
    match renewal {
        // what is wrong with the files themselves is said by those who need them
        Ok(Renewal::NotDue) | Err(AuthorityError::Unreadable(_)) => None,
        Ok(Renewal::Renewed(until)) => {
            tracing::info!(until = date(until), "the server certificate was renewed");
            None
        }
        Ok(Renewal::Ends(at)) => Some(format!(
            "devices.tls.certificate: it ends on {}, and this site cannot renew it: put a new one in its place, it is used \
             at once",
            date(at)
        )),
        Err(error) => Some(format!("devices.tls.certificate: it cannot be renewed: {error}")),
    }
}

fn date(seconds: u64) -> String {
    let timestamp = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    timestamp.map_or_else(|| "an unknown day".into(), |timestamp| timestamp.strftime("%Y-%m-%d").to_string())
}

fn now() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0)
}
