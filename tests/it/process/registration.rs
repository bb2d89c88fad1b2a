//! Gateways that nobody declared: turned away, listed, accepted by a person or by the site file.

use std::net::TcpStream;

use lamplighter::model::SiteSecret;
use serde_json::Value;

use super::eventually;
use super::site::{Site, digest, firmware, gateway};
use super::wire::{ALL, PATIENCE, Request, exchange};

/// Polls under an id with a token; the status of the answer.
fn knock(site: &Site, id: &str, token: &str) -> u16 {
    show(site, id, &format!("TargetToken {token}"))
}

/// The same with another scheme, if it says one.
fn show(site: &Site, id: &str, authorization: &str) -> u16 {
    let stream = TcpStream::connect(site.address()).unwrap();
    stream.set_read_timeout(PATIENCE).unwrap();
    let host = site.address().to_string();
    let headers = [("Host", host.as_str()), ("Authorization", authorization)];
    exchange(stream, &Request("GET", &format!("/DEFAULT/controller/v1/{id}"), &headers, b""), ALL).unwrap().status
}

fn registering(how: &str) -> Site {
    let site = Site::new();
    site.configure("pollInterval", &format!("registration: {how}, registrationLabels: {{line: \"3\"}}, pollInterval"));
    site
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn by_default_a_stranger_is_turned_away_and_counted() {
    let site = Site::new();
    site.start();
    for _ in 0..3 {
        assert_eq!(knock(&site, "press-9", "its-own"), 401);
    }
    let status = site.ask("/v1/status");
    assert_eq!((&status["counters"]["unauthorized"], &status["counters"]["unknown"]), (&3.into(), &3.into()));
    assert_eq!(status["pending"], Value::Null);
    assert_eq!((&status["guessers"][0]["address"], &status["guessers"][0]["wrong"]), (&"127.0.0.1".into(), &3.into()));
    let text = site.cli(&["status"]).good();
    assert!(text.contains("wrong tokens in the last ten minutes:\nADDRESS    COUNT  LAST\n127.0.0.1  3 "), "{text}");
    let none = site.cli(&["accept", "press-9"]);
    assert_eq!((none.code, none.err.as_str()), (Some(1), ""));
    assert!(none.out.starts_with("not accepted: press-9: it does not wait; "), "{}", none.out);
}

#[test]
fn a_stranger_waits_until_a_person_accepts_it_and_stays_a_gateway() {
    let firmware = firmware(60, 10_000);
    let site = registering("Pending");
    site.declare(&[], &firmware);
    site.start();
    assert_eq!(knock(&site, "press-9", "its-own"), 401);
    let status = json(&site.cli(&["status", "-o", "json"]).good());
    let waiting = &status["pending"][0];
    assert_eq!((&waiting["controllerId"], &waiting["address"]), (&"press-9".into(), &"127.0.0.1".into()));
    assert_eq!(waiting["tokenStarts"], digest(b"its-own")[..8]);
    let text = site.cli(&["status"]).good();
    assert!(text.contains("\nnot declared, waiting to be accepted: 1\n"), "{text}");
    assert!(!text.contains("its-own") && !site.log().contains("its-own"));
    assert_eq!(status["rollouts"][0]["summary"]["total"], 0, "never selected before");

    let said = site.cli(&["accept", "press-9", "--label", "hall=7"]).good();
    assert_eq!(said, "accepted press-9\n");
    assert_eq!(knock(&site, "press-9", "its-own"), 200);
    assert_eq!(knock(&site, "press-9", "another"), 401);
    site.kill_and_restart();
    assert_eq!(knock(&site, "press-9", "its-own"), 200);
    let journal = site.cli(&["journal", "--gateway", "press-9"]).good();
    assert!(journal.contains("accept, by ") && journal.contains("(uid "), "{journal}");
    // the site file's label is the one that the rollout selects
    eventually("it is a member", || {
        (site.ask("/v1/why/press-9")["rollouts"][0]["rollout"] == "press-fw").then_some(())
    });
    assert_eq!(site.cli(&["accept", "--all"]).good(), "nobody waits to be accepted\n");

    let manifest = gateway("press-9", "").replace("ctl-press-9", "press-9");
    site.put("press-9.yaml", manifest);
    eventually("the manifest takes it over", || (knock(&site, "press-9", "its-own") == 401).then_some(()));
}

#[test]
fn many_are_accepted_at_once_but_those_in_whose_name_two_tokens_were_shown() {
    let site = registering("Pending");
    site.start();
    for n in 0..5 {
        assert_eq!(knock(&site, &format!("press-{n}"), "its-own"), 401);
    }
    assert_eq!(knock(&site, "press-3", "of-somebody-else"), 401);
    let said = site.cli(&["accept", "--all", "-o", "json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let done = json(&said.out);
    assert_eq!(done["accepted"], serde_json::json!(["press-0", "press-1", "press-2", "press-4"]));
    assert_eq!(done["refused"][0]["controllerId"], "press-3");
    assert_eq!(knock(&site, "press-4", "its-own"), 200);
    assert_eq!(knock(&site, "press-3", "its-own"), 401);
    let bad = site.cli(&["accept", "press-3", "--label", "a b=c"]);
    assert_eq!(bad.code, Some(1));
    assert!(bad.err.contains("is not a label's name"), "{bad:?}");
    assert_eq!(site.cli(&["accept"]).code, Some(2));
    assert_eq!(site.cli(&["accept", "press-3", "--all"]).code, Some(2));
}

#[test]
fn a_stranger_with_the_site_s_own_token_is_marked_so_and_goes_on_with_it_once_accepted() {
    const SECRET: &str = "the-secret-of-hall-7-and-nobody-else";
    let site = Site::new();
    std::fs::write(site.path("site.secret"), SECRET).unwrap();
    std::fs::write(site.path("gateway.token"), "one-token-for-all-gateways").unwrap();
    let tokens = "tokens: {siteSecretFile: site.secret, gatewayTokenFile: gateway.token}";
    // where strangers are refused too: somebody forgot to declare it
    site.configure("pollInterval", &format!("{tokens}, pollInterval"));
    site.log_everything.set(true);
    site.start();
    let derived = |id: &str| SiteSecret::new(SECRET).unwrap().token(id);
    assert_eq!(knock(&site, "press-7", "its-own"), 401);
    assert_eq!(knock(&site, "press-8", &derived("press-9")), 401, "another gateway's token is a token like any");
    assert_eq!(knock(&site, "press-9", &derived("press-9")), 401);
    let shared = |id: &str| show(&site, id, "GatewayToken one-token-for-all-gateways");
    assert_eq!(shared("press-10"), 401);
    let pending = json(&site.cli(&["status", "-o", "json"]).good())["pending"].clone();
    let of = |at: usize| (pending[at]["controllerId"].clone(), pending[at]["siteToken"].clone());
    assert_eq!((of(0), of(1)), (("press-10".into(), "Shared".into()), ("press-9".into(), "Derived".into())));
    assert_eq!((&pending[2], &pending[0]["tokenStarts"]), (&Value::Null, &Value::Null));
    let text = site.cli(&["status"]).good();
    assert!(text.contains("the site's, for all") && text.contains("the site's, for this id"), "{text}");

    // a guess in its name contests nothing
    assert_eq!(knock(&site, "press-9", "a-guess"), 401);
    assert_eq!(site.cli(&["accept", "--all"]).good(), "accepted press-10\naccepted press-9\n");
    assert_eq!((knock(&site, "press-9", &derived("press-9")), shared("press-10")), (200, 200));
    assert_eq!(knock(&site, "press-9", "a-guess"), 401);
    let journal = site.cli(&["journal", "--gateway", "press-9"]).good();
    assert!(journal.contains("with the site's own token"), "{journal}");
    let (log, token) = (site.log(), derived("press-9"));
    for secret in [SECRET, "one-token-for-all-gateways", token.as_str(), "a-guess"] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

#[test]
fn a_site_that_accepts_whoever_comes_makes_a_gateway_of_it() {
    let site = registering("Accept");
    site.start();
    eventually("it is in", || (knock(&site, "press-9", "its-own") == 200).then_some(()));
    assert_eq!(knock(&site, "press-9", "another"), 401);
    let journal = site.cli(&["journal", "--gateway", "press-9"]).good();
    assert!(journal.contains("accept, by the site file"), "{journal}");
    site.kill_and_restart();
    assert_eq!(knock(&site, "press-9", "its-own"), 200);
}

#[test]
fn a_site_without_file_descriptors_waits_and_goes_on_by_itself() {
    let site = Site::with_gateways(&[], &firmware(61, 1_000));
    let (address, limit) = (site.address(), format!("--nofile={}", open_files(&site) + 6));
    let limited = std::process::Command::new("prlimit").args(["--pid", &site.pid().to_string(), &limit]).status();
    assert!(limited.is_ok_and(|status| status.success()), "prlimit is part of util-linux");
    let crowd: Vec<_> = (0..40).filter_map(|_| TcpStream::connect(address).ok()).collect();
    eventually("it says so", || site.log().contains("cannot accept devices, trying again").then_some(()));
    let before = site.log().matches("cannot accept devices").count();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let after = site.log().matches("cannot accept devices").count();
    assert!(after - before <= 4, "it sleeps between its tries: {} in 1.5 s", after - before);
    drop(crowd);
    eventually("it serves again", || {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
        let request = Request("GET", "/DEFAULT/controller/v1/nobody", &[("Host", "a")], b"");
        (exchange(stream, &request, ALL).ok()?.status == 401).then_some(())
    });
}

fn open_files(site: &Site) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", site.pid())).unwrap().count()
}
