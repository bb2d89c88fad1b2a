//! The real process, killed with SIGKILL in the middle of a fetch.

use super::process::{Process, until, write_site};
use super::server::{Server, serve};
use super::{World, firmware, local, spec};

#[tokio::test]
async fn killed_at_random_a_fetch_costs_hardly_a_byte_twice_and_never_brings_a_wrong_one() {
    local(async || {
        let size = 32 << 20;
        let bytes = firmware(size);
        for seed in 0..3 {
            let (world, file) = (World::new(), bytes.clone());
            let part = world.file(&spec(&bytes, &[]), ".part");
            let server =
                Server::start(move |_, request| serve(request, &file, "\"a\"").ahead(part.clone(), 256 << 10)).await;
            let url = server.url("/os.swu");
            let spec = spec(&bytes, std::slice::from_ref(&url));
            write_site(world.state.path(), "", "0", &[(&spec, &url)]);
            let at = fastrand::Rng::with_seed(seed).u64(1 << 20..size as u64 - (1 << 20));
            let process = Process::start(world.state.path());
            let came = || std::fs::metadata(world.file(&spec, ".part")).is_ok_and(|part| part.len() >= at);
            until(world.state.path(), "a part", came).await;
            drop(process);
            assert!(!world.file(&spec, "").exists());
            let _process = Process::start(world.state.path());
            until(world.state.path(), "the artifact", || world.file(&spec, "").exists()).await;
            assert!(std::fs::read(world.file(&spec, "")).unwrap() == bytes, "a wrong byte");
            let (sent, offset) = (server.sent(), server.requests()[1].offset());
            println!("killed at {at}, resumed at {offset:?}, {sent} bytes sent for {size}");
            assert!(sent * 100 <= size * 101, "{sent} of {size}");
        }
    })
    .await;
}

/// The server stops sending at each of them, so that the process is killed there.
#[tokio::test]
async fn killed_at_each_step_a_fetch_goes_on_where_it_was() {
    local(async || {
        let size: usize = 16 << 20;
        let bytes = firmware(size);
        for cut in [0, 1, size / 2, size - 1, size] {
            let (world, file) = (World::new(), bytes.clone());
            let dir = world.state.path();
            let server = Server::start(move |n, request| {
                let answer = serve(request, &file, "\"a\"");
                if n == 0 { answer.cut(cut).hang() } else { answer }
            })
            .await;
            let url = server.url("/os.swu");
            let spec = spec(&bytes, std::slice::from_ref(&url));
            write_site(dir, "", "0", &[(&spec, &url)]);
            let process = Process::start(dir);
            let length = || std::fs::metadata(world.file(&spec, ".part")).map_or(0, |part| part.len());
            // what is not on the disk yet is less than a piece
            let there = || length() + (128 << 10) > cut as u64 || world.file(&spec, "").exists();
            until(dir, "the bytes", || server.sent() >= cut && !server.requests().is_empty() && there()).await;
            drop(process);
            let _process = Process::start(dir);
            until(dir, "the artifact", || world.file(&spec, "").exists()).await;
            assert!(std::fs::read(world.file(&spec, "")).unwrap() == bytes, "a wrong byte");
            assert!(server.sent() * 100 <= size * 101, "killed at {cut}: {} of {size}", server.sent());
        }
    })
    .await;
}
