//! A disk that is full before a fetch, or gets full in its middle: a tmpfs in a mount namespace of the process.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::process::{Process, log, says, until, write_site};
use super::server::{Server, serve};
use super::{World, firmware, local, spec};
use crate::process::site::{Said, binary};

/// One byte more than a page, so that a tmpfs of one byte less is as many whole pages.
const SIZE: usize = (8 << 20) + 1;

/// Starts it with its cache on a disk of so many bytes.
fn start(dir: &Path, bytes: usize) -> Process {
    let cache = dir.join("artifacts");
    fs::create_dir_all(&cache).unwrap();
    Process::start_in_namespace(dir, &format!("mount -t tmpfs -o size={bytes} tmpfs \"$0\""), &cache)
}

#[tokio::test]
async fn a_disk_of_one_byte_less_than_the_artifact_is_named_and_it_comes_once_there_is_room() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let (dir, file) = (world.state.path(), bytes.clone());
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        let (spec, url) = (spec(&bytes, &[]), server.url("/os"));
        write_site(dir, "", "0", &[(&spec, &url)]);
        let process = start(dir, SIZE - 1);
        says(dir, &format!("has not the {SIZE} bytes free that are needed")).await;
        assert!(server.requests().is_empty(), "not a byte for nothing");
        let status = Said::of(binary().args(["status", "--state"]).arg(dir).output().unwrap()).good();
        assert!(status.contains("Stalled (ArtifactFailed)") && status.contains("tried again in"), "{status}");
        process.inside(&format!("mount -o remount,size={} {}", SIZE + (1 << 20), dir.join("artifacts").display()));
        until(dir, "the artifact", || process.sees(&world.file(&spec, "")).exists()).await;
        assert!(fs::read(process.sees(&world.file(&spec, ""))).unwrap() == bytes);
    })
    .await;
}

#[tokio::test]
async fn a_disk_that_gets_full_in_the_middle_costs_nothing_that_is_there() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(SIZE));
        let (dir, file) = (world.state.path(), bytes.clone());
        let (spec, part) = (spec(&bytes, &[]), std::rc::Rc::new(std::cell::RefCell::new(None)));
        let seen: std::rc::Rc<std::cell::RefCell<Option<std::path::PathBuf>>> = part.clone();
        let server = Server::start(move |_, request| {
            let part = seen.borrow().clone().unwrap();
            serve(request, &file, "\"a\"").ahead(part, 256 << 10)
        })
        .await;
        let url = server.url("/os");
        write_site(dir, "bytesPerSecond: 8Mi", "0", &[(&spec, &url)]);
        let process = start(dir, SIZE + (1 << 20));
        let there = process.sees(&world.file(&spec, ".part"));
        part.replace(Some(there.clone()));
        let length = || fs::metadata(&there).map_or(0, |part| part.len());
        until(dir, "a part", || length() > 2 << 20).await;
        let filler = process.sees(&dir.join("artifacts/filler"));
        let mut file = fs::File::create(&filler).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        drop(file);
        until(dir, "a reason", || {
            log(dir).contains("bytes free that are needed") || log(dir).contains("No space left")
        })
        .await;
        let kept = length();
        assert!(kept > 2 << 20, "{kept}");
        let status = Said::of(binary().args(["artifacts", "--state"]).arg(dir).output().unwrap()).good();
        assert!(status.contains("tried again"), "{status}");
        assert!(!process.sees(&world.file(&spec, "")).exists());
        fs::remove_file(filler).unwrap();
        until(dir, "the artifact", || process.sees(&world.file(&spec, "")).exists()).await;
        assert!(fs::read(process.sees(&world.file(&spec, ""))).unwrap() == bytes);
        let (sent, offset) = (server.sent(), server.requests().last().unwrap().offset());
        println!("{kept} kept, resumed at {offset:?}, {sent} sent for {SIZE}");
        assert!(offset.unwrap() as u64 >= kept && sent <= SIZE + (512 << 10), "{sent} of {SIZE}");
    })
    .await;
}
