//! A gateway: a real SWUpdate, and a directory that plays its flash.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::{sleep, until};

/// How it names itself; `firmware-samples/gateway.sh` says the same.
pub const ID: &str = "sample-gateway";

/// One gateway.
pub struct Gateway {
    dir: PathBuf,
    url: String,
    reports_version: bool,
    /// Its authority and its token, if it does not have the usual ones.
    pub environment: Vec<(&'static str, String)>,
    process: Option<Child>,
}

impl Gateway {
    /// A gateway that is switched off and will look for its site at `url`. One with a
    /// version reports what it runs; one without never reports a version.
    pub fn new(dir: &Path, url: String, version: Option<&str>) -> Self {
        let dir = dir.join("gateway");
        fs::create_dir_all(&dir).unwrap();
        if let Some(version) = version {
            fs::write(dir.join("version"), version).unwrap();
        }
        Self { dir, url, reports_version: version.is_some(), environment: Vec::new(), process: None }
    }

    /// Builds the firmware for this very gateway, with its manifests, into `out`.
    pub fn build_firmware(&self, version: &str, out: &Path) {
        self.build_large_firmware(version, 262_144, out);
    }

    /// The same, of so many bytes.
    pub fn build_large_firmware(&self, version: &str, bytes: usize, out: &Path) {
        let build = sample("build.sh")
            .env("SAMPLE_BYTES", bytes.to_string())
            .arg(out)
            .arg(version)
            .arg(&self.dir)
            .output()
            .unwrap();
        assert!(build.status.success(), "build.sh: {}", String::from_utf8_lossy(&build.stderr));
    }

    /// Switches it on.
    pub fn boot(&mut self) {
        self.start(&[]);
    }

    /// Waits until it has installed something, then reboots into it: the new system came up well and says so.
    pub async fn reboot_after_installing(&mut self) {
        until(async || (self.installs() > 0).then_some(())).await;
        // It asks for its reboot a moment later; if it never does, somebody pulls the plug.
        for _ in 0..100 {
            if self.dir.join("run/reboot").exists() {
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
        self.power_off();
        if !self.reports_version {
            fs::remove_file(self.dir.join("version")).unwrap();
        }
        self.boot_after_update();
    }

    /// Switches it on with what its boot loader remembers after an update: it tries a new system, and it came up well.
    pub fn boot_after_update(&mut self) {
        self.start(&["-c", "2", "-m", "1"]);
    }

    /// How often a firmware was installed.
    pub fn installs(&self) -> usize {
        fs::read_to_string(self.dir.join("installs")).unwrap_or_default().lines().count()
    }

    /// The version it runs, if it was installed by the update client.
    pub fn installed_version(&self) -> Option<String> {
        Some(fs::read_to_string(self.dir.join("installs")).ok()?.lines().last()?.to_owned())
    }

    /// What SWUpdate said, all boots together.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    fn start(&mut self, options: &[&str]) {
        let log = fs::File::options().create(true).append(true).open(self.dir.join("log")).unwrap();
        let process = sample("gateway.sh")
            .arg(&self.url)
            .arg(&self.dir)
            .args(options)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        self.process = Some(process);
    }

    /// Ends SWUpdate and the processes it started: they are one process group.
    pub fn power_off(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = kill_process_group(Pid::from_child(&process), Signal::KILL);
            process.wait().unwrap();
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.power_off();
    }
}

/// Declares it, without anything for it to do.
pub fn declare(manifests: &Path) {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware-samples/gateway.yaml");
    fs::copy(sample, manifests.join("gateway.yaml")).unwrap();
}

fn sample(script: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("firmware-samples").join(script))
}
