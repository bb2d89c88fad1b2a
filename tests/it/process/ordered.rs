//! Orders on the spot over the control socket: what they say, who gave them, and that they are kept.

use lamplighter::site::Endpoints;
use serde_json::{Value, json};

use super::device::Device;
use super::site::{Said, Site, binary, firmware, gateway, rollout};
use super::words::calm;

/// What a person does and reads, as a transcript, with whoever runs this called alice.
fn transcript(site: &Site, commands: &[&[&str]]) -> String {
    let said = commands.iter().map(|args| {
        let Said { code, out, err } = site.cli(args);
        assert_eq!(code, Some(i32::from(!err.is_empty())), "{args:?}: {out}{err}");
        format!("$ lamplighter {}\n{out}{err}\n", args.join(" "))
    });
    calm(site, &said.collect::<String>().replace(&me(), "alice (uid 1000)"), &[])
}

/// Who runs this, as the site should call them.
fn me() -> String {
    let id = |flag: &str| {
        let output = std::process::Command::new("id").arg(flag).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    format!("{} (uid {})", id("-un"), id("-u"))
}

fn json_of(site: &Site, args: &[&str]) -> Value {
    serde_json::from_str(&site.cli(args).good()).unwrap()
}

#[test]
fn orders_in_words() {
    let site = Site::with_gateways(&["press-1", "press-2"], &firmware(90, 10_000));
    site.until_step("press-1", "Waiting Offline");
    let said = transcript(
        &site,
        &[
            &["pause", "press-fw", "--reason", "the press is hot"],
            &["pause", "press-fw"],
            &["hold", "press-2", "--reason", "acceptance test"],
            &["hold", "ctl-press-2"],
            &["pause", "pres-fw"],
            &["hold", "press-3"],
            &["hold", "robot"],
            &["retry", "press-fw", "press-1"],
            &["resume"],
            &["resume", "press-fw"],
            &["resume", "press-fw"],
            &["unhold", "press-2"],
            &["unhold", "press-2"],
            &["unhold", "press-2", "--repaired"],
            &["cancel", "press-fw", "--reason", "wrong file"],
            &["cancel", "press-fw"],
            &["resume", "press-fw"],
        ],
    );
    insta::assert_snapshot!(said);
}

#[test]
fn a_spec_that_says_the_same_is_named_and_left_alone() {
    let site = Site::new();
    let firmware = firmware(91, 10_000);
    site.declare(&["press-1"], &firmware);
    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  paused: true\n"));
    site.put("press-1.yaml", gateway("press-1", "  hold: true\n"));
    site.start();
    site.until_step("press-1", "Waiting Held");
    let said = transcript(
        &site,
        &[
            &["resume", "press-fw"],
            &["unhold", "press-1"],
            &["pause", "press-fw"],
            &["hold", "press-1"],
            &["resume", "press-fw"],
            &["unhold", "press-1"],
        ],
    );
    insta::assert_snapshot!(said);
    assert_eq!(site.step("press-1"), "Waiting Held");
}

#[test]
fn an_order_that_was_answered_survives_kill_9_and_says_whose_it_is() {
    let firmware = firmware(92, 10_000);
    let site = Site::with_gateways(&["press-1", "press-2"], &firmware);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    site.cli(&["pause", "press-fw", "--reason", "the press is hot"]).good();
    site.kill_and_restart();
    site.cli(&["hold", "press-1"]).good();
    site.kill();
    let at_rest = site.cli(&["status"]).good();
    assert!(at_rest.contains(&format!("pause press-fw, by {}", me())), "{at_rest}");
    site.start();

    let reason = site.until_reason("Paused");
    assert!(reason["message"].as_str().unwrap().contains(&format!("paused on the spot by {}", me())), "{reason}");
    let status = json_of(&site, &["status", "-o", "json"]);
    assert_eq!(status["ordersTotal"], 2);
    let pause = status["orders"].as_array().unwrap().iter().find(|order| order["order"] == "pause").unwrap().clone();
    assert_eq!((&pause["rollout"], &pause["reason"]), (&json!("press-fw"), &json!("the press is hot")));
    assert_eq!(pause["by"], me());
    assert!(pause["since"].as_str().unwrap().ends_with('Z'), "{pause}");
    let why = json_of(&site, &["why", "press-1", "-o", "json"]);
    assert_eq!((&why["hold"], &why["holds"][0]["by"]), (&json!(true), &json!(me())));
    assert_eq!(why["holds"][0]["lift"], "`lamplighter unhold press-1`");
    let text = site.cli(&["why", "press-2"]).good();
    assert!(text.contains("  paused    by ") && text.contains("`lamplighter resume press-fw`"), "{text}");

    // the hub says go, and another version
    site.put("press-fw.yaml", rollout("2.1.0", &firmware, "  paused: false\n"));
    super::eventually("the new version", || {
        let rollout = site.rollout();
        (rollout["artifact"]["version"] == "2.1.0" && rollout["reason"] == "Paused").then_some(())
    });
    site.cli(&["unhold", "press-1"]).good();
    assert_eq!(site.step("press-1"), "Waiting Paused");
    let rows = json_of(&site, &["journal", "--what", "Ordered", "--limit", "1", "-o", "json"]);
    assert_eq!((&rows["gateway"], &rows["controllerId"]), (&json!("press-1"), &json!("ctl-press-1")));
}

#[test]
fn answers_for_scripts_say_what_changed() {
    let site = Site::with_one_gateway(&firmware(93, 10_000));
    let done = json_of(&site, &["pause", "press-fw", "-o", "json"]);
    assert_eq!(
        (&done["order"], &done["rollout"], &done["changed"]),
        (&json!("pause"), &json!("press-fw"), &json!(true))
    );
    assert_eq!(done["by"], me());
    assert_eq!(json_of(&site, &["pause", "press-fw", "-o", "json"])["changed"], false);
    assert_eq!(json_of(&site, &["retry", "press-fw", "-o", "json"])["changed"], false);
    assert_eq!(json_of(&site, &["hold", "press-1", "-o", "json"])["gateways"], json!(["press-1"]));
}

#[test]
fn the_socket_refuses_what_is_no_order_and_says_why() {
    let site = Site::with_one_gateway(&firmware(94, 10_000));
    let long = "x".repeat(201);
    for (args, why) in [
        (&["pause", "press-fw", "--reason", &long][..], "has more than 200 characters"),
        (&["retry", "press-fw", "press-9"], "there is no gateway \"press-9\"; did you mean press-1"),
        (&["plan", "press-x"], "there is no rollout \"press-x\"; did you mean press-fw? `lamplighter status`"),
        (&["why", "rollout/pres-fw"], "there is no rollout \"pres-fw\"; did you mean press-fw?"),
    ] {
        let said = site.cli(args);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{args:?} {said:?}");
        assert!(said.err.contains(why), "{said:?}");
    }
    let post = |body: &str| {
        use super::wire::{ALL, PATIENCE, Request, exchange};
        let stream = std::os::unix::net::UnixStream::connect(Endpoints::control(&site.state())).unwrap();
        stream.set_read_timeout(PATIENCE).unwrap();
        exchange(stream, &Request("POST", "/v1/orders", &[("Host", "localhost")], body.as_bytes()), ALL).unwrap().status
    };
    for body in ["", "{}", "[]", r#"{"order":"explode"}"#, r#"{"order":"pause"}"#, r#"{"order":"hold","gateway":1}"#] {
        assert_eq!(post(body), 400, "{body}");
    }
    assert_eq!(json_of(&site, &["status", "-o", "json"])["ordersTotal"], 0);
    for args in [&["pause"][..], &["hold"], &["cancel"], &["unhold"], &["retry"], &["plan", "press-fw", "-f", "x"]] {
        assert_eq!(site.cli(args).code, Some(2), "{args:?}");
    }
    site.kill();
    for args in [&["pause", "press-fw"][..], &["hold", "press-1"], &["plan", "-f", "/dev/null"]] {
        let code = site.cli(args).code;
        assert!(matches!(code, Some(1 | 2)), "{args:?} {code:?}");
    }
}

#[test]
fn a_plan_of_a_manifest_that_was_not_given_changes_nothing() {
    let firmware = firmware(95, 10_000);
    let site = Site::with_gateways(&["press-1", "press-2", "press-3"], &firmware);
    site.until_reason("WaveOpen");
    let before = site.ask("/v1/status")["counters"]["commits"].clone();
    let other = rollout("3.0.0", b"another firmware", "").replace("press-fw", "press-next");
    std::fs::write(site.path("next.yaml"), &other).unwrap();
    let next = site.path("next.yaml").display().to_string();
    let plans = json_of(&site, &["plan", "-f", &next, "-o", "json"]);
    let plan = &plans["plans"][0];
    assert_eq!(
        (&plan["rollout"], &plan["gateways"], &plan["frozen"]),
        (&json!("press-next"), &json!(3), &json!(false))
    );
    assert_eq!(plan["maxInFlight"], json!({"says": "2", "count": 2}));
    assert_eq!(plan["holds"], "ArtifactNotVerified");
    assert_eq!(plan["waves"][0]["members"].as_array().unwrap().len(), 1);
    assert_eq!(plan["waves"][1]["members"].as_array().unwrap().len(), 2);
    assert_eq!(plan["waves"][1]["members"][0]["then"], "Offline");
    assert_eq!(plan["takesOver"], json!([{"rollout": "press-fw", "gateways": 3}]));
    insta::assert_snapshot!(calm(&site, &site.cli(&["plan", "-f", &next]).good(), &[]));
    assert_eq!(site.ask("/v1/status")["counters"]["commits"], before, "nothing is committed");
    assert_eq!(site.ask("/v1/status")["rollouts"].as_array().unwrap().len(), 1);

    std::fs::write(site.path("next.yaml"), other.replace("sizeBytes", "sizeByte")).unwrap();
    let refused = site.cli(&["plan", "-f", &next]);
    assert_eq!((refused.code, refused.err.as_str()), (Some(1), ""));
    assert!(refused.out.contains("would be refused:") && refused.out.contains("sizeBytes"), "{}", refused.out);
    let missing = Said::of(binary().args(["plan", "-f", "/nowhere"]).output().unwrap());
    assert_eq!(missing.code, Some(2), "{missing:?}");
}

#[test]
fn what_failed_begins_again_on_a_persons_word() {
    let firmware = firmware(96, 10_000);
    let site = Site::new();
    site.declare(&["press-1"], &firmware);
    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  attempts: 1\n"));
    site.start();
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    device.download(&order, super::wire::ALL);
    assert_eq!(device.feedback(&order, "closed", "failure"), 200);
    site.until_reason("FailureLimit");
    let said = site.cli(&["retry", "press-fw"]).good();
    assert_eq!(said, "1 gateway of press-fw begins again: press-1\n");
    device.update("2.0.0");
    site.until_reason("Done");
}

#[test]
fn approvals_in_words() {
    let firmware = firmware(97, 10_000);
    let site = Site::new();
    site.declare(&["press-1", "press-2"], &firmware);
    let waves =
        "{size: 1, soak: 1s, name: bench, approval: Manual}, {size: \"100%\", soak: 1s, name: hall, approval: Manual}";
    let manual = rollout("2.0.0", &firmware, "").replace("{size: 1, soak: 1s}, {size: \"100%\", soak: 1s}", waves);
    site.put("press-fw.yaml", manual);
    site.start();
    site.until_reason("WaitingForApproval");
    let said = transcript(
        &site,
        &[
            &["approve", "press-fw", "hull"],
            &["approve", "press-fw"],
            &["approve", "press-fw"],
            &["approve", "press-fw", "bench"],
            &["approve", "press-fw", "--all"],
            &["approve", "press-fw", "--all"],
        ],
    );
    insta::assert_snapshot!(said);
    site.kill_and_restart();
    let plans = json_of(&site, &["plan", "-o", "json"]);
    assert!(plans["plans"][0]["waves"][1].get("needsApproval").is_none(), "{plans}");
}
