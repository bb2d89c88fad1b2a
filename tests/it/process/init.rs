//! From nothing to a site that serves gateways: `init`, `token`, `run`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use lamplighter::authority::{Facts, LIFE};
use lamplighter::site::Endpoints;
use tempfile::TempDir;

use super::eventually;
use super::pki::Client;
use super::site::{Said, binary};
use super::wire::{ALL, Request, exchange};

fn init(dir: &Path, more: &[&str]) -> Said {
    let args = ["--site", "hall-7", "--host", "updates.hall-7", "--host", "127.0.0.1"];
    Said::of(binary().arg("init").arg("--dir").arg(dir).args(args).args(more).output().unwrap())
}

/// A running site; it ends with its test.
struct Running {
    child: Child,
    endpoints: Endpoints,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(dir: &Path) -> Running {
    let log = fs::File::create(dir.join("log")).unwrap();
    let mut command = binary();
    command.arg("run").arg("--config").arg(dir.join("site.yaml")).args(["--listen", "127.0.0.1:0"]);
    let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let pid = child.id();
    let endpoints = eventually("it serves", || Endpoints::read(&dir.join("state")).ok().filter(|it| it.pid == pid));
    Running { child, endpoints }
}

/// The status of a poll over TLS.
fn poll(running: &Running, ca: &str, id: &str, token: &str) -> std::io::Result<u16> {
    let address = running.endpoints.devices.strip_prefix("https://").expect("a site with TLS").parse().unwrap();
    let (path, token) = (format!("/DEFAULT/controller/v1/{id}"), format!("TargetToken {token}"));
    let stream = Client::new(ca, None).connect_to(address, "updates.hall-7")?;
    let headers = [("Host", "updates.hall-7"), ("Authorization", token.as_str())];
    Ok(exchange(stream, &Request("GET", &path, &headers, b""), ALL)?.status)
}

#[test]
fn init_token_and_run_make_a_site_that_a_gateway_can_poll() {
    let dir = TempDir::new().unwrap();
    let site = dir.path().join("hall-7");
    let said = init(&site, &[]).good();
    assert!(said.contains("made") && said.contains("ca.crt") && said.contains("lamplighter token"), "{said}");
    for (file, mode) in [
        ("tls/ca.key", 0o600),
        ("tls/server.key", 0o600),
        ("site.secret", 0o600),
        ("tls/ca.crt", 0o644),
        ("tls/server.crt", 0o644),
        ("site.yaml", 0o644),
    ] {
        assert_eq!(fs::metadata(site.join(file)).unwrap().permissions().mode() & 0o777, mode, "{file}");
    }
    let manifest = "apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {name: press-1}\nspec: {controllerId: ctl-1}\n";
    fs::write(site.join("manifests/press-1.yaml"), manifest).unwrap();
    let running = run(&site);
    let token =
        |id: &str| Said::of(binary().args(["token", id, "--config"]).arg(site.join("site.yaml")).output().unwrap());
    let token = |id: &str| token(id).good().trim().to_owned();
    let ca = fs::read_to_string(site.join("tls/ca.crt")).unwrap();
    assert_eq!(poll(&running, &ca, "ctl-1", &token("ctl-1")).unwrap(), 200);
    assert_eq!(poll(&running, &ca, "ctl-1", &token("ctl-2")).unwrap(), 401);
}

#[test]
fn init_keeps_what_is_there_and_completes_what_is_missing() {
    let dir = TempDir::new().unwrap();
    init(dir.path(), &[]).good();
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    let all = ["tls/ca.crt", "tls/ca.key", "tls/server.crt", "tls/server.key", "site.secret", "site.yaml"];
    let before = all.map(read);
    let said = init(dir.path(), &["--host", "other"]).good();
    assert_eq!(all.map(read), before);
    assert_eq!(said.matches("kept").count(), all.len(), "{said}");

    for name in ["tls/server.crt", "tls/server.key"] {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    init(dir.path(), &["--host", "other"]).good();
    let (server, ca) = (Facts::read(&read("tls/server.crt")).unwrap(), Facts::read(&read("tls/ca.crt")).unwrap());
    assert_eq!(server.hosts, ["updates.hall-7", "127.0.0.1", "other"]);
    assert!(server.is_from(&ca) && read("tls/ca.crt") == before[0]);

    let (pod, keys) = (TempDir::new().unwrap(), &all[..5]);
    let said = init(pod.path(), &["--without-site-file"]).good();
    assert!(keys.iter().all(|name| pod.path().join(name).exists()) && pod.path().join("manifests").is_dir(), "{said}");
    assert!(!pod.path().join("site.yaml").exists() && !said.contains("site.yaml"), "{said}");

    fs::remove_file(dir.path().join("tls/ca.key")).unwrap();
    let refused = init(dir.path(), &[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("ca.key: put the key back"), "{}", refused.err);
    for (args, words) in [(["--host", "https://x"], "--host"), (["--site", "Hall 7"], "--site")] {
        let said = Said::of(binary().arg("init").arg("--dir").arg(dir.path()).args(args).output().unwrap());
        assert!(said.code == Some(2) && said.err.contains(words), "{said:?}");
    }
}

#[test]
fn a_certificate_that_runs_out_is_renewed_and_served_while_the_site_runs() {
    let dir = TempDir::new().unwrap();
    init(dir.path(), &["--lifetime", "1h"]).good();
    let facts = || Facts::read(&fs::read(dir.path().join("tls/server.crt")).unwrap()).unwrap();
    let old = facts();
    let running = run(dir.path());
    eventually("a certificate for a whole life", || (facts().end > old.end + LIFE.as_secs() / 2).then_some(()));
    assert_eq!((facts().hosts, facts().public_key), (old.hosts, old.public_key));

    // what is served is the file's, to the gateway that trusted the site before
    let ca = fs::read_to_string(dir.path().join("tls/ca.crt")).unwrap();
    let address = running.endpoints.devices.strip_prefix("https://").unwrap().parse().unwrap();
    let served = || {
        let tls = Client::new(&ca, None).connect_to(address, "updates.hall-7").ok()?;
        Some(tls.conn.peer_certificates()?.first()?.to_vec())
    };
    let written = der(&dir.path().join("tls/server.crt"));
    eventually("the renewed certificate is served", || served().filter(|served| *served == written));
    assert!(fs::read_to_string(dir.path().join("log")).unwrap().contains("the server certificate was renewed"));
}

fn der(file: &Path) -> Vec<u8> {
    use rustls::pki_types::pem::PemObject;
    rustls::pki_types::CertificateDer::from_pem_file(file).unwrap().to_vec()
}

#[test]
fn a_certificate_that_nobody_can_renew_is_told_before_it_runs_out() {
    let dir = TempDir::new().unwrap();
    init(dir.path(), &["--lifetime", "1s"]).good();
    fs::remove_file(dir.path().join("tls/ca.key")).unwrap();
    let _running = run(dir.path());
    let status =
        || Said::of(binary().arg("status").arg("--config").arg(dir.path().join("site.yaml")).output().unwrap());
    let told = eventually("the end is told", || {
        // anything that happens there makes it look again
        fs::write(dir.path().join("tls/note"), "").unwrap();
        Some(status().out).filter(|said| said.contains("it ends on"))
    });
    assert!(told.contains("this site cannot renew it"), "{told}");
}
