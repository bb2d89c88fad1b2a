//! The archive, unpacked, and commands in it as a container runtime would start them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Whose the process is in the manifests, and in the image.
pub const USER: u32 = 65532;
/// The limit in the manifests.
const MEMORY: u32 = 16 << 20;

/// An image's file system.
pub struct Unpacked {
    dir: TempDir,
    pub config: Value,
    pub name: String,
    /// A cgroup of its own with the memory limit, where this machine has such.
    group: Option<PathBuf>,
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

fn unpack(archive: &Path, into: &Path) {
    fs::create_dir_all(into).unwrap();
    let tar = Command::new("tar").arg("-xpf").arg(archive).arg("-C").arg(into).status().unwrap();
    assert!(tar.success(), "{}", archive.display());
}

impl Unpacked {
    pub fn new() -> Self {
        let archive =
            std::env::var_os("LAMPLIGHTER_IMAGE").expect("`make test-image` names the archive in LAMPLIGHTER_IMAGE");
        let dir = TempDir::new().unwrap();
        let layout = dir.path().join("layout");
        unpack(Path::new(&archive), &layout);
        let blob = |of: &Value| layout.join("blobs").join(of["digest"].as_str().unwrap().replace(':', "/"));
        let index = json(&layout.join("index.json"));
        let manifest = json(&blob(&index["manifests"][0]));
        for layer in manifest["layers"].as_array().unwrap() {
            unpack(&blob(layer), &dir.path().join("root"));
        }
        // where a runtime mounts, it makes a place first
        for place in ["proc", "etc/lamplighter"] {
            fs::create_dir_all(dir.path().join("root").join(place)).unwrap();
        }
        let name = index["manifests"][0]["annotations"]["io.containerd.image.name"].as_str().unwrap().to_owned();
        Self { config: json(&blob(&manifest["config"])), name, group: limited(dir.path()), dir }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    /// Every file in it, sorted.
    pub fn files(&self) -> Vec<String> {
        let list = Command::new("find").args([".", "-type", "f", "-printf", "%P\n"]).current_dir(self.root()).output();
        let mut files: Vec<String> =
            String::from_utf8(list.unwrap().stdout).unwrap().lines().map(str::to_owned).collect();
        files.sort();
        files
    }

    /// The entrypoint with these arguments, by the image's user, without a privilege, on a read-only root, with a site's
    /// directory at `/etc/lamplighter` of which only the state may be written.
    pub fn command(&self, site: &Path, args: &[&str]) -> Command {
        let script = r#"set -e
            [ -z "$GROUP" ] || echo $$ >"$GROUP/cgroup.procs"
            mount --make-rprivate /
            mount --bind "$ROOT" "$ROOT"
            mount -t proc proc "$ROOT/proc"
            mount --bind "$SITE" "$ROOT/etc/lamplighter"
            mount -o remount,bind,ro "$ROOT/etc/lamplighter"
            [ ! -d "$SITE/state" ] || mount --bind "$SITE/state" "$ROOT/etc/lamplighter/state"
            mount -o remount,bind,ro "$ROOT"
            cd /
            exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin setpriv --no-new-privs chroot --userspec="$OWNER" "$ROOT" "$@""#;
        let entrypoint = self.config["config"]["Entrypoint"][0].as_str().unwrap();
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "--", "unshare", "--mount", "bash", "-c", script, "-", entrypoint])
            .args(args);
        command
            .env("ROOT", self.root())
            .env("SITE", site)
            .env("OWNER", self.config["config"]["User"].as_str().unwrap());
        command.env("GROUP", self.group.clone().unwrap_or_default()).stdin(Stdio::null());
        command
    }

    /// How often the kernel killed something for its memory.
    pub fn oom_kills(&self) -> u64 {
        let Some(group) = &self.group else { return 0 };
        let read = |name| fs::read_to_string(group.join(name)).ok();
        let text = read("memory.oom_control").or_else(|| read("memory.events")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.unwrap().parse().unwrap()
    }
}

/// Makes a cgroup with the limit, in version 1 or 2.
fn limited(dir: &Path) -> Option<PathBuf> {
    let name = format!("lamplighter-{}", dir.file_name().unwrap().to_string_lossy().trim_start_matches('.'));
    let (one, two) = (Path::new("/sys/fs/cgroup/memory"), Path::new("/sys/fs/cgroup"));
    let (parent, limit) = if one.exists() { (one, "memory.limit_in_bytes") } else { (two, "memory.max") };
    let group = parent.join(name);
    let made = fs::create_dir(&group).and_then(|()| fs::write(group.join(limit), MEMORY.to_string()));
    match made {
        Ok(()) => Some(group),
        Err(error) => {
            eprintln!("no memory limit on this machine: {}: {error}", group.display());
            None
        }
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            let _ = fs::remove_dir(group);
        }
    }
}
