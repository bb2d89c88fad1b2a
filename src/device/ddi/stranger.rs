//! Requests about gateways that nobody declared.

use hyper::header;
use sha2::{Digest as _, Sha256};

use crate::model::{ControllerId, TokenHash};

use super::access::locate;
use super::route::Path;
use super::{Head, Settings};
use crate::device::Board;

/// hawkBit's bound; nobody has to keep more.
const LONGEST_TOKEN: usize = 128;

/// The declared gateway that a request for this path is about, whoever sent it.
pub fn about<'b>(board: &'b Board, path: &str) -> Option<&'b ControllerId> {
    board.get(&Path::parse(path)?.gateway).map(|(id, _)| id)
}

/// Who knocks with this request, if it could become a gateway: of a tenant that exists, under a fit id that nobody
/// declared, with a token. A certificate decides alone: who shows one that names somebody else is nobody.
pub fn knocks(board: &Board, settings: &Settings, head: &Head<'_>) -> Option<(ControllerId, TokenHash)> {
    let path = locate(settings, head).ok()?;
    let belied = head.certificate.is_some_and(|names| !names.include(&path.gateway));
    if !board.is_ready() || board.get(&path.gateway).is_some() || belied {
        return None;
    }
    let token = head.header(header::AUTHORIZATION)?.strip_prefix("TargetToken ")?;
    let fits = !token.is_empty() && token.len() <= LONGEST_TOKEN;
    let id = path.gateway.parse().ok().filter(|_| fits)?;
    Some((id, TokenHash::new(Sha256::digest(token).into())))
}
