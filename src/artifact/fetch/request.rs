//! One request: where it may be redirected to, and which host hears which password.

use std::cell::RefCell;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response, StatusCode};
use tokio::time::timeout;

use super::credential::Credentials;
use super::error::RemoteError;
use super::token;
use crate::model::{HttpUrl, OciReference, Origin};

/// So many hops a redirect may take.
const HOPS: u32 = 10;
/// Until the head of an answer is there; a registry may have to look for a while.
const ANSWER: Duration = Duration::from_secs(60);

/// All requests of one fetch.
pub(super) struct Session<'f> {
    pub client: Client,
    pub credentials: Credentials,
    /// The registry that is asked, if it is one.
    pub image: Option<&'f OciReference>,
    /// What its token server gave.
    pub token: RefCell<Option<(Origin, HeaderValue)>>,
}

impl Session<'_> {
    /// The answer, whatever its status; a registry that wants a token gets one.
    pub async fn get(&self, url: &HttpUrl, headers: &HeaderMap) -> Result<Response, RemoteError> {
        let response = self.follow(url, headers).await?;
        let Some(image) = self.image.filter(|_| response.status() == StatusCode::UNAUTHORIZED) else {
            return Ok(response);
        };
        // a host that we were redirected to has no say in who our token server is
        let from_registry = HttpUrl::try_from(response.url().clone()).is_ok_and(|at| at.origin() == url.origin());
        let Some(challenge) = token::challenge(response.headers()).filter(|_| from_registry) else {
            return Ok(response);
        };
        drop(response);
        let token = token::fetch(self, &challenge, image, &url.origin()).await?;
        self.token.replace(Some((url.origin(), token)));
        self.follow(url, headers).await
    }

    /// Follows redirects. Each host hears its own password only, and nothing leads from TLS to plain HTTP.
    pub async fn follow(&self, url: &HttpUrl, headers: &HeaderMap) -> Result<Response, RemoteError> {
        let mut url = url.clone();
        for _ in 0..HOPS {
            let mut headers = headers.clone();
            if let Some(authorization) = self.authorization(&url.origin()).await? {
                headers.insert(AUTHORIZATION, authorization);
            }
            let request = self.client.get(url.as_url().clone()).headers(headers).send();
            let response = timeout(ANSWER, request).await.map_err(|_| RemoteError::Slow)??;
            let Some(next) = redirect(&response)? else { return Ok(response) };
            if url.origin().is_https() && !next.origin().is_https() {
                return Err(RemoteError::Redirect("to plain http, where anybody could change it; correct the server"));
            }
            url = next;
        }
        Err(RemoteError::Redirect("in a circle or more than ten times; correct the server"))
    }

    async fn authorization(&self, origin: &Origin) -> Result<Option<HeaderValue>, RemoteError> {
        let token = self.token.borrow().as_ref().filter(|(whose, _)| whose == origin).map(|(_, token)| token.clone());
        match token {
            Some(token) => Ok(Some(token)),
            None => self.credentials.of(origin).await,
        }
    }
}

fn redirect(response: &Response) -> Result<Option<HttpUrl>, RemoteError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
    let next = location.and_then(|location| response.url().join(location).ok()).and_then(|mut next| {
        next.set_fragment(None);
        HttpUrl::try_from(next).ok()
    });
    next.map(Some).ok_or(RemoteError::Redirect("to no address that can be fetched; correct the server"))
}
