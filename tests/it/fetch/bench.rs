//! Figures: memory while two gigabytes come, and what hashing costs. `cargo test --profile bench --test it fetch::bench -- --ignored`.

use std::process::Command;
use std::time::Duration;

use super::server::{Answer, Server};
use super::{World, local};
use lamplighter::artifact::Cache;
use lamplighter::model::{ArtifactKey, ArtifactSpec, Source};

fn cpu() -> Duration {
    let usage = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::from_secs(usage.tv_sec.unsigned_abs()) + Duration::from_nanos(usage.tv_nsec.unsigned_abs())
}

fn kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The children's CPU time, user and system, from `times` of the shell that ran them.
fn cpu_of_children(script: &str) -> Duration {
    let out = Command::new("bash").args(["-c", &format!("{{ {script}; }} >/dev/null; times")]).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let seconds = |text: &str| {
        let (minutes, seconds) = text.strip_suffix('s').unwrap().split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    Duration::from_secs_f64(text.lines().nth(1).unwrap().split(' ').map(seconds).sum())
}

#[test]
#[ignore = "a figure, and only in a release build"]
fn three_hashes_in_one_pass_against_three_programs() {
    let world = World::new();
    let file = world.state.path().join("os.swu");
    std::fs::write(&file, super::firmware(512 << 20)).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let mut spec = super::spec(&bytes, &[]);
    drop(bytes);
    spec.sources = vec![Source::File { dir: world.state.path().to_owned(), name: "os.swu".into() }];
    let cache = Cache::open(world.state.path(), 0).unwrap();
    cache.copy_in(&spec, world.state.path(), "os.swu").unwrap();
    let before = cpu();
    cache.verify(&spec.key.digest, spec.size).unwrap();
    let ours = cpu().saturating_sub(before);
    let path = file.display();
    let theirs = cpu_of_children(&format!("sha256sum {path}; sha1sum {path}; md5sum {path}"));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("hashing 512 MiB: {ours:?} in one pass, {theirs:?} with three programs, ratio {ratio:.2}");
    assert!(ratio <= 1.2);
}

#[tokio::test]
#[ignore = "a figure: moves two gigabytes"]
async fn memory_is_flat_while_two_gigabytes_come() {
    local(async || {
        // `head -c 2G /dev/zero | sha256sum`
        let digest = "sha256:a7c744c13cc101ed66c29f672f92455547889cc586ce6d44fe76ae824958ea51";
        let size: u64 = 2 << 30;
        let piece = vec![0_u8; 1 << 20];
        let server = Server::start(move |_, _| Answer {
            head: format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {size}\r\n"),
            body: piece.clone(),
            repeat: 2048,
            ..Answer::bare("", &[], b"")
        })
        .await;
        let spec = ArtifactSpec {
            key: ArtifactKey { name: "os".into(), version: "2".parse().unwrap(), digest: digest.parse().unwrap() },
            size,
            sources: vec![Source::Http { url: server.url("/os").parse().unwrap() }],
        };
        let world = World::new();
        let (rss, anon, cpu_before) = (kib("VmRSS"), kib("RssAnon"), cpu());
        let mut running = world.start(&spec);
        let (mut most_anon, mut at_half) = (0, 0);
        let fact = loop {
            tokio::select! {
                fact = running.next() => break fact,
                () = tokio::time::sleep(Duration::from_millis(50)) => {
                    most_anon = most_anon.max(kib("RssAnon"));
                    if running.keeper.fetching(&spec.key.digest).unwrap_or(0) < size / 10 {
                        at_half = most_anon;
                    }
                }
            }
        };
        println!("{fact:?}\nbefore: RSS {rss} KiB, RssAnon {anon} KiB; first tenth {at_half}, most {most_anon} KiB, peak {} KiB; CPU {:?}", kib("VmHWM"), cpu().saturating_sub(cpu_before));
        assert!(most_anon < at_half + 2048, "memory grows with the artifact");
    })
    .await;
}
