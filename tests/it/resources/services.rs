//! `EdgeService`: good values and their defaults, and what is said about bad ones.

use std::path::Path;
use std::time::Duration;

use lamplighter::intake::{found_in, refuse_duplicates};
use lamplighter::model::{Check, Intent, Method, ServiceSpec};
use lamplighter::resources::{Kinds, Setting};

const GOOD: &str = "config: [{path: /etc/edge}], restart: {unit: a.service}";

fn result(spec: &str) -> Result<ServiceSpec, String> {
    let text =
        format!("{{apiVersion: lamplighter.dev/v1alpha1, kind: EdgeService, metadata: {{name: a}}, spec: {{{spec}}}}}");
    let setting = Setting { dir: Path::new("/m").into(), poll_interval: Duration::from_secs(60), secrets: false };
    let mut found = found_in("a.yaml", text.as_bytes(), &Kinds::default(), &setting);
    match found.remove(0).result? {
        Intent::Service(_, spec) => Ok(*spec),
        other => panic!("{}", other.name()),
    }
}

#[test]
fn a_service_has_defaults_for_all_but_what_it_reads_and_its_unit() {
    let spec = result(GOOD).unwrap();
    assert_eq!(
        (spec.method, spec.settle, spec.min_interval),
        (Method::Restart, Duration::from_secs(2), Duration::from_secs(10))
    );
    assert_eq!(spec.health, None);
    let spec = result(&format!("{GOOD}, settle: 0s, health: {{http: \"http://127.0.0.1:80/up\"}}")).unwrap();
    let health = spec.health.unwrap();
    assert_eq!((health.check, health.timeout), (Check::Http("http://127.0.0.1/up".into()), Duration::from_secs(30)));
    let spec = result("config: [{path: /a/*.conf}, {path: /b}], restart: {unit: a@b.service, method: ReloadOrRestart}")
        .unwrap();
    assert_eq!((spec.config.len(), spec.method), (2, Method::ReloadOrRestart));
}

#[test]
fn what_is_wrong_with_a_service_is_said_where_it_is() {
    for (spec, field) in [
        ("", "spec.config: is missing"),
        ("config: [], restart: {unit: a.service}", "spec.config: "),
        ("config: [{path: etc}], restart: {unit: a.service}", "spec.config[0].path: \"etc\" is no absolute path"),
        ("config: [{path: /a}, {path: /a}], restart: {unit: a.service}", "spec.config[1].path: stands there twice"),
        (
            "config: [{configMap: A}], restart: {unit: a.service}",
            "spec.config[0].configMap: \"A\" is no name of a ConfigMap",
        ),
        ("config: [{}], restart: {unit: a.service}", "spec.config[0]: should have exactly one of path and configMap"),
        (
            "config: [{path: /a, configMap: a}], restart: {unit: a.service}",
            "spec.config[0]: should have exactly one of path and configMap",
        ),
        (
            "config: [{configMap: a}, {configMap: a}], restart: {unit: a.service}",
            "spec.config[1].configMap: stands there twice",
        ),
        ("config: [{path: /a}], restart: {unit: a}", "spec.restart.unit: \"a\" is no unit"),
        ("config: [{path: /a}], restart: {unit: a.service, method: Kill}", "spec.restart.method: "),
        ("config: [{path: /a}], restart: {unit: a.service}, settle: 2", "spec.settle: "),
        (
            "config: [{path: /a}], restart: {unit: a.service}, minInterval: 25h",
            "spec.minInterval: is 25h; use at most 1d",
        ),
        ("config: [{path: /a}], restart: {unit: a.service}, health: {}", "spec.health: should have exactly one"),
        (
            "config: [{path: /a}], restart: {unit: a.service}, health: {tcp: 1, unitActiveFor: 1s}",
            "spec.health: should have exactly one",
        ),
        ("config: [{path: /a}], restart: {unit: a.service}, health: {tcp: 0}", "spec.health.tcp: "),
        (
            "config: [{path: /a}], restart: {unit: a.service}, health: {unitActiveFor: 30s}",
            "spec.health.unitActiveFor: is 30s",
        ),
        (
            "config: [{path: /a}], restart: {unit: a.service}, health: {http: \"http://plc/x\"}",
            "spec.health.http: \"http://plc/x\" is not on this machine",
        ),
    ] {
        let why = result(spec).unwrap_err();
        assert!(why.starts_with(field), "{spec}: {why}");
    }
}

#[test]
fn two_services_with_one_unit_are_both_refused() {
    let one = |name: &str| {
        format!(
            "---\n{{apiVersion: lamplighter.dev/v1alpha1, kind: EdgeService, metadata: {{name: {name}}}, spec: {{{GOOD}}}}}\n"
        )
    };
    let setting = Setting { dir: Path::new("/m").into(), poll_interval: Duration::from_secs(60), secrets: false };
    let mut found = found_in("a.yaml", (one("a") + &one("b")).as_bytes(), &Kinds::default(), &setting);
    refuse_duplicates(&mut found);
    assert!(
        found.iter().all(|found| found.result.as_ref().is_err_and(|why| why.contains("the unit a.service"))),
        "{found:?}"
    );
}
