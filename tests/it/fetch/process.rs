//! The real process as a fetch meets it, started by whatever makes its surroundings: a namespace, an environment.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lamplighter::model::ArtifactSpec;

/// Ends with the test.
pub struct Process(Child);

impl Process {
    pub fn start(dir: &Path) -> Self {
        Self::start_in(dir, &[], &[])
    }

    /// `before` is a command line that ends by becoming the process; the environment has no proxy but these.
    pub fn start_in(dir: &Path, before: &[&str], environment: &[(&str, &str)]) -> Self {
        let binary = env!("CARGO_BIN_EXE_lamplighter");
        let mut words = before.iter().copied().chain([binary, "run", "--config"]);
        let mut command = Command::new(words.next().unwrap());
        command.args(words).arg(dir.join("site.yaml")).stdin(Stdio::null());
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"] {
            command.env_remove(name).env_remove(name.to_lowercase());
        }
        command.envs(environment.iter().copied());
        let log = std::fs::OpenOptions::new().create(true).append(true).open(dir.join("log")).unwrap();
        Self(command.stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// By a shell in a mount namespace of its own, after this script; `$0` is its first word.
    pub fn start_in_namespace(dir: &Path, script: &str, word: &Path) -> Self {
        let allowed = Command::new("unshare").args(["--mount", "true"]).status();
        let may = allowed.as_ref().is_ok_and(std::process::ExitStatus::success);
        assert!(
            may,
            "this test mounts in a namespace of its own: it needs root, and `unshare` of util-linux ({allowed:?})"
        );
        let script = format!("{script} && exec \"$@\"");
        Self::start_in(dir, &["unshare", "--mount", "sh", "-c", &script, word.to_str().unwrap()], &[])
    }

    /// Where a path of its namespace is seen from here.
    pub fn sees(&self, path: &Path) -> std::path::PathBuf {
        format!("/proc/{}/root{}", self.0.id(), path.display()).into()
    }

    /// Runs a command in its mount namespace.
    pub fn inside(&self, command: &str) {
        let pid = self.0.id().to_string();
        let done = Command::new("nsenter").args(["--mount", "--target", &pid, "sh", "-c", command]).status().unwrap();
        assert!(done.success(), "{command}: {done}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A site that wants these, each by a rollout of its own; `uplink` and `reserve` are for the site file.
pub fn write_site(dir: &Path, uplink: &str, reserve: &str, wanted: &[(&ArtifactSpec, &str)]) {
    std::fs::create_dir_all(dir.join("manifests")).unwrap();
    let site = format!(
        "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: fetch\nstate: .\nintake: {{manifests: [manifests]}}\n\
         devices: {{listen: \"127.0.0.1:0\", insecure: true}}\nlimits: {{diskReserve: {reserve}, maxInFlight: 500}}\nuplink: {{{uplink}}}\nmetrics: {{listen: off}}\n"
    );
    std::fs::write(dir.join("site.yaml"), site).unwrap();
    let mut manifest = String::from(
        "apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {name: gw, labels: {line: a}}\nspec: {}\n",
    );
    for (at, (spec, url)) in wanted.iter().enumerate() {
        write!(
            manifest,
            "---\napiVersion: lamplighter.dev/v1alpha1\nkind: OtaRollout\nmetadata: {{name: os-{at}}}\nspec:\n  artifact: \
             {{name: os-{at}, version: \"2\", sources: [\"{url}\"], digest: \"{}\", sizeBytes: {}}}\n  selector: \
             {{matchLabels: {{line: a}}}}\n",
            spec.key.digest, spec.size
        )
        .unwrap();
    }
    std::fs::write(dir.join("manifests/all.yaml"), manifest).unwrap();
}

/// Waits for something, on a machine that may be slow; what the process logged is told if it never comes.
pub async fn until(dir: &Path, what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..24_000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}\n{}", log(dir));
}

pub fn log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("log")).unwrap_or_default()
}

/// Waits until it logs this.
pub async fn says(dir: &Path, words: &str) {
    until(dir, words, || log(dir).contains(words)).await;
}
