//! How gateways prove who they are: certificates, tokens of their own, derived ones, and one for all.

use std::fs;

use lamplighter::model::SiteSecret;

use super::eventually;
use super::pki::{Ca, Client, Pair};
use super::site::{Site, TOKEN, gateway};
use super::tls::secured;

const SECRET: &str = "the-secret-of-hall-7-and-nobody-else";
const SHARED: &str = "one-token-for-all-gateways";

/// A site with `ctl-press-1`, which has a token of its own, and `ctl-press-2`, which has none.
fn site(ca: &Ca) -> Site {
    let site = secured(&ca.server(), ", clientCa: tls/clients.crt");
    fs::write(site.path("tls/clients.crt"), &ca.pem).unwrap();
    fs::write(site.path("site.secret"), SECRET.to_owned() + "\n").unwrap();
    fs::write(site.path("gateway.token"), SHARED.to_owned() + "\n").unwrap();
    let tokens = "tokens: {siteSecretFile: site.secret, gatewayTokenFile: gateway.token}, tls: {";
    site.configure("tls: {", tokens);
    site.put("press-2.yaml", without_auth("press-2"));
    site
}

fn without_auth(name: &str) -> String {
    gateway(name, "")
        .lines()
        .filter(|line| !line.contains("auth:"))
        .fold(String::new(), |text, line| text + line + "\n")
}

fn derived(secret: &str, id: &str) -> String {
    format!("TargetToken {}", SiteSecret::new(secret).unwrap().token(id))
}

#[test]
fn a_gateway_with_a_token_of_its_own_signs_in_by_that_alone_and_the_others_by_what_the_site_offers() {
    let ca = Ca::new("plant");
    let site = site(&ca);
    site.log_everything.set(true);
    site.start();
    let client = Client::new(&ca.pem, None);
    let status = |id: &str, authorization: &str| client.status(&site, id, authorization).unwrap();
    let (own, shared) = (format!("TargetToken {TOKEN}"), format!("GatewayToken {SHARED}"));

    assert_eq!(status("ctl-press-1", &own), 200);
    assert_eq!(status("ctl-press-1", &derived(SECRET, "ctl-press-1")), 401);
    assert_eq!(status("ctl-press-1", &shared), 401);

    assert_eq!(status("ctl-press-2", &derived(SECRET, "ctl-press-2")), 200);
    assert_eq!(status("ctl-press-2", &shared), 200);
    assert_eq!(status("ctl-press-2", &own), 401);
    assert_eq!(status("ctl-press-2", &derived(SECRET, "ctl-press-1")), 401, "another gateway's token");

    for wrong in [
        String::new(),
        "TargetToken ".into(),
        "GatewayToken ".into(),
        shared.to_lowercase(),
        format!("GatewayToken  {SHARED}"),
        format!("TargetToken {SHARED}"),
        format!("GatewayToken {SECRET}"),
        derived(SECRET, "ctl-press-2").replace("TargetToken", "GatewayToken"),
        derived(SECRET, "ctl-press-2").to_uppercase(),
        format!("{} ", derived(SECRET, "ctl-press-2")) + "x",
    ] {
        assert_eq!(status("ctl-press-2", &wrong), 401, "{wrong:?}");
    }
    assert_eq!(status("nobody", &derived(SECRET, "nobody")), 401, "a gateway that nobody declared");
    assert_eq!(status("nobody", &shared), 401);

    let (log, token) = (site.log(), SiteSecret::new(SECRET).unwrap().token("ctl-press-2"));
    for secret in [SECRET, SHARED, TOKEN, token.as_str()] {
        assert!(!log.contains(secret), "{secret} is in the log");
        assert!(
            !everything_in(&site).windows(secret.len()).any(|bytes| bytes == secret.as_bytes()),
            "{secret} is on disk"
        );
    }
}

/// All bytes that the site keeps.
fn everything_in(site: &Site) -> Vec<u8> {
    let files = fs::read_dir(site.state()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.flat_map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn guessing_tokens_leads_nowhere() {
    let ca = Ca::new("plant");
    let site = site(&ca);
    site.start();
    let client = Client::new(&ca.pem, None);
    let mut random = fastrand::Rng::with_seed(5);
    for n in 0..200 {
        // about one gateway again and again is slow
        let id = if n % 25 == 0 { "ctl-press-2".into() } else { format!("ctl-press-{}", n + 3) };
        let guess: String = (0..64).map(|_| random.digit(16)).collect();
        let scheme = if random.bool() { "TargetToken" } else { "GatewayToken" };
        assert_eq!(client.status(&site, &id, &format!("{scheme} {guess}")), Some(401));
    }
    assert_eq!(site.ask("/v1/status")["counters"]["unauthorized"], 200);
    assert_eq!(client.status(&site, "ctl-press-2", &derived(SECRET, "ctl-press-2")), Some(200));
}

#[test]
fn secrets_that_change_are_read_again_and_broken_ones_are_not_used() {
    let ca = Ca::new("plant");
    let site = site(&ca);
    site.start();
    let client = Client::new(&ca.pem, None);
    let may = |authorization: &str| client.status(&site, "ctl-press-2", authorization) == Some(200);
    let (old, new) = (derived(SECRET, "ctl-press-2"), derived("another-secret-of-hall-7", "ctl-press-2"));
    assert!(may(&old) && !may(&new));

    fs::write(site.path("site.secret"), "another-secret-of-hall-7").unwrap();
    eventually("the new secret counts", || may(&new).then_some(()));
    assert!(!may(&old));

    fs::write(site.path("gateway.token"), "short").unwrap();
    let told = eventually("the broken token is told", || {
        Some(site.ask("/v1/status")["notices"].to_string()).filter(|said| said != "null")
    });
    assert!(told.contains("devices.tokens.gatewayTokenFile") && told.contains("has 5 characters"), "{told}");
    assert!(may(&format!("GatewayToken {SHARED}")) && may(&new));
    fs::write(site.path("gateway.token"), "a-new-token-for-all-gateways").unwrap();
    eventually("the new token counts", || may("GatewayToken a-new-token-for-all-gateways").then_some(()));
    assert!(!may(&format!("GatewayToken {SHARED}")));
}

#[test]
fn a_certificate_is_for_the_gateway_that_it_names_and_for_no_other() {
    let (ca, foreign) = (Ca::new("plant"), Ca::new("somebody else's"));
    let site = site(&ca);
    site.start();
    let status =
        |own: Pair, id: &str, authorization: &str| Client::new(&ca.pem, Some(&own)).status(&site, id, authorization);

    assert_eq!(status(ca.client("ctl-press-1"), "ctl-press-1", ""), Some(200), "by its common name, token or not");
    assert_eq!(status(ca.client_by_uri("ctl-press-2"), "ctl-press-2", ""), Some(200), "by its URI");
    assert_eq!(status(ca.client("ctl-press-1"), "ctl-press-2", ""), Some(401), "another gateway's certificate");
    let token = format!("TargetToken {TOKEN}");
    assert_eq!(status(ca.client("ctl-press-2"), "ctl-press-1", &token), Some(401), "and no token mends that");
    assert_eq!(status(ca.client("nobody"), "nobody", ""), Some(401), "one that nobody declared");
    for close in ["CTL-PRESS-2", "ctl-press-*", "ctl-press-2 ", "*", "x,CN=ctl-press-2", "ctl-press-2\0"] {
        assert_eq!(status(ca.client(close), "ctl-press-2", ""), Some(401), "{close:?}");
    }
    assert_eq!(status(foreign.client("ctl-press-1"), "ctl-press-1", &token), None, "no handshake");
    assert_eq!(status(ca.expired_client("ctl-press-1"), "ctl-press-1", &token), None, "no handshake");
    assert_eq!(Client::new(&ca.pem, None).status(&site, "ctl-press-1", &token), Some(200), "certificates are optional");

    // the authorities are replaced: what the old ones issued counts no more, for new connections
    fs::write(site.path("tls/clients.crt"), &foreign.pem).unwrap();
    eventually("the new authority counts", || status(foreign.client("ctl-press-1"), "ctl-press-1", ""));
    assert_eq!(status(ca.client("ctl-press-1"), "ctl-press-1", ""), None);
}
