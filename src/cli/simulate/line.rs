//! A gateway's line to the site: DDI requests over a connection that is opened when needed and retried once when stale.

use std::net::{Ipv4Addr, SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HOST, HeaderName, RANGE, USER_AGENT,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;

use super::cast::{Client, Role};
use super::client::{Body, Connection, Cut};
use super::ddi::{self, Order, Root, Word};
use super::trust::Trust;

/// Answers other than artifacts are small.
const LONGEST_ANSWER: usize = 16 * 1024;

/// Why a request came to nothing.
#[derive(Debug)]
pub enum Trouble {
    /// No connection, or it broke: try again.
    Cut,
    /// The site asks to try again later.
    Busy,
    /// The site answered something that it must not.
    Odd(String),
}

impl From<Cut> for Trouble {
    fn from(_: Cut) -> Self {
        Self::Cut
    }
}

/// The line of one gateway.
pub struct Line {
    client: Client,
    site: SocketAddr,
    trust: Option<Trust>,
    base: String,
    authorization: String,
    address: Ipv4Addr,
    connection: Option<Connection>,
}

impl Line {
    /// A line that is not open yet.
    pub fn new(role: &Role, site: SocketAddr, trust: Option<Trust>) -> Self {
        Self {
            client: role.client,
            site,
            trust,
            base: format!("/DEFAULT/controller/v1/{}", role.name),
            authorization: format!("TargetToken {}", role.token),
            address: role.address,
            connection: None,
        }
    }

    /// Closes the connection; the next request opens another.
    pub fn hang_up(&mut self) {
        self.connection = None;
    }

    /// Polls.
    pub async fn root(&mut self) -> Result<Root, Trouble> {
        let response = self.ask(Method::GET, &self.base.clone(), None, None).await?;
        let body = ok("a poll", response).await?;
        serde_json::from_slice(&body).map_err(|error| Trouble::Odd(format!("unreadable root resource: {error}")))
    }

    /// Fetches an order; `None` if it was withdrawn.
    pub async fn order(&mut self, href: &str) -> Result<Option<Order>, Trouble> {
        let path = self.path(href)?;
        let response = self.ask(Method::GET, &path, None, None).await?;
        if response.status() == StatusCode::NOT_FOUND {
            response.into_body().all(LONGEST_ANSWER).await?;
            return Ok(None);
        }
        let body = ok("deploymentBase", response).await?;
        Order::read(&body).map(Some).map_err(Trouble::Odd)
    }

    /// Reports attributes, where they are asked for or, unasked, at the usual place.
    pub async fn put_attributes(&mut self, href: Option<&str>, body: &Value) -> Result<(), Trouble> {
        let path = href.map_or_else(|| Ok(format!("{}/configData", self.base)), |href| self.path(href))?;
        let response = self.ask(Method::PUT, &path, Some(body), None).await?;
        ok("configData", response).await.map(drop)
    }

    /// Says something about an order. Like real clients it builds the address itself.
    pub async fn feedback(&mut self, action: &str, word: &Word) -> Result<(), Trouble> {
        let path = format!("{}/deploymentBase/{action}/feedback", self.base);
        let response = self.ask(Method::POST, &path, Some(&ddi::feedback(self.client, action, word)), None).await?;
        ok("feedback", response).await.map(drop)
    }

    /// The size that a HEAD tells; `None` if it tells none.
    pub async fn artifact_size(&mut self, order: &Order) -> Result<Option<u64>, Trouble> {
        let path = self.path(&order.href)?;
        let response = self.ask(Method::HEAD, &path, None, None).await?;
        match response.status() {
            StatusCode::OK => Ok(length(&response)),
            // a failed HEAD is a warning to SWUpdate, no more
            StatusCode::NOT_FOUND | StatusCode::TOO_MANY_REQUESTS => Ok(None),
            status => Err(Trouble::Odd(format!("HEAD of the artifact was answered {status}"))),
        }
    }

    /// The artifact's bytes from `from` on; `None` if the site has them no longer for this gateway.
    pub async fn artifact(&mut self, order: &Order, from: u64) -> Result<Option<Body>, Trouble> {
        let path = self.path(&order.href)?;
        let range = (from > 0).then(|| format!("bytes={from}-"));
        let response = self.ask(Method::GET, &path, None, range.as_deref()).await?;
        match response.status() {
            StatusCode::NOT_FOUND => return Ok(None),
            StatusCode::TOO_MANY_REQUESTS => return Err(Trouble::Busy),
            _ => check_artifact_head(&response, order, from)?,
        }
        Ok(Some(response.into_body()))
    }

    /// The path of an absolute link, which must lead to where the gateway already is.
    fn path(&self, href: &str) -> Result<String, Trouble> {
        let here = format!("{}://{}", if self.trust.is_some() { "https" } else { "http" }, self.site);
        let path = href.strip_prefix(&here).filter(|path| path.starts_with('/'));
        path.map(str::to_owned).ok_or_else(|| Trouble::Odd(format!("link {href} does not lead to {here}")))
    }

    /// One request. On a connection that was used before it is repeated once: the site may have closed it meanwhile.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        range: Option<&str>,
    ) -> Result<Response<Body>, Trouble> {
        let request = || self.request(&method, path, body, range);
        let (first, again) = (request()?, request()?);
        if let Some(mut used) = self.connection.take()
            && let Ok(response) = used.send(first).await
        {
            self.connection = Some(used);
            return Ok(response);
        }
        let mut fresh = match &self.trust {
            Some(trust) => Connection::tls(self.site, Some(self.address), trust).await?,
            None => Connection::tcp(self.site, Some(self.address)).await?,
        };
        let response = fresh.send(again).await?;
        self.connection = Some(fresh);
        Ok(response)
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        range: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, Trouble> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.site.to_string())
            .header(USER_AGENT, ddi::user_agent(self.client))
            .header(ACCEPT, "application/json")
            .header(AUTHORIZATION, &self.authorization);
        if self.client == Client::SwUpdate {
            request =
                request.header(CONTENT_TYPE, "application/json").header(HeaderName::from_static("charsets"), "utf-8");
        } else if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json;charset=UTF-8");
        }
        if let Some(range) = range {
            request = request.header(RANGE, range);
        }
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        request.body(Full::new(body)).map_err(|error| Trouble::Odd(format!("cannot ask for {path}: {error}")))
    }
}

/// The body of a 200; anything else is trouble.
async fn ok(what: &str, response: Response<Body>) -> Result<Bytes, Trouble> {
    let status = response.status();
    let body = response.into_body().all(LONGEST_ANSWER).await?;
    match status {
        StatusCode::OK => Ok(body),
        StatusCode::TOO_MANY_REQUESTS => Err(Trouble::Busy),
        _ => Err(Trouble::Odd(format!("{what} was answered {status}: {}", String::from_utf8_lossy(&body)))),
    }
}

fn check_artifact_head(response: &Response<Body>, order: &Order, from: u64) -> Result<(), Trouble> {
    let size = order.size;
    let wanted = if from == 0 { StatusCode::OK } else { StatusCode::PARTIAL_CONTENT };
    if response.status() != wanted {
        return Err(Trouble::Odd(format!("the artifact from byte {from} was answered {}", response.status())));
    }
    if length(response) != Some(size - from) {
        return Err(Trouble::Odd(format!("the artifact from byte {from} of {size} has a wrong Content-Length")));
    }
    let range = response.headers().get(CONTENT_RANGE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    if from > 0 && range.as_deref() != Some(&format!("bytes {from}-{}/{size}", size - 1)) {
        return Err(Trouble::Odd(format!("the artifact from byte {from} of {size} has Content-Range {range:?}")));
    }
    Ok(())
}

fn length(response: &Response<Body>) -> Option<u64> {
    response.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
