//! Tokens in Secrets that gateways name. Each is asked for by its name; none is listed, and nothing of them is kept but hashes.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use serde::Deserialize;
use serde_json::{Value, from_slice};
use tracing::warn;

use super::connection::Api;
use super::fault::Fault;
use super::item::Item;
use super::objects::Objects;
use crate::model::{TokenHash, secret_line};

/// So many Secrets are asked for again in a turn, about every half minute, the others in the next ones.
const AT_ONCE: usize = 16;
/// The key in a Secret if an object names none.
const KEY: &str = "token";

/// Name and key.
pub(super) type Named = (String, String);

/// What is known of Secrets.
#[derive(Default)]
pub(super) struct Secrets {
    /// The hash of a token, or why there is none.
    known: BTreeMap<Named, Result<TokenHash, String>>,
    /// Behind this one the next turn goes on.
    asked: Option<Named>,
}

impl Secrets {
    /// The Secret that an object names.
    pub fn named(item: &Item) -> Option<Named> {
        let named = item.spec.get("auth")?.get("tokenSecretRef")?;
        let key = named.get("key").and_then(Value::as_str).unwrap_or(KEY);
        Some((named.get("name")?.as_str()?.to_owned(), key.to_owned()))
    }

    /// Must it still be asked for?
    pub fn lacks(&self, named: &Named) -> bool {
        !self.known.contains_key(named)
    }

    /// Asks for one; whether it says something else than before.
    pub async fn ask(&mut self, api: &Api, objects: &Objects, named: &Named) -> Result<bool, Fault> {
        objects.count(false);
        let (name, key) = named;
        let path = format!("/api/v1/namespaces/{}/secrets/{name}", api.namespace());
        let said = match api.get(&path).await {
            Ok(body) => token(&body, key).map_err(|why| format!("Secret {name:?}: {why}")),
            Err(Fault::Refused(404, ..)) => Err(format!("there is no Secret {name:?} in the namespace; create it")),
            Err(fault @ Fault::Refused(403, ..)) => Err(format!("Secret {name:?} may not be read: {fault}")),
            Err(fault) => return Err(fault),
        };
        let before = self.known.get(named);
        if let (Some(Ok(_)), Err(why)) = (before, &said) {
            // that it is missing is no word: the gateway goes on signing in as before
            warn!(secret = name, why, "a Secret cannot be read any more; what it said last counts");
            return Ok(false);
        }
        let is_other = before != Some(&said);
        self.known.insert(named.clone(), said);
        Ok(is_other)
    }

    /// Asks for some again; whether any says something else than before.
    pub async fn ask_again(&mut self, api: &Api, objects: &Objects) -> Result<bool, Fault> {
        let rest = self.known.keys().filter(|named| self.asked.as_ref().is_none_or(|asked| *named > asked));
        let rest: Vec<_> = rest.take(AT_ONCE).cloned().collect();
        let mut is_other = false;
        for named in &rest {
            is_other |= self.ask(api, objects, named).await?;
        }
        self.asked = rest.into_iter().nth(AT_ONCE - 1);
        Ok(is_other)
    }

    /// Forgets those that nobody names any more.
    pub fn keep(&mut self, named: &BTreeSet<Named>) {
        self.known.retain(|known, _| named.contains(known));
    }

    /// Puts the hash of a token in the place of the Secret's name.
    pub fn fill(&self, item: &mut Item) -> Result<(), String> {
        let Some(named) = Self::named(item) else { return Ok(()) };
        let unknown = || Err(format!("Secret {:?} was not read yet", named.0));
        let hash = self.known.get(&named).cloned().unwrap_or_else(unknown)?;
        if let Some(auth) = item.spec.get_mut("auth").and_then(Value::as_object_mut) {
            auth.remove("tokenSecretRef");
            auth.insert("tokenSha256".into(), hash.to_string().into());
        }
        Ok(())
    }
}

/// The hash of the token that a Secret holds.
fn token(body: &[u8], key: &str) -> Result<TokenHash, String> {
    #[derive(Deserialize)]
    struct Secret {
        #[serde(default)]
        data: BTreeMap<String, String>,
    }
    let secret: Secret = from_slice(body).map_err(|_| "the answer is not understood".to_owned())?;
    let text = secret.data.get(key).ok_or_else(|| format!("has no key {key:?}"))?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).map_err(|_| "is not base64".to_owned())?;
    let text = String::from_utf8(bytes).map_err(|_| "is no text".to_owned())?;
    secret_line(&text).map(TokenHash::of).map_err(|error| format!("key {key:?} {}", error.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_without_what_stands_around_it_and_nothing_of_it_is_repeated() {
        // 0123456789abcdef and a line break
        let secret = br#"{"data": {"token": "MDEyMzQ1Njc4OWFiY2RlZgo=", "short": "YWJjCg==", "odd": "?"}}"#;
        assert_eq!(token(secret, "token"), Ok(TokenHash::of("0123456789abcdef")));
        for (key, says) in [("short", "has 3 characters"), ("odd", "base64"), ("none", "no key")] {
            let why = token(secret, key).unwrap_err();
            assert!(why.contains(says) && !why.contains("abc"), "{why}");
        }
        assert!(token(b"", "token").is_err());
    }
}
