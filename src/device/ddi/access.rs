//! Who may ask for what: tenant, proof, resource, method. Decided before a body is read.

use hyper::{Method, StatusCode, header};

use crate::model::ControllerId;

use super::response::{Response, empty, not_found, refusal, too_busy};
use super::route::{Path, Route};
use super::{Head, LARGEST_BODY, Settings, proof};
use crate::device::{Board, Entry};

/// A request whose body is worth reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Whose it is.
    pub gateway: ControllerId,
    /// How many bytes its body may have.
    pub most: usize,
}

/// Refuses a request that needs no look at its body.
///
/// # Errors
/// The answer, which needs no further look.
pub fn admit(board: &Board, settings: &Settings, head: &Head<'_>) -> Result<Admitted, Response> {
    let path = locate(settings, head)?;
    if !board.is_ready() {
        return Err(too_busy());
    }
    let (gateway, _) = authenticate(board, settings, &path, head)?;
    let route = resource(&path, head)?;
    Ok(Admitted { gateway: gateway.clone(), most: if route.takes_body() { LARGEST_BODY } else { 0 } })
}

/// The path, if its tenant exists (b.0.8).
pub(super) fn locate<'a>(settings: &Settings, head: &Head<'a>) -> Result<Path<'a>, Response> {
    Path::parse(head.path)
        .filter(|path| settings.tenants.iter().any(|tenant| *tenant == path.tenant))
        .ok_or_else(|| not_found("there is no such resource"))
}

/// The gateway, if the request proves to come from it (b.7). An unknown gateway and a wrong proof look the same.
pub(super) fn authenticate<'b>(
    board: &'b Board,
    settings: &Settings,
    path: &Path<'_>,
    head: &Head<'_>,
) -> Result<(&'b ControllerId, &'b Entry), Response> {
    let known = board.get(&path.gateway);
    let proved = proof::holds(&path.gateway, known.map(|(_, entry)| entry), &settings.tokens, head);
    known.filter(|_| proved).ok_or_else(|| empty(StatusCode::UNAUTHORIZED))
}

/// The resource, if the request may do to it what it wants to, in a form that both sides understand.
pub(super) fn resource<'p>(path: &'p Path<'_>, head: &Head<'_>) -> Result<Route<'p>, Response> {
    let route = path.route().ok_or_else(|| not_found("there is no such resource"))?;
    if !route.allows(head.method) {
        let why = "this method does not work here, see Allow";
        let response = refusal(StatusCode::METHOD_NOT_ALLOWED, "lamplighter.method", why);
        return Err(response.fixed(header::ALLOW, route.methods()));
    }
    if route.gives_json() && head.method == Method::GET && !head.accepts_json() {
        return Err(refusal(StatusCode::NOT_ACCEPTABLE, "lamplighter.accept", "the answer is application/json"));
    }
    // SWUpdate and Zephyr send Content-Type with requests that have no body (b.9.8): only bodies are looked at.
    if route.takes_body() && !head.sends_json() {
        let why = "the body must be application/json";
        return Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, "lamplighter.contentType", why));
    }
    Ok(route)
}
