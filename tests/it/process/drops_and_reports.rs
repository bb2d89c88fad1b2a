//! `lamplighter drop make`, `drop report` and `report`, as a technician and a person at a desk use them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::device::Device;
use super::drops::{put, site, until};
use super::eventually;
use super::site::{Said, Site, binary, digest, firmware, gateway};
use super::wire::ALL;

fn run(args: &[&str]) -> Said {
    Said::of(binary().args(args).output().unwrap())
}

fn make(artifact: &Path, more: &[&str]) -> Said {
    let artifact = artifact.display().to_string();
    run(&[&["drop", "make", "--artifact", &artifact, "--name", "press-fw", "--selector", "line=3"], more].concat())
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_made_drop_is_what_a_site_accepts_and_the_gateway_ends_up_updated() {
    let bytes = firmware(90, 80_000);
    let (site, stick) = (site(), tempfile::tempdir().unwrap());
    let artifact = stick.path().join("press-2.0.swu");
    fs::write(&artifact, &bytes).unwrap();
    let said = make(&artifact, &["--version", "2.0", "--max-in-flight", "10%", "--max-failures", "1"]).good();
    let manifest = stick.path().join("press-fw.yaml");
    assert_eq!(
        said,
        format!(
            "{} is written: copy it and {} into the drop directory, in any order\n",
            text(&manifest),
            text(&artifact)
        )
    );
    let written = fs::read_to_string(&manifest).unwrap();
    insta::assert_snapshot!(written.replace(&digest(&bytes), "DIGEST"), @r#"
    apiVersion: lamplighter.dev/v1alpha1
    kind: OtaRollout
    metadata:
      name: "press-fw"
    spec:
      artifact:
        name: "press-fw"
        version: "2.0"
        sources: ["file:press-2.0.swu"]
        digest: sha256:DIGEST
        sizeBytes: 80000
      selector:
        matchLabels: {"line":"3"}
      strategy:
        maxInFlight: "10%"
        maxFailures: 1
    "#);
    assert!(run(&["check", &text(&manifest)]).good().contains("OtaRollout/press-fw ok"));

    site.put("press-1.yaml", gateway("press-1", ""));
    site.start();
    eventually("the directory is made", || site.path("drops").is_dir().then_some(()));
    fs::copy(&manifest, site.path("drops/press-fw.yaml")).unwrap();
    fs::copy(&artifact, site.path("drops/other-name.swu")).unwrap();
    until(&site, "press-fw", "Accepted", "");
    let device = Device::new(&site, "press-1");
    assert_eq!(device.attributes(&json!({"press-fw": "1.0"})), 200);
    let order = device.fetch();
    assert!(device.download(&order, ALL) == bytes);
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    assert_eq!(device.attributes(&json!({"press-fw": "2.0"})), 200);
    site.until_step("press-1", "Updated");
}

#[test]
fn making_a_drop_overwrites_nothing_and_says_what_is_wrong_before_it_reads_the_artifact() {
    let stick = tempfile::tempdir().unwrap();
    let artifact = stick.path().join("press.swu");
    fs::write(&artifact, b"firmware").unwrap();
    let manifest = stick.path().join("press-fw.yaml");
    fs::write(&manifest, "mine").unwrap();
    let refused = make(&artifact, &["--version", "2"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("is there already; write elsewhere with --out, or replace it with --force"));
    assert_eq!(fs::read_to_string(&manifest).unwrap(), "mine");
    make(&artifact, &["--version", "2", "--force"]).good();
    assert!(fs::read_to_string(&manifest).unwrap().contains("sizeBytes: 8"));
    let printed = make(&artifact, &["--version", "2 \"x\": {}", "--out", "-", "--rollout-name", "r1"]).good();
    assert!(printed.contains("version: \"2 \\\"x\\\": {}\""), "{printed}");

    let elsewhere = text(&stick.path().join("x.yaml"));
    for (more, why) in [
        (&["--version", "2", "--rollout-name", "Press Fw"][..], "metadata.name"),
        (&["--version", "2", "--max-failures", "0"], "spec.strategy.maxFailures"),
        (&["--version", ""], "spec.artifact.version"),
        (&["--version", "2", "--selector", "line=4"], "a label is there twice"),
        (&["--version", "2", "--selector", "hall"], "write KEY=VALUE"),
    ] {
        let said = make(&artifact, &[more, &["--out", &elsewhere]].concat());
        assert_eq!(said.code, Some(2), "{more:?}: {}", said.err);
        assert!(said.err.contains(why), "{more:?}: {}", said.err);
    }
    for (file, why) in [(stick.path().join("none.swu"), "cannot be read"), (stick.path().into(), "it is a directory")] {
        let said = make(&file, &["--version", "2", "--out", &elsewhere]);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains(why), "{}", said.err);
    }
    assert!(!Path::new(&elsewhere).exists());
}

/// A report of a site with one updated gateway and one that failed, and one of the same site at rest.
fn reports(site: &Site, out: &Path) {
    let bytes = firmware(91, 30_000);
    site.declare(&["press-1"], &bytes);
    site.start();
    let device = Device::new(site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    site.until_reason("Done");
    put(
        site,
        "wait.yaml",
        super::drops::drop(&firmware(92, 10_000)).replace("press-fw", "later").replace("press-1", "press-9"),
    );
    until(site, "wait", "Waiting", "later: fw.bin is not here yet");
    let said = site.cli(&["drop", "report", "--out", &text(&out.join("live.json"))]).good();
    assert!(said.contains("live.json is written: 1 gateways, "), "{said}");
    site.stop();
    let said = site.cli(&["drop", "report", "--out", &text(&out.join("rest.json"))]);
    assert_eq!(said.code, Some(0), "{}", said.err);
}

#[test]
fn a_report_is_carried_back_from_a_running_site_and_from_one_at_rest() {
    let (site, desk) = (site(), tempfile::tempdir().unwrap());
    reports(&site, desk.path());
    let bundle: Value = serde_json::from_slice(&fs::read(desk.path().join("live.json")).unwrap()).unwrap();
    assert_eq!((bundle["format"].as_str(), bundle["version"].as_u64()), (Some("lamplighter.dev/report"), Some(1)));
    assert_eq!((bundle["site"].as_str(), bundle["running"].as_bool()), (Some("hall-7"), Some(true)));
    assert_eq!(bundle["gateways"][0]["versions"]["fw"], "2.0.0");
    let rows: Vec<_> = bundle["journal"].as_array().unwrap().iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert!(rows.contains(&"RolloutAccepted") && rows.contains(&"Updated"), "{rows:?}");

    let (live, rest) = (text(&desk.path().join("live.json")), text(&desk.path().join("rest.json")));
    let shown = run(&["report", &live, &rest]).good().replace(&text(desk.path()), "DESK");
    let made = |name: &str| {
        let bundle: Value = serde_json::from_slice(&fs::read(desk.path().join(name)).unwrap()).unwrap();
        bundle["madeAt"].as_str().unwrap().to_owned()
    };
    let shown =
        shown.replace(&made("live.json"), "2026-01-01T00:00:00Z").replace(&made("rest.json"), "2026-01-01T00:00:00Z");
    insta::assert_snapshot!(shown);
    let json: Value = serde_json::from_str(&run(&["report", "-o", "json", &live]).good()).unwrap();
    assert_eq!(json["reports"][0]["rollouts"][0]["summary"]["updated"], 1);
    assert_eq!(json["reports"][0]["drops"][0]["file"], "wait.yaml");

    // what is bad is said, and what is good is shown all the same
    let at = |name: &str| text(&desk.path().join(name));
    fs::write(at("newer.json"), r#"{"format": "lamplighter.dev/report", "version": 2, "other": "shape"}"#).unwrap();
    fs::write(at("notes.txt"), "milk, bread").unwrap();
    let whole = fs::read(&live).unwrap();
    fs::write(at("cut.json"), &whole[..whole.len() / 2]).unwrap();
    fs::write(at("holed.json"), r#"{"format": "lamplighter.dev/report", "version": 1}"#).unwrap();
    for (name, why) in [
        ("newer.json", "is a report of version 2, and this binary knows 1; use a newer lamplighter"),
        ("notes.txt", "is no report; `lamplighter drop report --out FILE` writes one"),
        ("cut.json", "is cut short"),
        ("holed.json", "is a report, but damaged or cut short"),
        ("none.json", "cannot be read"),
    ] {
        let said = run(&["report", &at(name), &live]);
        assert_eq!(said.code, Some(2), "{name}");
        assert!(said.err.contains(&format!("{}: {why}", at(name))), "{}", said.err);
        assert!(said.out.contains("hall-7"), "{name}");
    }
}

#[test]
fn one_drop_carries_a_file_for_each_type_of_hardware() {
    let (imx8, am62) = (firmware(93, 20_000), firmware(94, 30_000));
    let (site, stick) = (site(), tempfile::tempdir().unwrap());
    for (name, bytes) in [("imx8.swu", &imx8), ("am62.swu", &am62)] {
        fs::write(stick.path().join(name), bytes).unwrap();
    }
    let variant = |labels: &str, name: &str| format!("{labels}:{}", text(&stick.path().join(name)));
    let variants = [variant("soc=imx8", "imx8.swu"), variant("attr.lamplighter.dev/soc=am62", "am62.swu")];
    let make = |more: &[&str]| {
        let what = ["drop", "make", "--name", "press-fw", "--version", "2.0", "--selector", "line=3"];
        run(&[&what, more].concat())
    };
    make(&["--variant", &variants[0], "--variant", &variants[1]]).good();
    let manifest = stick.path().join("press-fw.yaml");
    let written = fs::read_to_string(&manifest).unwrap();
    insta::assert_snapshot!(written.replace(&digest(&imx8), "IMX8").replace(&digest(&am62), "AM62"), @r#"
    apiVersion: lamplighter.dev/v1alpha1
    kind: OtaRollout
    metadata:
      name: "press-fw"
    spec:
      artifact:
        name: "press-fw"
        version: "2.0"
        variants:
        - match: {matchLabels: {"soc":"imx8"}}
          sources: ["file:imx8.swu"]
          digest: sha256:IMX8
          sizeBytes: 20000
        - match: {matchLabels: {"attr.lamplighter.dev/soc":"am62"}}
          sources: ["file:am62.swu"]
          digest: sha256:AM62
          sizeBytes: 30000
      selector:
        matchLabels: {"line":"3"}
    "#);
    for name in ["imx8.swu", "am62.swu"] {
        let said = run(&["verify", &text(&stick.path().join(name))]).good();
        assert!(said.contains("ok: it is press-fw 2.0, as"), "{said}");
    }
    let artifact = text(&stick.path().join("imx8.swu"));
    for (more, why) in [
        (&["--variant", "imx8.swu"][..], "write KEY=VALUE:FILE"),
        (&[], "--artifact <FILE>"),
        (&["--artifact", &artifact, "--variant", &variants[0]], "cannot be used with"),
    ] {
        let said = make(more);
        assert_eq!(said.code, Some(2), "{more:?}");
        assert!(said.err.contains(why), "{more:?}: {}", said.err);
    }

    site.put("press-1.yaml", gateway("press-1", ""));
    site.put("press-2.yaml", gateway("press-2", "").replace("line: \"3\"", "line: \"3\", soc: imx8"));
    site.start();
    eventually("the directory is made", || site.path("drops").is_dir().then_some(()));
    let devices = [Device::new(&site, "press-1"), Device::new(&site, "press-2")];
    for device in &devices {
        assert_eq!(device.attributes(&json!({"press-fw": "1.0", "soc": "am62"})), 200);
    }
    fs::copy(&manifest, site.path("drops/press-fw.yaml")).unwrap();
    fs::copy(stick.path().join("am62.swu"), site.path("drops/am62.swu")).unwrap();
    until(&site, "press-fw", "Waiting", "imx8.swu is not here yet");
    fs::copy(stick.path().join("imx8.swu"), site.path("drops/imx8.swu")).unwrap();
    until(&site, "press-fw", "Accepted", "");
    let mut left: Vec<_> = devices.iter().zip([&am62, &imx8]).collect();
    // one of the two is the first wave
    let at = eventually("one is offered", || left.iter().position(|(device, _)| device.poll().is_some()));
    let (device, bytes) = left.remove(at);
    let order = device.fetch();
    assert!(device.download(&order, ALL) == *bytes);
    let status = site.cli(&["status", "-o", "json"]).good();
    let status: Value = serde_json::from_str(&status).unwrap();
    let variants = status["rollouts"][0]["artifact"]["variants"].as_array().unwrap().clone();
    let said: Vec<_> =
        variants.iter().map(|line| (line["state"].as_str().unwrap(), line["gateways"].as_u64())).collect();
    assert_eq!(said, [("Verified", Some(1)), ("Verified", Some(1))]);
    assert!(site.cli(&["why", "press-2"]).good().contains("variant   1"));
}
