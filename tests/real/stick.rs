//! A USB stick: a vfat image, plugged in by a loop mount, with the drop of a firmware for a real SWUpdate on it.
//!
//! A kernel without vfat, as in some containers, cannot mount it. Then the files come out of the same image by mtools, which
//! is said loudly: what is not tested there is the kernel's own view of a stick, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::fault::Plan;
use crate::gateway;
use crate::site::binary;
use crate::{Lab, PATIENCE, ends, sleep, until};

/// A stick with files on it.
struct Stick {
    image: PathBuf,
    at: PathBuf,
}

/// A stick that is plugged in: its files lie in `dir` until it is dropped.
struct Plugged {
    dir: PathBuf,
    mounted: bool,
}

impl Stick {
    /// Formats one and puts the files of a directory on it.
    fn new(dir: &Path, files: &Path) -> Self {
        let (image, at) = (dir.join("stick.img"), dir.join("stick"));
        fs::File::create(&image).unwrap().set_len(8 << 20).unwrap();
        run(Command::new("mkfs.vfat").arg("-n").arg("DROPS").arg(&image));
        for file in fs::read_dir(files).unwrap() {
            run(Command::new("mcopy").arg("-m").arg("-i").arg(&image).arg(file.unwrap().path()).arg("::"));
        }
        fs::create_dir(&at).unwrap();
        Self { image, at }
    }

    fn plug_in(&self) -> Plugged {
        let mounted =
            Command::new("mount").args(["-t", "vfat", "-o", "loop,ro"]).arg(&self.image).arg(&self.at).output();
        let mounted = mounted.unwrap();
        if !mounted.status.success() {
            eprintln!(
                "== NO VFAT HERE: the stick is read by mtools instead of being mounted ({})",
                String::from_utf8_lossy(&mounted.stderr).trim()
            );
            run(Command::new("mcopy").arg("-m").arg("-n").arg("-i").arg(&self.image).arg("::*").arg(&self.at));
        }
        Plugged { dir: self.at.clone(), mounted: mounted.status.success() }
    }
}

impl Drop for Plugged {
    fn drop(&mut self) {
        if self.mounted {
            // at once, whatever is being read: it is pulled out
            let _ = Command::new("umount").arg("-l").arg(&self.dir).status();
        } else if let Ok(files) = fs::read_dir(&self.dir) {
            files.flatten().for_each(|file| _ = fs::remove_file(file.path()));
        }
    }
}

/// Runs a tool that lies where only root looks.
fn run(command: &mut Command) {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let output = command.env("PATH", path).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What the result beside a drop says.
fn result(drops: &Path, stem: &str) -> Option<(String, String)> {
    let bytes = fs::read(drops.join(format!("{stem}.status.json"))).ok()?;
    let result: Value = serde_json::from_slice(&bytes).expect("a result is whole at any time");
    Some((result["state"].as_str()?.to_owned(), result["message"].as_str()?.to_owned()))
}

async fn until_result(drops: &Path, stem: &str, state: &str, says: &str) {
    let mut last = None;
    let waiting = until(async || {
        last = result(drops, stem);
        last.as_ref().is_some_and(|(is, message)| is == state && message.contains(says)).then_some(())
    });
    assert!(timeout(PATIENCE, waiting).await.is_ok(), "never {state}: {says}, but {last:?}");
}

#[tokio::test]
async fn a_stick_that_is_pulled_out_half_way_and_plugged_in_again_updates_the_gateway() {
    ends(async {
        let mut lab = Lab::new("2s", Some("1.0.0"), Plan::Quiet).await;
        let stage = lab.dir.join("stage");
        lab.gateway.build_firmware("2.0.0", &stage);
        let image = stage.join("gateway-os-2.0.0.swu");
        run(Command::new(binary())
            .args(["drop", "make", "--name", "gateway-os", "--version", "2.0.0", "--selector", "line=sample"])
            .arg("--artifact")
            .arg(&image)
            .args(["--force", "--out"])
            .arg(stage.join("rollout.yaml")));
        let stick = Stick::new(&lab.dir, &stage);
        let drops = lab.site.lock().await.drops();
        lab.gateway.boot();

        // the manifests and half of the firmware are copied when somebody pulls it out
        let plugged = stick.plug_in();
        for name in ["rollout.yaml", "gateway.yaml"] {
            fs::copy(plugged.dir.join(name), drops.join(name)).unwrap();
        }
        let bytes = fs::read(plugged.dir.join("gateway-os-2.0.0.swu")).unwrap();
        fs::write(drops.join("gateway-os-2.0.0.swu"), &bytes[..bytes.len() / 2]).unwrap();
        drop(plugged);
        until_result(&drops, "rollout", "Waiting", "gateway-os: 13").await;
        until_result(&drops, "gateway", "Accepted", "its gateways are known now").await;
        sleep(Duration::from_secs(3)).await;
        assert_eq!(lab.gateway.installs(), 0, "nothing is acted on");

        // once more, and under the name that another stick gave it
        let plugged = stick.plug_in();
        fs::copy(plugged.dir.join("gateway-os-2.0.0.swu"), drops.join("GATEWA~1.SWU")).unwrap();
        drop(plugged);
        until_result(&drops, "rollout", "Accepted", "gateway-os: ").await;
        for name in ["rollout.yaml", "gateway-os-2.0.0.swu", "GATEWA~1.SWU"] {
            fs::remove_file(drops.join(name)).unwrap();
        }
        let updated = timeout(PATIENCE, async {
            lab.gateway.reboot_after_installing().await;
            until(async || lab.updated().await.then_some(())).await;
        });
        assert!(updated.await.is_ok(), "the update did not end. {}", lab.story().await);
        assert_eq!(lab.gateway.installed_version().as_deref(), Some("2.0.0"));
        assert_eq!(lab.gateway.installs(), 1);
        assert_eq!(lab.site.lock().await.step(gateway::ID).await.as_deref(), Some("Updated"));
    })
    .await;
}
