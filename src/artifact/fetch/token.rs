//! A registry's token: where its challenge says, with the password that is meant for that host.

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use serde::Deserialize;
use url::Url;

use super::body::read_small;
use super::error::RemoteError;
use super::request::Session;
use crate::model::{HttpUrl, OciReference, Origin};

/// A token with much in it has a few kilobytes.
const LONGEST: usize = 64 << 10;

/// `WWW-Authenticate: Bearer realm="…",service="…",scope="…"`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    realm: String,
    service: Option<String>,
    scope: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
}

/// The challenge in an answer, if it asks for a token.
pub(super) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).find_map(parse)
}

fn parse(text: &str) -> Option<Challenge> {
    let (scheme, mut rest) = text.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let (mut realm, mut service, mut scope) = (None, None, None);
    while let Some((name, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        match name.trim_matches([' ', ',']).to_ascii_lowercase().as_str() {
            "realm" => realm = Some(value.to_owned()),
            "service" => service = Some(value.to_owned()),
            "scope" => scope = Some(value.to_owned()),
            _ => {}
        }
        rest = next;
    }
    Some(Challenge { realm: realm?, service, scope })
}

/// Asks the token server.
pub(super) async fn fetch(
    session: &Session<'_>,
    challenge: &Challenge,
    image: &OciReference,
    registry: &Origin,
) -> Result<HeaderValue, RemoteError> {
    let url = address(challenge, image)
        .ok_or_else(|| RemoteError::Registry("names a token server that is no address; correct the registry".into()))?;
    let whom = url.origin();
    if registry.is_https() && !whom.is_https() {
        let why = format!("sends us for a token to {whom}, without TLS; correct the registry");
        return Err(RemoteError::Registry(why));
    }
    let response = session.follow(&url, &HeaderMap::new()).await?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let why = format!(
                "wants a token, and its token server {whom} refuses us; name a file with the password for {whom} in \
                 uplink.credentials of the site file"
            );
            return Err(RemoteError::Registry(why));
        }
        status => return Err(RemoteError::Registry(format!("has a token server {whom} that answered {status}"))),
    }
    let nonsense = || RemoteError::Registry(format!("has a token server {whom} that gave no token"));
    let body = read_small(response, LONGEST).await?.ok_or_else(nonsense)?;
    let answer: Answer = serde_json::from_slice(&body).map_err(|_| nonsense())?;
    let token = answer.token.or(answer.access_token).ok_or_else(nonsense)?;
    let mut header = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| nonsense())?;
    header.set_sensitive(true);
    Ok(header)
}

fn address(challenge: &Challenge, image: &OciReference) -> Option<HttpUrl> {
    let mut url = Url::parse(&challenge.realm).ok()?;
    let usual = format!("repository:{}:pull", image.repository());
    if let Some(service) = &challenge.service {
        url.query_pairs_mut().append_pair("service", service);
    }
    url.query_pairs_mut().append_pair("scope", challenge.scope.as_deref().unwrap_or(&usual));
    HttpUrl::try_from(url).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_however_it_is_written() {
        let full = parse(r#"Bearer realm="https://a/token",service="r.example",scope="repository:x/y:pull,push""#);
        let full = full.unwrap();
        assert_eq!(full.realm, "https://a/token");
        assert_eq!(full.scope.as_deref(), Some("repository:x/y:pull,push"));
        assert_eq!(parse("bearer realm=https://a/t, service=s").unwrap().service.as_deref(), Some("s"));
        for bad in ["", "Bearer", "Basic realm=\"x\"", "Bearer realm=\"x", "Bearer service=\"x\""] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
