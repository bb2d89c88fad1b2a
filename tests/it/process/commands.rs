//! The command line: exit codes, what is said when something is wrong, pipes that close, and the log.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lamplighter::site::Endpoints;
use serde_json::Value;

use super::device::Device;
use super::eventually;
use super::site::{Said, Site, TOKEN, binary, digest, firmware, rollout, try_ask};
use super::wire::{ALL, Request, exchange};

fn said(args: &[&str]) -> Said {
    Said::of(binary().args(args).output().unwrap())
}

fn in_tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn a_gateway_that_nobody_declared_is_exit_code_1_with_a_hint() {
    let site = Site::with_one_gateway(&firmware(40, 1_000));
    let why = site.cli(&["why", "press 9/../x"]);
    let hint = "lamplighter: there is no gateway \"press 9/../x\"; `lamplighter status --gateways` lists them\n";
    assert_eq!((why.code, why.out.as_str(), why.err.as_str()), (Some(1), "", hint));
}

#[test]
fn without_a_site_every_question_is_exit_code_1_and_says_where_it_looked() {
    let site = Site::new();
    let questions = [&["status"][..], &["status", "--watch"], &["why", "press-1"], &["journal"], &["artifacts"]];
    for args in questions {
        let said = site.cli(args);
        let start = format!("lamplighter: no site runs on {}, and there is no store in it; ", site.state().display());
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
        assert!(said.err.starts_with(&start) && said.err.ends_with("`lamplighter run` starts it\n"), "{said:?}");
    }
    let said = site.cli(&["resume"]);
    let start = format!("lamplighter: cannot reach the site at {}: ", Endpoints::control(&site.state()).display());
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
    assert!(said.err.starts_with(&start), "{said:?}");
    assert!(said.err.ends_with("is `lamplighter run` running with this site file?\n"), "{said:?}");
}

#[test]
fn a_site_file_that_is_wrong_is_exit_code_2_with_file_and_field() {
    let site = Site::new();
    site.configure("pollInterval", "pollIntervall");
    for args in [&["run"][..], &["status"], &["why", "press-1"], &["resume"]] {
        let said = site.cli(args);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        let start = format!("lamplighter: {}: devices.pollIntervall: ", site.path("site.yaml").display());
        assert!(said.err.starts_with(&start) && said.err.contains("did you mean pollInterval?"), "{said:?}");
        assert_eq!(said.err.lines().count(), 1, "{said:?}");
    }
    assert!(!site.state().exists(), "nothing was started");
    let missing = said(&["status", "--config", "/nowhere/site.yaml"]);
    assert_eq!(missing.code, Some(2), "{missing:?}");
    assert!(missing.err.starts_with("lamplighter: /nowhere/site.yaml: cannot be read: "), "{missing:?}");
}

#[test]
fn flags_and_commands_that_nobody_knows_are_exit_code_2() {
    for args in [&["status", "--gatways"][..], &["stats"], &["why"], &["run", "--listen", "here"], &[]] {
        let said = said(args);
        assert_eq!(said.code, Some(2), "{args:?} {said:?}");
        assert!(said.out.is_empty() && said.err.contains("--help"), "{said:?}");
    }
    assert_eq!(said(&["--version"]).good(), format!("lamplighter {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn exit_codes_are_0_for_done_1_for_refused_or_failed_and_2_for_bad_input() {
    let firmware = firmware(44, 1_000);
    let site = Site::with_one_gateway(&firmware);
    eventually("it is cached", || site.ask("/v1/artifacts").to_string().contains("Verified").then_some(()));
    let path = |name: &str| site.path(name).display().to_string();
    let (manifests, good, man) = (path("manifests"), path("manifests/fw.bin"), path("man1"));
    fs::write(site.path("alone.bin"), b"no rollout means it").unwrap();
    fs::write(site.path("bad.yaml"), "remember: to ask about press 2\n").unwrap();
    let (alone, bad) = (path("alone.bin"), path("bad.yaml"));
    let about_it = |args: &[&str], code: i32| {
        let said = site.cli(args);
        assert_eq!(said.code, Some(code), "{args:?} {said:?}");
        // whoever is refused hears where to go on
        let hint = ["`", "--help", "stop it"].iter().any(|hint| said.err.contains(hint));
        assert!(code == 0 || hint, "{args:?} {said:?}");
    };
    let anyhow = |args: &[&str], code: i32| assert_eq!(said(args).code, Some(code), "{args:?} {:?}", said(args));
    for args in [&["status"][..], &["status", "-g", "-o", "yaml"], &["why", "press-1"], &["journal"], &["artifacts"]] {
        about_it(args, 0);
    }
    for args in [&["verify", "--cache"][..], &["verify", &good], &["resume"], &["journal", "--what", "Failed"]] {
        about_it(args, 0);
    }
    let manifest = path("manifests/press-fw.yaml");
    for args in
        [&["plan"][..], &["plan", "press-fw", "-o", "yaml"], &["plan", "-f", &manifest], &["why", "rollout/press-fw"]]
    {
        about_it(args, 0);
    }
    for args in
        [&["hold", "press-1"][..], &["unhold", "press-1"], &["retry", "press-fw"], &["journal", "--since", "1h"]]
    {
        about_it(args, 0);
    }
    for args in [&["hold", "nobody"][..], &["pause", "nobody"], &["plan", "nobody"], &["why", "rollout/nobody"]] {
        about_it(args, 1);
    }
    about_it(&["why", "nobody"], 1);
    about_it(&["run", "--state", &path("state")], 1);
    anyhow(&["check", &manifests], 0);
    for args in [&["crds"][..], &["completions", "zsh"], &["man", "--dir", &man], &["--version"], &["help", "status"]] {
        anyhow(args, 0);
    }
    anyhow(&["check", &manifests, &bad], 1);
    anyhow(&["verify", &alone], 1);
    anyhow(&["crds", "--dir", "/dev/null/crds"], 1);
    anyhow(&["man", "--dir", "/dev/null/man1"], 1);
    for args in [
        &["status", "-o", "xml"][..],
        &["journal", "--limit", "0"],
        &["journal", "--what", "Nothing"],
        &["journal", "--since", "noon"],
    ] {
        about_it(args, 2);
    }
    for args in [&["check", "/nowhere"][..], &["verify", "/nowhere"], &["verify"], &["completions", "csh"], &["man"]] {
        anyhow(args, 2);
    }
    for args in [
        &["simulate", "--gateways", "0"][..],
        &["run", "--config", "/nowhere"],
        &["verify", "--cache", "--state", "/nowhere"],
    ] {
        anyhow(args, 2);
    }

    site.kill();
    for args in [&["status"][..], &["why", "press-1"], &["journal"], &["artifacts"], &["verify", "--cache"]] {
        about_it(args, 0);
    }
    for args in [&["why", "nobody"][..], &["resume"]] {
        about_it(args, 1);
    }
    let cached = site.state().join("artifacts/sha256").join(digest(&firmware));
    fs::write(cached, b"other bytes").unwrap();
    assert_eq!(site.cli(&["verify", "--cache"]).code, Some(1));
}

/// The writing end of a pipe whose reader is gone.
fn read_by_nobody() -> Stdio {
    let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let pipe = reader.stdin.take().unwrap();
    reader.wait().unwrap();
    pipe.into()
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let site = Site::with_one_gateway(&firmware(41, 1_000));
    let (config, manifests) =
        (site.path("site.yaml").display().to_string(), site.path("manifests").display().to_string());
    let commands: &[&[&str]] = &[
        &["status", "--gateways", "--config", &config],
        &["status", "-o", "json", "--config", &config],
        &["status", "-o", "yaml", "--config", &config],
        &["status", "--watch", "--config", &config],
        &["status", "--watch", "-o", "json", "--config", &config],
        &["artifacts", "--config", &config],
        &["journal", "--config", &config],
        &["why", "press-1", "--config", &config],
        &["why", "press-1", "-o", "json", "--config", &config],
        &["check", &manifests],
        &["check", "-o", "json", &manifests],
        &["resume", "--config", &config],
        &["crds"],
        &["--help"],
    ];
    for args in commands {
        let said = Said::of(binary().args(*args).stdout(read_by_nobody()).stderr(Stdio::piped()).output().unwrap());
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{args:?}");
    }
    let code = binary().args(["status", "--config", "/nowhere"]).stderr(read_by_nobody()).status().unwrap().code();
    assert_eq!(code, Some(2), "nobody hears the complaint");
}

#[test]
fn a_site_whose_log_nobody_reads_any_more_goes_on() {
    let site = Site::new();
    let mut child = binary().args(site.run_args()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    log.read_line(&mut String::new()).unwrap();
    drop(log);
    let control = Endpoints::control(&site.state());
    eventually("it serves", || try_ask(&control, "/v1/status").ok());
    // a new rollout writes to the log
    site.put("press-fw.yaml", rollout("2.0.0", b"no such file", ""));
    let accepted = || try_ask(&control, "/v1/status").ok()?["rollouts"].get(0).map(|_| ());
    eventually("it says that the rollout was accepted", accepted);
    assert!(child.try_wait().unwrap().is_none());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_json_log_has_an_object_per_line_and_no_token_is_ever_seen() {
    let firmware = firmware(42, 10_000);
    let site = Site::with_one_gateway(&firmware);
    site.stop();
    site.flags.replace(vec!["--log-format", "json"]);
    site.log_everything.set(true);
    fs::remove_file(site.path("log")).unwrap();
    site.start();
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    let wrong = [("Authorization", "TargetToken another-token-that-must-never-be-seen")];
    let request = Request("GET", "/DEFAULT/controller/v1/ctl-press-1", &wrong, b"");
    assert_eq!(exchange(TcpStream::connect(site.address()).unwrap(), &request, ALL).unwrap().status, 401);
    site.until_reason("Done");
    site.stop();

    let log = site.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = |key: &str, value: &str| lines.iter().any(|line| line[key] == value && line["level"] == "INFO");
    assert!(said("message", "running") && said("what", "Updated") && said("message", "stopping"), "{log}");
    assert!(lines.iter().all(|line| line["timestamp"].is_string()), "{log}");
    site.start();
    let mut shown = log + &site.cli(&["status", "--gateways", "-o", "json"]).good();
    shown += &site.cli(&["why", "press-1", "-o", "json"]).good();
    for secret in [TOKEN, "another-token", &digest(TOKEN.as_bytes())] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

#[test]
fn the_printed_crds_are_those_of_the_tree() {
    let mut files: Vec<_> = fs::read_dir(in_tree("crds")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some());
    files.sort();
    let whole = files.iter().map(|file| "---\n".to_owned() + &fs::read_to_string(file).unwrap()).collect::<String>();
    assert_eq!(said(&["crds"]).good(), whole);
}

#[test]
fn the_firmware_samples_pass_the_check() {
    let dir = tempfile::tempdir().unwrap();
    let image = firmware(43, 5_000);
    let rollout = fs::read_to_string(in_tree("firmware-samples/rollout.yaml.in")).unwrap();
    let rollout = rollout.replace("@VERSION@", "2.0.0").replace("@SIZE@", "5000");
    let rollout = rollout.replace("@DIGEST@", &format!("sha256:{}", digest(&image)));
    fs::write(dir.path().join("rollout.yaml"), rollout).unwrap();
    let mut args = vec!["check".to_owned(), "--poll-interval".into(), "2s".into()];
    let samples = [
        dir.path().join("rollout.yaml"),
        in_tree("firmware-samples/gateway.yaml"),
        in_tree("firmware-samples/site.yaml"),
    ];
    args.extend(samples.iter().map(|file| file.display().to_string()));
    let said = said(&args.iter().map(String::as_str).collect::<Vec<_>>()).good();
    assert_eq!(said.lines().filter(|line| line.ends_with(" ok")).count(), 3, "{said}");
}
