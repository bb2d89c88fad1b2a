//! How a gateway proves that it is itself (b.7): its certificate, its own token, or what the site offers to all.

use hyper::header;

use super::Head;
use crate::device::{Credential, Entry};
use crate::model::{SiteSecret, TokenHash};

/// hawkBit's bound, for a token that a stranger brings; nobody has to keep more.
const LONGEST_TOKEN: usize = 128;

/// What gateways without a token of their own may sign in with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// From it the token of each is derived.
    pub secret: Option<SiteSecret>,
    /// The hash of one token for all.
    pub gateway: Option<TokenHash>,
}

/// Does a request prove that it comes from `id`? `entry` is what is known of that gateway, if anything.
///
/// A certificate decides alone: one that names somebody else is not mended by a token. A token of its own excludes the
/// others, so that whoever reads a shared secret cannot pose as a gateway that has one.
pub(super) fn holds(id: &str, entry: Option<&Entry>, tokens: &Tokens, head: &Head<'_>) -> bool {
    if let Some(names) = head.certificate {
        return entry.is_some() && names.include(id);
    }
    let (scheme, token) = shown(head).unwrap_or_default();
    // derived for strangers too: how long it takes tells nothing
    let derived = tokens.secret.as_ref().map(|secret| TokenHash::of(&secret.token(id)));
    let own = entry.and_then(|entry| entry.token);
    let expected = match scheme {
        "TargetToken" => own.or(derived),
        "GatewayToken" if own.is_none() => tokens.gateway,
        _ => None,
    };
    fits(token, expected) && entry.is_some()
}

/// What a stranger called `id` shows, if it is a token.
pub(super) fn credential(id: &str, tokens: &Tokens, head: &Head<'_>) -> Option<Credential> {
    let (scheme, token) = shown(head).filter(|(_, token)| !token.is_empty() && token.len() <= LONGEST_TOKEN)?;
    let derived = tokens.secret.as_ref().map(|secret| TokenHash::of(&secret.token(id)));
    match scheme {
        "TargetToken" if fits(token, derived) => Some(Credential::Derived),
        "TargetToken" => Some(Credential::Unknown(TokenHash::of(token))),
        "GatewayToken" if fits(token, tokens.gateway) => Some(Credential::Shared),
        _ => None,
    }
}

/// The scheme and the token of a request.
fn shown<'a>(head: &Head<'a>) -> Option<(&'a str, &'a str)> {
    head.header(header::AUTHORIZATION)?.split_once(' ')
}

/// Compares hashes, all of them, whether or not there is one to compare with: the time taken tells nothing.
fn fits(token: &str, expected: Option<TokenHash>) -> bool {
    let (shown, hash) = (TokenHash::of(token), expected.unwrap_or(TokenHash::new([0; 32])));
    let difference = shown.bytes().iter().zip(hash.bytes()).fold(0, |difference, (a, b)| difference | (a ^ b));
    std::hint::black_box(difference) == 0 && expected.is_some() && !token.is_empty()
}
