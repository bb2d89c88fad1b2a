//! Registries: authentication, manifests that lie, and layers.

use super::server::{Answer, Request, Server, serve};
use super::{World, firmware, json, local, spec};
use lamplighter::model::Digest;
use serde_json::json;
use sha2::{Digest as _, Sha256};

fn digest(bytes: &[u8]) -> String {
    Digest::new(Sha256::digest(bytes).into()).to_string()
}

fn manifest(layers: &[(&str, usize)]) -> Vec<u8> {
    let layers: Vec<_> = layers.iter().map(|(digest, size)| json!({"digest": digest, "size": size})).collect();
    json(&[("schemaVersion", json!(2)), ("layers", json!(layers))])
}

fn document(bytes: &[u8]) -> Answer {
    Answer::new("200 OK", &[("Content-Type", "application/vnd.oci.image.manifest.v1+json")], bytes)
}

/// A registry with one image; everything in it is at `fw/os`.
async fn registry(manifest: Vec<u8>, blob: Vec<u8>) -> Server {
    Server::start(move |_, request| content(request, &manifest, &blob)).await
}

fn content(request: &Request, manifest: &[u8], blob: &[u8]) -> Answer {
    match request.path.strip_prefix("/v2/fw/os/") {
        Some(path) if path.starts_with("manifests/") => document(manifest),
        Some(path) if path == format!("blobs/{}", digest(blob)) => serve(request, blob, "\"b\""),
        _ => Answer::new("404 Not Found", &[], b""),
    }
}

#[tokio::test]
async fn the_layer_with_the_artifacts_digest_is_fetched_by_tag_and_by_digest() {
    local(async || {
        let bytes = firmware(300_000);
        let manifest = manifest(&[(&digest(b"config"), 6), (&digest(&bytes), bytes.len())]);
        let server = registry(manifest.clone(), bytes.clone()).await;
        for version in [":2.0".to_owned(), format!("@{}", digest(&manifest))] {
            let world = World::new();
            world.fetch(&spec(&bytes, &[format!("oci://{}/fw/os{version}", server.address)])).await.unwrap();
        }
        assert_eq!(server.requests()[2].path, format!("/v2/fw/os/manifests/{}", digest(&manifest)));
    })
    .await;
}

#[tokio::test]
async fn manifests_that_lie_or_make_no_sense_are_refused_before_anything_is_fetched() {
    local(async || {
        let bytes = firmware(1000);
        let right = manifest(&[(&digest(&bytes), 1000)]);
        let index =
            json(&[("manifests", json!([{"digest": digest(b"a"), "size": 1}, {"digest": digest(b"b"), "size": 1}]))]);
        let pin = format!("@{}", digest(b"another"));
        let long = vec![b' '; 5 << 20];
        for (document, version, words) in [
            (&right, pin.as_str(), &["for sha256:", "distrust it"][..]),
            (&manifest(&[(&digest(b"other"), 1000)]), ":2", &["has the layer sha256:", "spec.artifact.digest says"]),
            (&manifest(&[]), ":2", &["has no layers"]),
            (&manifest(&[(&digest(&bytes), 999)]), ":2", &["sizeBytes says (1000)"]),
            (&index, ":2", &["index of several", "@sha256:"]),
            (&b"<html>".to_vec(), ":2", &["is this a registry?"]),
            (&long, ":2", &["is this a registry?"]),
        ] {
            let (world, server) = (World::new(), registry(document.clone(), bytes.clone()).await);
            world.refused(&spec(&bytes, &[format!("oci://{}/fw/os{version}", server.address)]), words).await;
            assert!(server.requests().iter().all(|request| !request.path.contains("blobs")));
        }
        let (world, server) = (World::new(), registry(right, bytes.clone()).await);
        world.refused(&spec(&bytes, &[format!("oci://{}/not/there:2", server.address)]), &["404"]).await;
    })
    .await;
}

#[tokio::test]
async fn an_index_of_one_manifest_is_followed() {
    local(async || {
        let bytes = firmware(1000);
        let inner = manifest(&[(&digest(&bytes), 1000)]);
        let index = json(&[("manifests", json!([{"digest": digest(&inner), "size": inner.len()}]))]);
        let (by_digest, blob) = (format!("/v2/fw/os/manifests/{}", digest(&inner)), bytes.clone());
        let server = Server::start(move |_, request| {
            content(request, if request.path == by_digest { &inner } else { &index }, &blob)
        })
        .await;
        World::new().fetch(&spec(&bytes, &[format!("oci://{}/fw/os:2", server.address)])).await.unwrap();
    })
    .await;
}

/// Asks for a token as most registries do; the token server lives elsewhere, and wants a password of its own.
#[tokio::test]
async fn a_token_is_fetched_from_the_token_server_with_its_own_password_and_goes_to_the_registry_only() {
    local(async || {
        let bytes = firmware(300_000);
        let manifest = manifest(&[(&digest(&bytes), bytes.len())]);
        let tokens = Server::start(|_, request| {
            if request.header("authorization") != Some("Basic dTpw") {
                return Answer::new("401 Unauthorized", &[], b"");
            }
            Answer::new("200 OK", &[], br#"{"token":"t0ken","expires_in":60}"#)
        })
        .await;
        let store = {
            let blob = bytes.clone();
            Server::start(move |_, request| serve(request, &blob, "\"b\"")).await
        };
        let (realm, elsewhere) = (tokens.url("/token"), store.url("/blob"));
        let server = Server::start(move |_, request| {
            if request.header("authorization") != Some("Bearer t0ken") {
                let challenge = format!("Bearer realm=\"{realm}\",service=\"r\",scope=\"repository:fw/os:pull\"");
                return Answer::new("401 Unauthorized", &[("WWW-Authenticate", &challenge)], b"");
            }
            if request.path.contains("blobs") {
                return Answer::new("307 Temporary Redirect", &[("Location", &elsewhere)], b"");
            }
            document(&manifest)
        })
        .await;
        let spec = spec(&bytes, &[format!("oci://{}/fw/os:2", server.address)]);
        let mut world = World::new();
        world.credentials(&format!("http://{}", server.address), "reg:istry");
        world.refused(&spec, &["token", &tokens.address.to_string(), "uplink.credentials"]).await;
        world.credentials(&format!("http://{}", tokens.address), "u:p");
        world.fetch(&spec).await.unwrap();
        let asked = tokens.requests();
        assert_eq!(asked[0].header("authorization"), None, "the registry's password is not the token server's");
        assert!(asked[1].path.contains("service=r&scope=repository%3Afw%2Fos%3Apull"), "{}", asked[1].path);
        assert!(store.requests().iter().all(|request| request.header("authorization").is_none()));
    })
    .await;
}

#[tokio::test]
async fn a_registry_with_a_plain_password_gets_it_and_one_without_says_where_to_put_it() {
    local(async || {
        let bytes = firmware(1000);
        let (manifest, blob) = (manifest(&[(&digest(&bytes), 1000)]), bytes.clone());
        let server = Server::start(move |_, request| {
            if request.header("authorization") != Some("Basic dTpw") {
                return Answer::new("401 Unauthorized", &[("WWW-Authenticate", "Basic realm=\"r\"")], b"");
            }
            content(request, &manifest, &blob)
        })
        .await;
        let spec = spec(&bytes, &[format!("oci://{}/fw/os:2", server.address)]);
        let mut world = World::new();
        world.refused(&spec, &["401", "uplink.credentials"]).await;
        world.credentials(&format!("http://{}", server.address), "u:p");
        world.fetch(&spec).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_token_that_runs_out_in_the_middle_is_renewed() {
    local(async || {
        let bytes = firmware(1 << 20);
        let (manifest, blob) = (manifest(&[(&digest(&bytes), bytes.len())]), bytes.clone());
        let tokens =
            Server::start(|n, _| Answer::new("200 OK", &[], format!("{{\"token\":\"t{n}\"}}").as_bytes())).await;
        let realm = tokens.url("/token");
        // challenge, manifest, half a layer, challenge, the rest
        let server = Server::start(move |n, request| match n {
            0 | 3 => {
                Answer::new("401 Unauthorized", &[("WWW-Authenticate", &format!("Bearer realm=\"{realm}\""))], b"")
            }
            2 => content(request, &manifest, &blob).cut(512 << 10),
            _ => content(request, &manifest, &blob),
        })
        .await;
        World::new().fetch(&spec(&bytes, &[format!("oci://{}/fw/os:2", server.address)])).await.unwrap();
        let last = server.requests().pop().unwrap();
        assert_eq!((last.header("authorization"), last.offset()), (Some("Bearer t1"), Some(512 << 10)));
    })
    .await;
}
