//! `DeploymentBase`, an order as devices read it (b.3): one action, one chunk, one artifact (b.0.9).

use serde::Serialize;

use super::links::Links;
use super::response::{Response, json};
use crate::device::{Artifact, Offer};

#[derive(Serialize)]
struct DeploymentBase<'a> {
    /// A string, always (b.3).
    id: String,
    deployment: Deployment<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cancel {
    /// The same in both, without the link's zero: rhu compares it with the id that it has (b.3).
    id: String,
    cancel_action: Stop,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stop {
    stop_id: String,
}

#[derive(Serialize)]
struct Deployment<'a> {
    /// `forced`, never `skip`: SWUpdate reports a skip as success without installing (b.0.4).
    download: &'static str,
    update: &'static str,
    chunks: [Chunk<'a>; 1],
}

#[derive(Serialize)]
struct Chunk<'a> {
    /// Zephyr takes nothing else (b.10.7).
    part: &'static str,
    version: &'a str,
    name: &'a str,
    artifacts: [File<'a>; 1],
}

#[derive(Serialize)]
struct File<'a> {
    filename: &'a str,
    /// Each client checks another one, and parsers demand all three (b.13).
    hashes: Hashes<'a>,
    size: u64,
    #[serde(rename = "_links")]
    links: Downloads,
}

#[derive(Serialize)]
struct Hashes<'a> {
    sha1: &'a str,
    md5: &'a str,
    sha256: String,
}

/// The same URL for both: rhu prefers the first, Zephyr reads only the second (b.11).
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Downloads {
    download: Href,
    md5sum: Href,
    download_http: Href,
    md5sum_http: Href,
}

/// A link.
#[derive(Serialize)]
pub(super) struct Href {
    href: String,
}

impl Href {
    pub(super) fn new(href: String) -> Self {
        Self { href }
    }
}

/// The answer that gives a gateway its order.
pub(super) fn deployment_base(offer: &Offer, links: &Links) -> Response {
    let key = &offer.artifact.key;
    let chunk = Chunk {
        part: "bApp",
        version: key.version.as_str(),
        name: &key.name,
        artifacts: [file(&offer.artifact, links)],
    };
    json(&DeploymentBase {
        id: offer.action.to_string(),
        deployment: Deployment { download: "forced", update: "forced", chunks: [chunk] },
    })
}

/// The answer that tells a gateway to drop its order.
pub(super) fn cancel(offer: &Offer) -> Response {
    let id = offer.action.to_string();
    json(&Cancel { cancel_action: Stop { stop_id: id.clone() }, id })
}

/// The answer that lists a software module's only artifact.
pub(super) fn artifacts(artifact: &Artifact, links: &Links) -> Response {
    json(&[file(artifact, links)])
}

fn file<'a>(artifact: &'a Artifact, links: &Links) -> File<'a> {
    let href = links.artifact(artifact);
    let md5sum = format!("{href}.MD5SUM");
    File {
        filename: &artifact.file_name,
        hashes: Hashes { sha1: &artifact.sums.sha1, md5: &artifact.sums.md5, sha256: artifact.key.digest.hex() },
        size: artifact.size,
        links: Downloads {
            download: Href::new(href.clone()),
            md5sum: Href::new(md5sum.clone()),
            download_http: Href::new(href),
            md5sum_http: Href::new(md5sum),
        },
    }
}
