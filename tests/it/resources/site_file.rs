//! Site files as people type them.

use std::path::Path;

use lamplighter::{config, model};

const SITE: &str = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: hall-7\nstate: state\nintake: {manifests: [manifests]}\ndevices: {listen: 127.0.0.1:8080, insecure: true}\n";

fn site(text: &str) -> Result<config::SiteConfig, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("site.yaml");
    std::fs::write(&file, text).unwrap();
    config::load(&file).map_err(|error| error.to_string())
}

#[test]
fn a_small_site_file_gets_its_defaults_and_paths_from_its_own_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("site.yaml");
    std::fs::write(&file, SITE).unwrap();
    let site = config::load(&file).unwrap();
    assert_eq!((site.state, site.manifests), (dir.path().join("state"), vec![dir.path().join("manifests")]));
    assert_eq!((site.devices.tenants, site.devices.load.downloads), (vec!["DEFAULT".to_owned()], 24));
    assert_eq!((site.devices.poll_interval.as_secs(), site.devices.offline_after.as_secs()), (60, 600));
    assert_eq!((site.disk_reserve, site.control_group, site.devices.url), (256 << 20, None, None));
}

#[test]
fn every_field_of_a_site_file_arrives() {
    let text = SITE.replace("insecure: true", "insecure: true, url: \"https://up:1/\", tenants: [a, b], pollInterval: 1s, offlineAfter: 5s, versionKeys: {os: [os, v]}, downloads: {concurrent: 3}")
        + "control: {group: ops}\nlimits: {diskReserve: 1Gi}\nuplink: {bytesPerSecond: 1Mi, caFiles: [ca.pem], credentials: {\"r.example:5000\": secret, \"http://10.0.0.1\": /s}}\n";
    let text = text.replace("manifests: [manifests]", "manifests: [manifests], drops: sticks");
    let site = site(&text).unwrap();
    assert!(site.drops.as_ref().is_some_and(|drops| drops.is_absolute() && drops.ends_with("sticks")));
    assert_eq!(site.devices.url.as_deref(), Some("https://up:1"));
    assert_eq!(site.devices.version_keys["os"], ["os", "v"]);
    assert_eq!((site.devices.load.downloads, site.devices.offline_after.as_secs()), (3, 5));
    assert_eq!((site.control_group.as_deref(), site.disk_reserve), (Some("ops"), 1 << 30));
    assert_eq!(site.uplink.bytes_per_second.unwrap().get(), 1 << 20);
    assert!(site.uplink.ca_files[0].is_absolute() && site.uplink.ca_files[0].ends_with("ca.pem"));
    let hosts: Vec<_> = site.uplink.credentials.keys().map(ToString::to_string).collect();
    assert_eq!(hosts.len(), 2);
    assert!(hosts.contains(&"r.example:5000".into()) && hosts.contains(&"http://10.0.0.1".into()), "{hosts:?}");
}

#[test]
fn how_much_a_site_takes_on_and_whom_it_lets_in() {
    let devices =
        |more: &str| site(&SITE.replace("insecure: true", &format!("insecure: true, {more}"))).unwrap().devices;
    let usual = devices("pollInterval: 60s");
    // a proxy on the same machine is one address for all
    assert_eq!((usual.load.connections, usual.load.per_address, usual.load.bytes_per_second), (48, 48, None));
    assert_eq!((usual.registration, usual.registration_labels.len()), (model::Registration::Refuse, 0));
    let said = devices(
        "connections: {total: 200, perAddress: 3}, downloads: {bytesPerSecond: 50Mi}, registration: Pending, \
         registrationLabels: {line: \"3\"}",
    );
    assert_eq!((said.load.connections, said.load.per_address), (200, 3));
    assert_eq!(said.load.bytes_per_second.unwrap().get(), 50 << 20);
    assert_eq!(said.registration, model::Registration::Pending);
    assert_eq!(said.registration_labels.get("line"), Some("3"));
}

#[test]
fn metrics_are_served_on_this_machine_unless_the_site_file_says_otherwise() {
    let listen = |more: &str| site(&format!("{SITE}{more}\n")).unwrap().metrics.map(|address| address.to_string());
    for usual in ["", "metrics: {}", "metrics: null"] {
        assert_eq!(listen(usual).as_deref(), Some("127.0.0.1:9797"), "{usual}");
    }
    assert_eq!(listen("metrics: {listen: \"0.0.0.0:9100\"}").as_deref(), Some("0.0.0.0:9100"));
    assert_eq!(listen("metrics: {listen: \"[::]:9797\"}").as_deref(), Some("[::]:9797"));
    for none in ["off", "\"off\"", "null", "~"] {
        assert_eq!(listen(&format!("metrics: {{listen: {none}}}")), None, "{none}");
    }
}

#[test]
fn wrong_site_files_are_refused_with_file_and_field() {
    let devices = |more: &str| SITE.replace("insecure: true", &format!("insecure: true, {more}"));
    for (text, words) in [
        (SITE.replace("insecure: true", "insecure: false"), "devices.tls: is missing"),
        (SITE.replace(", insecure: true", ""), "`lamplighter init` makes them"),
        (devices("tls: {certificate: a, key: b}"), "devices.insecure: is true although there is devices.tls"),
        (SITE.replace("insecure: true", "tls: {certificate: a}"), "devices.tls.key: is missing"),
        (SITE.replace("127.0.0.1:8080", "8080"), "devices.listen:"),
        (
            SITE.replace("manifests: [manifests]", "manifests: [manifests], drops: manifests"),
            "intake.drops: is a manifest",
        ),
        (SITE.replace("manifests: [manifests]", "manifests: [manifests], drops: state"), "intake.drops: is"),
        (devices("tsl: {}"), "devices.tsl: is not a known field"),
        (devices("pollIntervall: 1s"), "did you mean pollInterval?"),
        (devices("pollInterval: 500ms"), "whole seconds"),
        (devices("pollInterval: 24h"), "less than 24h"),
        (devices("offlineAfter: 2m"), "devices.offlineAfter:"),
        (devices("url: \"ftp://x\""), "devices.url:"),
        (devices("downloads: {concurrent: 0}"), "devices.downloads.concurrent:"),
        (devices("downloads: {bytesPerSecond: 31Ki}"), "devices.downloads.bytesPerSecond: is 31Ki; use at least 32Ki"),
        (devices("connections: {total: 39}"), "devices.connections.total:"),
        (
            devices("connections: {total: 50, perAddress: 51}"),
            "devices.connections.perAddress: is 51, more than the 50",
        ),
        (devices("registration: Always"), "devices.registration:"),
        (devices("registrationLabels: {\"a b\": c}"), "devices.registrationLabels.a b: is not a label's name"),
        (devices("tenants: [\"a/b\"]"), "devices.tenants[0]:"),
        (devices("versionKeys: {os: []}"), "devices.versionKeys.os:"),
        (SITE.to_owned() + "limits: {diskReserve: lots}\n", "limits.diskReserve:"),
        (SITE.to_owned() + "uplink: {bytesPerSecond: 10}\n", "uplink.bytesPerSecond: is 10; use at least 1Ki"),
        (SITE.to_owned() + "uplink: {credentials: {a/b: f}}\n", "uplink.credentials.a/b:"),
        (SITE.to_owned() + "uplink: {credentials: {a: f, A: g}}\n", "the same host"),
        (SITE.to_owned() + "uplink: {credentials: {a: \"\"}}\n", "uplink.credentials.a: should be the path"),
        (SITE.to_owned() + "metrics: {listen: 9797}\n", "metrics.listen:"),
        (SITE.to_owned() + "metrics: {listen: \"127.0.0.1:8080\"}\n", "as devices.listen is; use another port"),
        (
            SITE.to_owned() + "metrics: {listen: localhost}\n",
            "metrics.listen: \"localhost\" is neither an address such as 127.0.0.1:9797 nor \"off\"",
        ),
        (SITE.replace("manifests: [manifests]", "manifests: []"), "intake.manifests: is empty"),
        (SITE.replace("kind: SiteConfig", "kind: Site"), "kind: should be SiteConfig"),
        (SITE.replace("site: hall-7\n", ""), "site: is missing"),
        (SITE.replace("state: state", &format!("state: /{}", "x".repeat(94))), "use a path of at most 94"),
        (SITE.to_owned() + "---\n" + SITE, "several documents"),
        (String::new(), "is empty"),
        ("a: [".to_owned(), "not valid YAML"),
    ] {
        let error = site(&text).unwrap_err();
        assert!(error.contains(words) && error.contains("site.yaml"), "{words:?} is not in {error:?}");
    }
    assert!(config::load(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a plain file"));
}

#[test]
fn what_gates_may_ask_and_the_sites_cap_are_checked() {
    let site = |more: &str| {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("site.yaml");
        let head = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: hall-7\nstate: s\nintake: {manifests: [m]}\ndevices: {listen: \"127.0.0.1:0\", insecure: true}\n";
        std::fs::write(&file, format!("{head}{more}\n")).unwrap();
        config::load(&file).map_err(|error| error.to_string())
    };
    let good =
        site("gates: {allowPaths: [/permits/**], allowHosts: [\"plc.local:8080\"]}\nlimits: {maxInFlight: 7}").unwrap();
    assert_eq!((good.max_in_flight, good.gates.paths.len(), good.gates.hosts.len()), (7, 1, 1));
    let plain = site("").unwrap();
    assert_eq!((plain.max_in_flight, plain.gates), (100, model::GateAllowance::default()), "nothing may be asked");
    for (bad, word) in [
        ("gates: {allowPaths: [/**]}", "gates.allowPaths[0]"),
        ("gates: {allowPaths: [/a, b]}", "gates.allowPaths[1]"),
        ("gates: {allowHosts: [plc/x]}", "gates.allowHosts[0]"),
        ("limits: {maxInFlight: 0}", "limits.maxInFlight: is 0; use at least 1"),
    ] {
        let why = site(bad).unwrap_err();
        assert!(why.contains(word), "{bad}: {why}");
    }
}
