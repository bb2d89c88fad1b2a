//! The real process, killed with SIGKILL in the middle of a fetch.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::server::{Server, serve};
use super::{World, firmware, local, spec};
use lamplighter::model::ArtifactSpec;

/// Ends with the test.
struct Process(Child);

impl Process {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lamplighter"));
        command.args(["run", "--config"]).arg(dir.join("site.yaml")).stdin(Stdio::null());
        let log = std::fs::OpenOptions::new().create(true).append(true).open(dir.join("log")).unwrap();
        Self(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn write_site(dir: &Path, spec: &ArtifactSpec, url: &str) {
    std::fs::create_dir_all(dir.join("manifests")).unwrap();
    let site = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: killed\nstate: .\nintake: {manifests: [manifests]}\n\
                devices: {listen: \"127.0.0.1:0\", insecure: true}\nlimits: {diskReserve: 0}\n";
    std::fs::write(dir.join("site.yaml"), site).unwrap();
    let rollout = format!(
        "apiVersion: lamplighter.dev/v1alpha1\nkind: OtaRollout\nmetadata: {{name: os}}\nspec:\n  artifact: {{name: os, version: \"2\", \
         sources: [\"{url}\"], digest: \"{}\", sizeBytes: {}}}\n  selector: {{matchLabels: {{line: a}}}}\n---\n\
         apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {{name: gw, labels: {{line: a}}}}\nspec: {{}}\n",
        spec.key.digest, spec.size
    );
    std::fs::write(dir.join("manifests/os.yaml"), rollout).unwrap();
}

#[tokio::test]
async fn killed_at_random_a_fetch_costs_hardly_a_byte_twice_and_never_brings_a_wrong_one() {
    local(async || {
        let size = 32 << 20;
        let bytes = firmware(size);
        for seed in 0..3 {
            let (world, file) = (World::new(), bytes.clone());
            // Slower than the process reads, so that little is on its way, and thus lost, when it is killed.
            let piece = (64 << 10, Duration::from_millis(8));
            let server = Server::start(move |_, request| serve(request, &file, "\"a\"").slow(piece.0, piece.1)).await;
            let url = server.url("/os.swu");
            let spec = spec(&bytes, std::slice::from_ref(&url));
            write_site(world.state.path(), &spec, &url);
            let at = fastrand::Rng::with_seed(seed).u64(1 << 20..size as u64 - (1 << 20));
            let process = Process::start(world.state.path());
            until(|| std::fs::metadata(world.file(&spec, ".part")).is_ok_and(|part| part.len() >= at), &world).await;
            drop(process);
            assert!(!world.file(&spec, "").exists());
            let _process = Process::start(world.state.path());
            until(|| world.file(&spec, "").exists(), &world).await;
            assert!(std::fs::read(world.file(&spec, "")).unwrap() == bytes, "a wrong byte");
            let (sent, offset) = (server.sent(), server.requests()[1].offset());
            println!("killed at {at}, resumed at {offset:?}, {sent} bytes sent for {size}");
            assert!(sent * 100 <= size * 101, "{sent} of {size}");
        }
    })
    .await;
}

async fn until(mut done: impl FnMut() -> bool, world: &World) {
    for _ in 0..12_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not come to pass: {}", std::fs::read_to_string(world.state.path().join("log")).unwrap_or_default());
}
