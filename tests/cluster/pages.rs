//! The pages for people, followed to the letter.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::{Cluster, programs};
use crate::eventually;
use crate::hall::Hall;
use crate::site::{TOKEN, binary, digest, firmware};

/// A page, and how it is read here.
pub struct Page(String);

impl Page {
    pub fn read(name: &str) -> Self {
        Self(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)).unwrap())
    }

    /// The one block that has this word.
    pub fn block(&self, word: &str) -> &str {
        let blocks = self.0.split("```").skip(1).step_by(2).filter(|block| block.contains(word));
        let [block] = blocks.collect::<Vec<_>>()[..] else { panic!("not one block has {word}") };
        block.split_once('\n').unwrap().1
    }
}

/// Runs commands by a shell as the administrator of a cluster, in a directory.
pub fn follow(commands: &str, cluster: &Cluster, directory: &Path) {
    let ours = Path::new(binary().get_program()).parent().unwrap().to_owned();
    let path = format!("{}:{}:{}", ours.display(), programs().display(), std::env::var("PATH").unwrap());
    let ended = Command::new("bash")
        .args(["-euo", "pipefail", "-c", commands])
        .env("PATH", path)
        .env("KUBECONFIG", cluster.kubeconfig("admin", "token: admin-token"))
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{commands}: {}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn the_first_rollout_by_kubectl_and_the_next_one_by_a_file() {
    let (page, dir) = (Page::read("first-rollout.md"), TempDir::new().unwrap());
    let hall = Hall::new();
    hall.stop();
    hall.configure("intake: {", &format!("intake: {{drops: {}, ", hall.path("drops").display()));
    hall.start();
    for (version, seed) in [("2.0", 1), ("2.1", 2)] {
        fs::write(dir.path().join(format!("press-{version}.swu")), firmware(seed, 30_000)).unwrap();
    }
    hall.put("press-2.0.swu", firmware(1, 30_000));
    let token = format!("controllerId: ctl-press-1\n  auth: {{tokenSha256: {}}}", digest(TOKEN.as_bytes()));
    let gateway = page.block("kind: EdgeGateway").replace("controllerId: ctl-press-1", &token);
    fs::write(dir.path().join("press-1.yaml"), gateway).unwrap();

    follow(page.block("kubectl apply"), &hall.cluster, dir.path());
    let press = hall.device("press-1");
    press.report("1.0");
    let order = press.fetch();
    press.download(&order, u64::MAX);
    press.feedback(&order, "closed", "success");
    press.attributes(&serde_json::json!({"press-fw": "2.0"}));
    hall.until_step("press-1", "Updated");
    hall.cluster.until("ota/press-fw", "Ready", "False Soaking");

    let drops = hall.path("drops").display().to_string();
    let commands = page.block("press-2.1.swu").replace("/var/lib/lamplighter/drops", &drops);
    follow(&commands, &hall.cluster, dir.path());
    let status = hall.path("drops/press-2.1.status.json");
    eventually("the drop is accepted", || {
        let said: Value = serde_json::from_str(&fs::read_to_string(&status).ok()?).ok()?;
        assert_ne!(said["state"], "Rejected", "{said}");
        (said["state"] == "Accepted").then_some(())
    });
    assert_eq!(hall.rollout()["name"], "press-fw-by-hand");
}
