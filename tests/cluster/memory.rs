//! What following an API server costs the binary that is shipped. `tests/memory/run.sh` runs this with it.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use crate::hall::Hall;

/// In KiB, as design decisions and `docs/measurements.md` have them: 8 MB and 2.5 MB.
const RSS: u64 = 7_812;
const RSS_ANON: u64 = 2_441;

#[test]
#[ignore = "about the static binary, which LAMPLIGHTER names"]
fn a_site_at_rest_that_follows_an_api_server_keeps_its_budget() {
    let hall = Hall::new();
    sleep(Duration::from_secs(5));
    let status = fs::read_to_string(format!("/proc/{}/status", hall.pid())).unwrap();
    let figure = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim_end_matches("kB").trim().parse().unwrap()
    };
    let (rss, anon) = (figure("VmRSS"), figure("RssAnon"));
    println!("memory: following an API server: idle RSS: {rss} KiB of {RSS}; idle RssAnon: {anon} KiB of {RSS_ANON}");
    assert!(rss <= RSS && anon <= RSS_ANON);
}
