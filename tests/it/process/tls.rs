//! A site that serves TLS: its versions, its files, and how they change under it.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::eventually;
use super::pki::{Ca, Client, Pair};
use super::site::{Said, Site, TOKEN, binary, gateway};

/// A site with the gateway `ctl-press-1` that serves TLS by files in `tls`.
pub fn secured(server: &Pair, more: &str) -> Site {
    let site = Site::new();
    site.configure("insecure: true", &format!("tls: {{certificate: tls/tls.crt, key: tls/tls.key{more}}}"));
    fs::create_dir(site.path("tls")).unwrap();
    put(&site, "tls", server);
    site.put("press-1.yaml", gateway("press-1", ""));
    site
}

/// Writes a pair of files, the certificate first.
fn put(site: &Site, dir: &str, pair: &Pair) {
    fs::write(site.path(dir).join("tls.crt"), &pair.certificate).unwrap();
    fs::write(site.path(dir).join("tls.key"), &pair.key).unwrap();
}

fn target() -> String {
    format!("TargetToken {TOKEN}")
}

/// Whether the site's certificate is one of this authority.
fn is_from(site: &Site, ca: &Ca) -> bool {
    Client::new(&ca.pem, None).connect(site, "site.test").is_ok()
}

fn notices(site: &Site) -> String {
    site.ask("/v1/status")["notices"].to_string()
}

#[test]
fn gateways_are_served_over_tls_1_2_and_1_3_and_their_links_say_https() {
    let ca = Ca::new("plant");
    let site = secured(&ca.server(), "");
    site.start();
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let client = Client::speaking(&[version], &ca.pem, None);
        eventually("the gateway may sign in", || {
            client.status(&site, "ctl-press-1", &target()).filter(|it| *it == 200)
        });
        // once its first poll is on disk
        let href = eventually("the gateway is asked for its attributes", || {
            let link = client.poll(&site, "site.test", "ctl-press-1", &target()).unwrap().json();
            link["_links"]["configData"]["href"].as_str().map(str::to_owned)
        });
        assert_eq!(href, "https://site.test/DEFAULT/controller/v1/ctl-press-1/configData");
        assert_eq!(client.status(&site, "ctl-press-1", "TargetToken wrong"), Some(401));
    }
    let stranger = Client::new(&Ca::new("another plant").pem, None);
    assert_eq!(stranger.status(&site, "ctl-press-1", &target()), None, "a gateway that does not trust the site");
    eventually("the failed handshake is counted", || {
        site.ask("/v1/status")["counters"]["handshakesFailed"].as_u64().filter(|failed| *failed > 0)
    });
    assert!(!site.log().contains("plain HTTP"), "{}", site.log());
}

#[test]
fn openssl_gets_through_with_1_2_and_1_3_and_not_with_1_1() {
    if Command::new("openssl").arg("version").output().is_err() {
        return;
    }
    let ca = Ca::new("plant");
    let site = secured(&ca.server(), "");
    site.start();
    fs::write(site.path("ca.crt"), &ca.pem).unwrap();
    let shakes = |version: &str| {
        let said = Command::new("openssl")
            .args(["s_client", "-brief", "-verify_return_error", version, "-cipher", "ALL:@SECLEVEL=0", "-connect"])
            .arg(site.address().to_string())
            .arg("-CAfile")
            .arg(site.path("ca.crt"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        said.status.success()
    };
    assert!(shakes("-tls1_2") && shakes("-tls1_3"));
    assert!(!shakes("-tls1_1"));
}

#[test]
fn a_certificate_that_is_replaced_is_used_at_once_and_a_broken_one_is_not() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let (before, after) = (old.server(), new.server());
    let site = secured(&before, "");
    site.start();
    assert!(is_from(&site, &old));

    fs::write(site.path("tls/tls.crt"), &after.certificate).unwrap();
    let said =
        eventually("the half-replaced pair is told", || Some(notices(&site)).filter(|said| said.contains("tls.key")));
    assert!(said.contains("devices.tls.key") && said.contains("does not belong to the certificate"), "{said}");
    assert!(said.contains("the one from before stays in use"), "{said}");
    assert!(is_from(&site, &old));
    assert!(site.cli(&["status"]).good().contains("does not belong to the certificate"));

    put(&site, "tls", &after);
    eventually("the new certificate is used", || is_from(&site, &new).then_some(()));
    eventually("nothing is wrong any more", || (notices(&site) == "null").then_some(()));

    fs::remove_file(site.path("tls/tls.crt")).unwrap();
    eventually("a missing file is told", || notices(&site).contains("does not exist").then_some(()));
    assert!(is_from(&site, &new));
    assert!(site.log().contains("does not exist; put it there"), "{}", site.log());
}

#[test]
fn a_secret_volume_that_is_swapped_is_followed() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let site = secured(&old.server(), "");
    // as the kubelet lays a Secret out: links to ..data, a link to a directory that is replaced as a whole
    let volume = site.path("volume");
    let fill = |name: &str, pair: &Pair| {
        fs::create_dir_all(volume.join(name)).unwrap();
        put(&site, &format!("volume/{name}"), pair);
    };
    fill("..2026_1", &old.server());
    symlink("..2026_1", volume.join("..data")).unwrap();
    for file in ["tls.crt", "tls.key"] {
        symlink(format!("..data/{file}"), volume.join(file)).unwrap();
    }
    site.configure("tls/tls.crt, key: tls/tls.key", "volume/tls.crt, key: volume/tls.key");
    site.start();
    for (ca, name) in [(&new, "..2026_2"), (&old, "..2026_3")] {
        fill(name, &ca.server());
        symlink(name, volume.join("..data_tmp")).unwrap();
        fs::rename(volume.join("..data_tmp"), volume.join("..data")).unwrap();
        eventually("the swapped certificate is used", || is_from(&site, ca).then_some(()));
    }
    assert!(!site.log().contains("stays in use"), "no half of a swap is ever seen: {}", site.log());
}

#[test]
fn a_certificate_behind_a_link_is_followed_where_it_lies() {
    let (old, new) = (Ca::new("old"), Ca::new("new"));
    let site = secured(&old.server(), "");
    fs::create_dir(site.path("elsewhere")).unwrap();
    put(&site, "elsewhere", &old.server());
    for file in ["tls.crt", "tls.key"] {
        fs::remove_file(site.path("tls").join(file)).unwrap();
        symlink(format!("../elsewhere/{file}"), site.path("tls").join(file)).unwrap();
    }
    site.start();
    assert!(is_from(&site, &old));
    put(&site, "elsewhere", &new.server());
    eventually("the new certificate is used", || is_from(&site, &new).then_some(()));
}

#[test]
fn what_is_wrong_with_the_files_at_start_is_said_with_field_file_and_remedy() {
    let ca = Ca::new("plant");
    let (server, other) = (ca.server(), ca.server());
    let refused = |change: &dyn Fn(&Site)| {
        let site = secured(&server, ", clientCa: tls/clients.crt");
        fs::write(site.path("tls/clients.crt"), &ca.pem).unwrap();
        change(&site);
        let said = Said::of(binary().args(site.run_args()).output().unwrap());
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(!site.state().join("endpoints.json").exists());
        said.err
    };
    let write = |name: &'static str, text: &'static str| {
        move |site: &Site| fs::write(site.path("tls").join(name), text).unwrap()
    };
    let remove = |name: &'static str| move |site: &Site| fs::remove_file(site.path("tls").join(name)).unwrap();
    for (said, field, words) in [
        (refused(&remove("tls.crt")), "devices.tls.certificate: ", "does not exist; put it there"),
        (refused(&remove("tls.key")), "devices.tls.key: ", "does not exist; put it there"),
        (refused(&remove("clients.crt")), "devices.tls.clientCa: ", "does not exist; put it there"),
        (refused(&write("tls.crt", "nothing")), "devices.tls.certificate: ", "has no PEM certificate"),
        (refused(&write("tls.key", "nothing")), "devices.tls.key: ", "has no PEM private key"),
        (refused(&write("clients.crt", "nothing")), "devices.tls.clientCa: ", "has no PEM certificate"),
        (
            refused(&|site| fs::write(site.path("tls/tls.key"), &other.key).unwrap()),
            "devices.tls.key: ",
            "does not belong to the certificate; name the key",
        ),
        (
            refused(&|site| {
                site.configure("tls: {", "tokens: {siteSecretFile: secret}, tls: {");
                fs::write(site.path("secret"), "too-short").unwrap();
            }),
            "devices.tokens.siteSecretFile: ",
            "has 9 characters; use 16",
        ),
        (
            refused(&|site| site.configure("tls: {", "tokens: {gatewayTokenFile: token}, tls: {")),
            "devices.tokens.gatewayTokenFile: ",
            "does not exist",
        ),
    ] {
        assert!(said.contains(field) && said.contains(words), "{field}{words} is not in {said}");
    }
}

#[test]
fn plain_http_where_others_can_reach_it_must_be_said_twice() {
    let site = Site::new();
    let run = |args: &[&str]| {
        let config = site.path("site.yaml");
        binary().arg("run").arg("--config").arg(config).args(args).stderr(Stdio::piped()).spawn().unwrap()
    };
    let refused = Said::of(run(&["--listen", "0.0.0.0:0"]).wait_with_output().unwrap());
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("devices.insecure") && refused.err.contains("run --insecure"), "{}", refused.err);

    site.configure("listen: 127.0.0.1:0", "listen: 0.0.0.0:0");
    let refused = Said::of(run(&[]).wait_with_output().unwrap());
    assert_eq!(refused.code, Some(2));
    let mut twice = run(&["--insecure"]);
    eventually("it serves", || site.state().join("endpoints.json").exists().then_some(()));
    twice.kill().unwrap();
    let log = Said::of(twice.wait_with_output().unwrap()).err;
    assert!(log.contains("anybody on the way can read their tokens"), "{log}");
}
