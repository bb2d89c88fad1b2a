//! What a person sees on a terminal: widths, colours, and answers that are drawn again.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::device::{Device, Order};
use super::eventually;
use super::site::{Site, binary, firmware, gateway, rollout};
use super::wire::ALL;
use super::words::calm;

/// A command on a pseudo-terminal of so many columns, with 24 lines, after `settings` of the shell; `script` is on every
/// Debian.
fn on_terminal(columns: u16, settings: &str, site: &Site, args: &[&str]) -> Command {
    let mut line = format!("stty cols {columns} rows 24; {settings}\nexec {}", binary().get_program().display());
    let config = site.path("site.yaml").display().to_string();
    for arg in args.iter().copied().chain(["--config", &config]) {
        line += &format!(" '{arg}'");
    }
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm-256color");
    command
}

/// What it shows there.
fn shown(columns: u16, settings: &str, site: &Site, args: &[&str]) -> String {
    let output = on_terminal(columns, settings, site, args).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n");
    assert!(output.status.success(), "{text}");
    text
}

/// The same without colours, and no line wider than the terminal.
fn fits(columns: u16, (site, order): (&Site, &Order), args: &[&str]) -> String {
    let text = shown(columns, "export NO_COLOR=1; exec 2>/dev/null", site, args);
    for line in text.lines() {
        // a digest is in one piece, for whoever copies it
        let is_digest = line.split(' ').any(|word| word.len() > 64 && word.starts_with("sha256:"));
        assert!(line.chars().count() <= columns.into() || is_digest, "{columns} columns: {line:?}");
    }
    assert!(!text.contains('\u{1b}'), "{text:?}");
    // where a row is cut depends on the times in it
    let whole_words = |line: &str| match line.rsplit_once(' ') {
        Some((before, cut)) if line.starts_with("[time] ago") && cut.ends_with('…') => format!("{before} …\n"),
        _ => format!("{line}\n"),
    };
    calm(site, &text, &[order]).lines().map(whole_words).collect()
}

const GATEWAYS: [&str; 3] = ["press-1", CANARY, "press-of-hall-7-line-3-number-0002"];
/// By its place among them, which its controller id makes.
const CANARY: &str = "press-of-hall-7-line-3-number-0001";

/// A site with gateways in several states, long names, a refused manifest, and a rollout without gateways.
fn site_with_everything() -> (Site, Order) {
    let (fw, plc) = (firmware(70, 30_000), firmware(71, 40_000));
    let site = Site::new();
    site.configure("pollInterval: 1s, offlineAfter: 1m", "pollInterval: 60s, offlineAfter: 10m");
    site.declare(&GATEWAYS, &fw);
    site.put("plc.bin", &plc);
    let runtime = rollout("2026.11.30-rc.1+build.7", &plc, "").replace("press-fw", "plc-runtime-for-the-whole-hall");
    let runtime = runtime.replace("fw.bin", "plc.bin").replace("name: fw", "name: plc-runtime");
    site.put("plc.yaml", runtime.replace("\"3\"", "\"4\""));
    site.put("broken.yaml", gateway("press-9", "  hodl: true\n"));
    site.start();
    site.until_reason("WaveOpen");
    let first = |name: &&&str| site.ask(&format!("/v1/why/{name}"))["rollouts"][0]["wave"] == 1;
    let canary = GATEWAYS.iter().find(first).unwrap();
    assert_eq!(*canary, CANARY);
    // its update fails once; the other two have never polled
    let device = Device::new(&site, canary);
    device.report("1.0.0");
    let order = device.fetch();
    device.download(&order, ALL);
    assert_eq!(device.feedback(&order, "closed", "failure"), 200);
    site.until_step(canary, "Waiting Backoff");
    (site, order)
}

#[test]
fn every_answer_fits_the_terminal() {
    let (site, order) = site_with_everything();
    let commands: &[(&str, &[&str])] = &[
        ("status", &["status", "--gateways"]),
        ("why", &["why", CANARY]),
        ("why_rollout", &["why", "rollout/press-fw"]),
        ("plan", &["plan", "press-fw"]),
        ("artifacts", &["artifacts"]),
    ];
    for (name, args) in commands {
        for columns in [80, 40] {
            insta::assert_snapshot!(format!("{name}_{columns}"), fits(columns, (&site, &order), args));
        }
    }
    for columns in [200, 80, 40] {
        fits(columns, (&site, &order), &["journal"]);
        fits(columns, (&site, &order), &["verify", "--cache"]);
    }
    site.stop();
    insta::assert_snapshot!("status_at_rest_80", fits(80, (&site, &order), &["status"]));
    insta::assert_snapshot!("why_at_rest_40", fits(40, (&site, &order), &["why", CANARY]));
}

#[test]
fn colours_are_for_terminals_that_have_some_and_for_people_who_want_them() {
    let site = Site::with_one_gateway(&firmware(72, 1_000));
    let colours = |settings: &str| shown(80, settings, &site, &["status"]).contains("\u{1b}[1mROLLOUT\u{1b}[0m");
    assert!(colours(""));
    assert!(colours("export NO_COLOR="), "an empty value says nothing");
    assert!(!colours("export NO_COLOR=1"));
    assert!(!colours("export TERM=dumb"));
    assert!(!site.cli(&["status"]).good().contains('\u{1b}'), "no terminal, no colours");
}

#[test]
fn off_a_terminal_nothing_is_cut_and_lines_stay_whole() {
    let (site, _) = site_with_everything();
    let text = site.cli(&["status", "--gateways"]).good();
    for whole in
        ["plc-runtime-for-the-whole-hall  plc-runtime 2026.11.30-rc.1+build.7", "number-0002  ctl-press-of-hall-7"]
    {
        assert!(text.contains(whole), "{text}");
    }
    assert!(!text.contains('…') && !text.contains("not shown"), "{text}");
}

/// A command that goes on, and all that it printed so far.
struct Going {
    child: Child,
    printed: Arc<Mutex<Vec<u8>>>,
}

impl Going {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut out, printed) = (child.stdout.take().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let to = printed.clone();
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut chunk) {
                to.lock().unwrap().extend_from_slice(&chunk[..read]);
            }
        });
        Self { child, printed }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().unwrap()).replace("\r\n", "\n")
    }

    fn until(&self, words: &str) -> String {
        eventually(words, || Some(self.text()).filter(|text| text.contains(words)))
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn watched_on_a_terminal_it_draws_over_itself_and_gives_the_terminal_back() {
    let (site, _) = site_with_everything();
    let mut watch = Going::start(on_terminal(80, "", &site, &["status", "--gateways", "--watch"]));
    let (enter, leave) = ("\u{1b}[?1049h\u{1b}[?25l", "\u{1b}[?25h\u{1b}[?1049l");
    let text = watch.until("spec.hodl");
    assert!(text.starts_with(enter), "{text:?}");
    assert!(!text.contains("\u{1b}[2J"), "nothing is cleared, so nothing flickers");
    site.remove("broken.yaml");
    eventually("a frame without what was refused", || {
        watch.text().rsplit("\u{1b}[H").nth(1).filter(|frame| !frame.contains("spec.hodl")).map(drop)
    });
    // in frames of 24 lines nothing may scroll
    for frame in watch.text().split("\u{1b}[H").skip(1) {
        assert!(frame.matches('\n').count() < 24, "{frame}");
    }
    // Ctrl-C
    watch.child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    let code = eventually("its end", || watch.child.try_wait().unwrap()).code();
    assert_eq!(code, Some(0));
    eventually("the terminal is given back", || watch.text().trim_end().ends_with(leave).then_some(()));
}

#[test]
fn watched_off_a_terminal_each_change_is_a_block_or_an_object() {
    let site = Site::with_one_gateway(&firmware(73, 1_000));
    let config = site.path("site.yaml").display().to_string();
    let start = |output: &str| {
        let mut command = binary();
        command.args(["status", "--watch", "-o", output, "--config", &config]);
        Going::start(command)
    };
    let (text, json, yaml) = (start("text"), start("json"), start("yaml"));
    text.until("1 gateway, not polling");
    json.until("\n");
    yaml.until("polling: 0");
    Device::new(&site, "press-1").poll();
    text.until("1 gateway, polling");
    yaml.until("polling: 1");
    eventually("a line with the change", || json.text().lines().last()?.contains("\"polling\":1").then_some(()));
    site.kill();
    text.until("site hall-7 does not run");
    json.until("\"running\":false");
    let lines: Vec<Value> = json.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["running"], false);
    site.start();
    json.until("\"running\":true,\"siteFile\"");
    let blocks = text.text();
    assert!(blocks.starts_with("--- 20") && !blocks.contains('\u{1b}'), "{blocks}");
    for document in yaml.text().split("---\n").skip(1) {
        let value: Value = serde_yaml::from_str(document).unwrap();
        assert_eq!(value["site"], "hall-7");
    }
    // nothing is printed while nothing happens: a restarted site that is polled by nobody
    let lines = json.text().lines().count();
    assert!(lines < 30, "{}", json.text());
}

#[test]
fn what_is_printed_as_yaml_is_what_is_printed_as_json() {
    let (site, _) = site_with_everything();
    let lasting = |mut value: Value| {
        for key in ["clock", "counters", "siteFile", "savedAt"] {
            value.as_object_mut().unwrap().remove(key);
        }
        value
    };
    let check = [&site.path("manifests").display().to_string()];
    for at_rest in [false, true] {
        if at_rest {
            site.stop();
        }
        for args in [&["status", "--gateways"][..], &["artifacts"], &["verify", "--cache"]] {
            let said = |output| site.cli(&[args, &["-o", output]].concat()).good();
            let json: Value = serde_json::from_str(&said("json")).unwrap();
            let yaml: Value = serde_yaml::from_str(&said("yaml")).unwrap();
            assert_eq!(lasting(yaml), lasting(json.clone()), "{args:?}");
            if args[0] != "verify" {
                assert_eq!((&json["running"], json["savedAt"].is_string()), (&json!(!at_rest), at_rest), "{args:?}");
            }
        }
    }
    let checked = binary().args(["check", "-o", "yaml"]).args(check).output().unwrap();
    let checked: Value = serde_yaml::from_slice(&checked.stdout).unwrap();
    assert_eq!(checked["objects"].as_array().unwrap().len(), 6);
    let rows = binary().args(["journal", "-o", "yaml", "--config"]).arg(site.path("site.yaml")).output().unwrap();
    let rows = String::from_utf8(rows.stdout).unwrap();
    let first: Value = serde_yaml::from_str(rows.split("---\n").nth(1).unwrap()).unwrap();
    assert_eq!(first["seq"], 1);
}
