//! `lamplighter journal`: of a site that runs, that does not, and that comes back.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use lamplighter::model::{JournalEntry, SiteTime, What};
use lamplighter::store::{Batch, Directory};
use serde_json::Value;

use super::device::Device;
use super::site::{Said, Site, binary, firmware};

/// A site whose one gateway was updated.
fn updated_site() -> Site {
    let site = Site::with_one_gateway(&firmware(4, 3_000));
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    device.update("2.0.0");
    site.until_reason("Done");
    site
}

/// The same lines with a time and an action that do not change.
fn timeless(text: &str) -> String {
    let line = |line: &str| {
        let line = match line.split_once("Z  ") {
            Some((time, rest)) if time.starts_with("20") => format!("2026-01-02T03:04:05Z  {rest}"),
            _ => line.to_owned(),
        };
        match line.split_once("action ") {
            Some((before, _)) => format!("{before}action 1234567890\n"),
            None => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// Everything in a directory: names, and bytes of files.
fn everything(dir: &Path) -> Vec<(String, Option<Vec<u8>>)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut all: Vec<_> = entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).ok())).collect();
    all.sort();
    all
}

#[test]
fn the_story_of_a_gateway_is_the_same_from_the_site_and_from_the_store_it_left_behind() {
    let site = updated_site();
    let args = ["journal", "--gateway", "press-1", "--rollout", "press-fw"];
    let running = site.cli(&args).good();
    insta::assert_snapshot!(timeless(&running), @"
    TIME                  WHAT      ROLLOUT              GATEWAY  DETAIL
    2026-01-02T03:04:05Z  Offered   press-fw (fw 2.0.0)  press-1  action 1234567890
    2026-01-02T03:04:05Z  Fetched   press-fw (fw 2.0.0)  press-1  action 1234567890
    2026-01-02T03:04:05Z  Served    press-fw (fw 2.0.0)  press-1
    2026-01-02T03:04:05Z  Reported  press-fw (fw 2.0.0)  press-1  success
    2026-01-02T03:04:05Z  Updated   press-fw (fw 2.0.0)  press-1  the gateway reports the version
    ");
    let by_id = site.cli(&["journal", "--gateway", "ctl-press-1", "--what", "updated", "-o", "json"]).good();
    let row: Value = serde_json::from_str(&by_id).expect("one object on one line");
    let said = ["what", "rollout", "gateway", "controllerId"].map(|key| row[key].as_str().unwrap());
    assert_eq!(said, ["Updated", "press-fw (fw 2.0.0)", "press-1", "ctl-press-1"]);

    // killed: its store was not closed
    site.kill();
    let before = everything(&site.state());
    let at_rest = site.cli(&args);
    assert_eq!((at_rest.code, at_rest.out), (Some(0), running));
    let why = "lamplighter: site hall-7 does not run; this is what its store says as of 20";
    assert!(at_rest.err.starts_with(why), "{}", at_rest.err);
    assert!(everything(&site.state()) == before, "nothing was touched");
}

#[test]
fn a_filter_that_finds_nothing_says_so_and_a_wrong_one_names_the_right_ones() {
    let site = updated_site();
    let none = site.cli(&["journal", "--gateway", "press-2"]);
    let hint = "lamplighter: no such rows; leave a filter out to see more\n";
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (Some(0), "", hint));
    let wrong = site.cli(&["journal", "--what", "Update"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("AttemptFailed") && wrong.err.contains("similar"), "{}", wrong.err);
    assert_eq!(site.cli(&["journal", "--limit", "1001"]).code, Some(2));
    assert_eq!(site.ask("/v1/journal?limit=1001")["error"], "limit is 1 to 1000");
    let page = site.ask("/v1/journal?after=2&limit=1");
    assert_eq!((&page["rows"][0]["seq"], &page["last"]), (&3.into(), &3.into()), "{page}");
}

/// A `journal --follow` that is ended with its test.
struct Follower(Child);

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn following_goes_on_after_the_site_was_killed_and_started_again() {
    let site = Site::with_one_gateway(&firmware(5, 3_000));
    let mut command = binary();
    command.args(["journal", "--follow", "-o", "json", "--gateway", "press-1", "--state"]).arg(site.state());
    let mut follower = Follower(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut rows = BufReader::new(follower.0.stdout.take().unwrap()).lines();
    let mut until = |what: &str| loop {
        let row: Value = serde_json::from_str(&rows.next().expect("it goes on").unwrap()).unwrap();
        if row["what"] == what {
            break row["seq"].as_u64().unwrap();
        }
    };
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    let fetched = until("Fetched");

    site.kill();
    let mut words = BufReader::new(follower.0.stderr.take().unwrap()).lines();
    let waiting = "lamplighter: the site does not run; waiting for it";
    assert!(words.any(|line| line.unwrap() == waiting));
    site.start();
    device.download(&order, u64::MAX);
    assert!(until("Served") > fetched);
}

#[test]
fn all_rows_are_read_page_by_page() {
    let site = Site::new();
    let directory = Directory::lock(&site.state()).unwrap();
    let (mut db, _) = directory.open().unwrap();
    let row = |n: u64| JournalEntry {
        at: SiteTime(n),
        wall: None,
        what: if n.is_multiple_of(2) { What::Offered } else { What::Withdrawn },
        rollout: None,
        gateway: None,
        service: None,
        detail: if n == 2_500 { "with\na \u{1b}[31mcolour".into() } else { String::new() },
    };
    db.commit(&Batch { journal: (1..=2_500).map(row).collect(), ..Batch::default() }).unwrap();
    drop((db, directory));

    let count = |args: &[&str]| site.cli(args).out.lines().count();
    assert_eq!(count(&["journal", "--all", "-o", "json"]), 2_500);
    assert_eq!(count(&["journal", "--all", "-o", "json", "--what", "offered"]), 1_250);
    assert_eq!(count(&["journal"]), 51);
    let last = site.cli(&["journal", "--limit", "1"]).out;
    insta::assert_snapshot!(last, @"
    TIME      WHAT     ROLLOUT  GATEWAY  DETAIL
    no clock  Offered  -        -        with a  [31mcolour
    ");
}

#[test]
fn whoever_reads_only_the_beginning_is_no_error() {
    let mut child =
        binary().args(["completions", "bash"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

#[test]
fn a_site_that_never_was_and_a_store_that_is_none_are_told_apart() {
    let site = Site::new();
    let nothing = site.cli(&["journal"]);
    let why = format!(
        "lamplighter: no site runs on {}, and there is no store in it; is `--config` or `--state` the one of your site? \
         `lamplighter run` starts it\n",
        site.state().display()
    );
    assert_eq!((nothing.code, nothing.err), (Some(1), why));

    fs::create_dir(site.state()).unwrap();
    fs::write(site.state().join("store.redb"), vec![7; 100_000]).unwrap();
    let garbled = site.cli(&["artifacts"]);
    assert_eq!((garbled.code, garbled.out.as_str()), (Some(1), ""));
    assert!(garbled.err.starts_with("lamplighter: the store is damaged: "), "{}", garbled.err);
    assert!(garbled.err.ends_with("`lamplighter run` sets it aside, keeps its bytes and goes on\n"), "{}", garbled.err);
    assert_eq!(fs::read_dir(site.state()).unwrap().count(), 1, "nothing was set aside");

    fs::write(site.path("site.yaml"), "kind: SiteConfig").unwrap();
    assert_eq!(site.cli(&["journal"]).code, Some(2), "a bad site file is bad input");
}
