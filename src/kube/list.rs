//! Everything that the server has for this site.

use std::fmt::Write;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::from_slice;

use super::connection::Api;
use super::fault::Fault;
use super::item::{Guarded, Item, Kind, Page};
use super::objects::Objects;
use crate::model::Labels;
use crate::resources::API_VERSION;

/// Larger pages cost memory that never comes back.
const PAGE: usize = 50;
/// More objects than these are not one site's.
const MOST: usize = 10_000;

/// Where objects of a kind are; `more` is the rest of the query.
pub(super) fn path(api: &Api, kind: Kind, selector: &Labels, more: &str) -> String {
    let mut path = format!("/apis/{API_VERSION}/namespaces/{}/{}?{more}", api.namespace(), kind.plural());
    if !selector.is_empty() {
        let labels: Vec<_> = selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let _ = write!(path, "&labelSelector={}", utf8_percent_encode(&labels.join(","), NON_ALPHANUMERIC));
    }
    path
}

/// Gives `visit` every object of a kind, a page at a time; the version from which a watch goes on.
pub(super) async fn list(
    api: &Api,
    objects: &Objects,
    kind: Kind,
    selector: &Labels,
    mut visit: impl FnMut(Item),
) -> Result<String, Fault> {
    let (mut next, mut count) = (String::new(), 0);
    loop {
        let mut query = format!("limit={PAGE}");
        if !next.is_empty() {
            let _ = write!(query, "&continue={}", utf8_percent_encode(&next, NON_ALPHANUMERIC));
        }
        objects.count(false);
        let body = api.get(&path(api, kind, selector, &query)).await?;
        let page: Page = from_slice(&body).map_err(Fault::garbled)?;
        drop(body);
        if page.metadata.resource_version.is_empty() {
            return Err(Fault::garbled("a list without a resourceVersion"));
        }
        count += page.items.len();
        if count > MOST {
            return Err(Fault::garbled(format!("more than {MOST} objects of kind {}", kind.name())));
        }
        for Guarded(item) in page.items {
            match item {
                Ok(item) => visit(item),
                Err(error) => objects.cannot_read(kind, &error),
            }
        }
        if page.metadata.next.is_empty() {
            return Ok(page.metadata.resource_version);
        }
        next = page.metadata.next;
    }
}
