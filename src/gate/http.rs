//! Gates that answer over HTTP: 2xx is open, 4xx is closed, and whatever else comes, or nothing, is unknown.
//!
//! Only the status is read. Redirects are not followed and no proxy is used: the site file allows whom it names.

use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use reqwest::{Client, redirect};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

use crate::model::{Event, GateAllowance, GateAnswer, GateKey, HttpUrl, SiteTime};
use crate::names::Resolver;

/// A plant's controllers are small: asked seldom, and not for longer than an answer is good.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// From the look-up of the name to the status.
const PATIENCE: Duration = Duration::from_secs(2);
/// Questions at a time.
const MOST: usize = 4;

/// Asks all of them, a few at a time, and says each answer as it comes.
pub(super) async fn ask(
    keys: Vec<GateKey>,
    allowance: &GateAllowance,
    resolver: &Resolver,
    now: &impl Fn() -> SiteTime,
    say: &impl AsyncFn(Event),
) {
    // made for a round and dropped after it: who has no such gates never pays for it, and no connection stays open
    let clients = Rc::new(Clients { resolver: resolver.clone(), plain: OnceCell::new(), tls: OnceCell::new() });
    let mut left = keys.into_iter();
    let mut under_way = JoinSet::new();
    loop {
        while under_way.len() < MOST
            && let Some(key) = left.next()
        {
            let (asked, clients) = (now(), clients.clone());
            let url = allowed(&key, allowance);
            under_way.spawn_local(async move {
                let answer = match url {
                    Ok(url) => clients.answer(&url).await,
                    Err(why) => GateAnswer::Unknown(why),
                };
                Event::Gate(key, answer, asked)
            });
        }
        match under_way.join_next().await {
            None => return,
            Some(Ok(event)) => say(event).await,
            Some(Err(_)) => {}
        }
    }
}

fn allowed(key: &GateKey, allowance: &GateAllowance) -> Result<HttpUrl, String> {
    let GateKey::Http(url) = key else { return Err("it is no address".into()) };
    let url: HttpUrl = url.parse().map_err(|_| "it is no valid address".to_owned())?;
    if allowance.allows(&url) { Ok(url) } else { Err("gates.allowHosts of the site file does not allow it".into()) }
}

/// The one for plain HTTP reads no certificates of authorities.
#[derive(Debug)]
struct Clients {
    resolver: Resolver,
    plain: OnceCell<Result<Client, String>>,
    tls: OnceCell<Result<Client, String>>,
}

impl Clients {
    async fn answer(&self, url: &HttpUrl) -> GateAnswer {
        match self.client(url.origin().is_https()).await {
            Ok(client) => match client.get(url.as_url().clone()).send().await {
                Ok(answer) if answer.status().is_success() => GateAnswer::Open,
                Ok(answer) if answer.status().is_client_error() => {
                    GateAnswer::Closed(format!("it answered {}", answer.status().as_u16()))
                }
                Ok(answer) => GateAnswer::Unknown(format!("it answered {}", answer.status().as_u16())),
                Err(error) if error.is_timeout() => GateAnswer::Unknown("it did not answer within 2s".into()),
                Err(error) => GateAnswer::Unknown(format!("it gave no answer ({})", root(error))),
            },
            Err(why) => GateAnswer::Unknown(why.clone()),
        }
    }

    async fn client(&self, https: bool) -> &Result<Client, String> {
        let cell = if https { &self.tls } else { &self.plain };
        let resolver = self.resolver.clone();
        // reading the system's authorities blocks
        let make = async move {
            if !https {
                return client(false, resolver);
            }
            let made = tokio::task::spawn_blocking(move || client(true, resolver)).await;
            made.unwrap_or_else(|_| Err("the site stops".into()))
        };
        cell.get_or_init(|| make).await
    }
}

fn client(https: bool, resolver: Resolver) -> Result<Client, String> {
    // without a provider the client panics; the process installs it first thing, whoever uses the library may not
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("lamplighter/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .referer(false)
        .http1_only()
        .no_proxy()
        .timeout(PATIENCE)
        .pool_max_idle_per_host(0)
        .dns_resolver(resolver);
    let builder = if https { builder } else { builder.tls_certs_only([]) };
    builder.build().map_err(|error| format!("it cannot be asked ({error})"))
}

/// The innermost cause says what is wrong; what is around it only says that something is.
fn root(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
