//! Registries: from an image's name to the address of the layer that is the artifact.

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::body::read_small;
use super::error::RemoteError;
use super::request::Session;
use crate::model::{ArtifactSpec, Digest, HttpUrl, OciReference, OciVersion};

/// The largest manifest that registries have to take.
const MANIFEST_BYTES: usize = 4 << 20;
const KINDS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
                     application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json";

/// As much of a manifest, or of an index of manifests, as we need.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Descriptor>,
    manifests: Option<Vec<Descriptor>>,
}

#[derive(Deserialize)]
struct Descriptor {
    digest: String,
    size: u64,
}

/// The address of the layer with the artifact's digest. No other layer could be it, so nothing else is ever fetched.
pub(super) async fn layer(
    session: &Session<'_>,
    image: &OciReference,
    spec: &ArtifactSpec,
) -> Result<HttpUrl, RemoteError> {
    let mut manifest = manifest(session, image, image.version()).await?;
    if let Some(inner) = manifest.manifests.take() {
        let [only] = inner.as_slice() else {
            let why = "is an index of several manifests; name one of them by its digest (…@sha256:…)";
            return Err(RemoteError::Registry(why.into()));
        };
        let digest = only.digest.parse().map_err(|_| RemoteError::Registry("is an index without a sha256".into()))?;
        manifest = self::manifest(session, image, &OciVersion::Manifest(digest)).await?;
    }
    let said = spec.key.digest;
    let Some(layer) = manifest.layers.iter().find(|layer| layer.digest == said.to_string()) else {
        let has = match manifest.layers.as_slice() {
            [] => "no layers".into(),
            [only] => format!("the layer {}", shown(&only.digest)),
            several => format!("{} other layers", several.len()),
        };
        let why =
            format!("has {has}, but spec.artifact.digest says {said}; push the right file, or correct the digest");
        return Err(RemoteError::Registry(why));
    };
    if layer.size != spec.size {
        return Err(RemoteError::Length { said: spec.size, html: false });
    }
    address(image, &format!("blobs/{said}"))
}

async fn manifest(session: &Session<'_>, image: &OciReference, version: &OciVersion) -> Result<Manifest, RemoteError> {
    let (name, pinned) = match version {
        OciVersion::Tag(tag) => (tag.clone(), None),
        OciVersion::Manifest(digest) => (digest.to_string(), Some(digest)),
    };
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(KINDS));
    let response = session.get(&address(image, &format!("manifests/{name}"))?, &headers).await?;
    if response.status() != StatusCode::OK {
        return Err(RemoteError::status(response.status(), response.headers()));
    }
    let nonsense = || RemoteError::Registry("gave a manifest that is none; is this a registry?".into());
    let bytes = read_small(response, MANIFEST_BYTES).await?.ok_or_else(nonsense)?;
    let got = Digest::new(Sha256::digest(&bytes).into());
    if let Some(pinned) = pinned.filter(|pinned| **pinned != got) {
        return Err(RemoteError::Registry(format!("gave a manifest with digest {got} for {pinned}; distrust it")));
    }
    serde_json::from_slice(&bytes).map_err(|_| nonsense())
}

fn address(image: &OciReference, rest: &str) -> Result<HttpUrl, RemoteError> {
    let origin = match image.origin().to_string() {
        // the name that people write and the host that answers are not the same
        docker if docker == "docker.io" => "https://registry-1.docker.io".into(),
        plain if plain.starts_with("http://") => plain,
        host => format!("https://{host}"),
    };
    let text = format!("{origin}/v2/{}/{rest}", image.repository());
    text.parse().map_err(|error: crate::model::Invalid| RemoteError::Registry(error.0))
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
