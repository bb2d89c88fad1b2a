//! Requests about gateways that nobody declared.

use crate::model::ControllerId;

use super::access::locate;
use super::route::Path;
use super::{Head, Settings, proof};
use crate::device::{Board, Credential};

/// The declared gateway that a request for this path is about, whoever sent it.
pub fn about<'b>(board: &'b Board, path: &str) -> Option<&'b ControllerId> {
    board.get(&Path::parse(path)?.gateway).map(|(id, _)| id)
}

/// Who knocks with this request, if it could become a gateway: of a tenant that exists, under a fit id that nobody
/// declared, with a token. A certificate decides alone: who shows one that names somebody else is nobody.
pub fn knocks(board: &Board, settings: &Settings, head: &Head<'_>) -> Option<(ControllerId, Credential)> {
    let path = locate(settings, head).ok()?;
    let belied = head.certificate.is_some_and(|names| !names.include(&path.gateway));
    if !board.is_ready() || board.get(&path.gateway).is_some() || belied {
        return None;
    }
    let credential = proof::credential(&path.gateway, &settings.tokens, head)?;
    Some((path.gateway.parse().ok()?, credential))
}
