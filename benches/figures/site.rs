//! A site in a temporary directory, run by the release binary.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use lamplighter::model::Digest;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::process::Process;
use crate::tls::Pair;

/// A site that does not serve by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running site, killed with this value.
pub struct Site {
    dir: TempDir,
    binary: PathBuf,
    child: Child,
    pub devices: SocketAddr,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Site {
    /// A new site with so many gateways, at the moment it serves.
    pub fn start(binary: &Path, gateways: usize) -> Self {
        Self::with(binary, gateways, "", &[])
    }

    /// The same with more in `devices` of its site file, and more files in its manifest directory.
    pub fn with(binary: &Path, gateways: usize, more: &str, files: &[(&str, &[u8])]) -> Self {
        Self::serving(binary, gateways, &format!("insecure: true, {more}"), files)
    }

    /// The same over TLS, if there is something to prove itself with.
    pub fn over(tls: Option<&Pair>, binary: &Path, gateways: usize, files: &[(&str, &[u8])]) -> Self {
        let Some(tls) = tls else { return Self::with(binary, gateways, "", files) };
        let (certificate, key) = (tls.certificate(), tls.key());
        let more = format!("tls: {{certificate: {}, key: {}}},", certificate.display(), key.display());
        Self::serving(binary, gateways, &more, files)
    }

    fn serving(binary: &Path, gateways: usize, more: &str, files: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let manifests = dir.path().join("manifests");
        fs::create_dir(&manifests).unwrap();
        fs::write(manifests.join("gateways.yaml"), (0..gateways).map(manifest).collect::<String>()).unwrap();
        let devices = SocketAddr::from(([127, 0, 0, 1], 0));
        for (name, content) in files {
            fs::write(manifests.join(name), content).unwrap();
        }
        write_site_file(dir.path(), devices, more);
        let mut site = Self { child: spawn(binary, dir.path()), dir, binary: binary.into(), devices };
        site.devices = site.endpoints();
        // from now on at the same place
        write_site_file(site.dir.path(), site.devices, more);
        site
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    /// Starts it again, without waiting for anything.
    pub fn start_again(&mut self) {
        self.child = spawn(&self.binary, self.dir.path());
    }

    pub fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// A counter of `GET /v1/status`.
    pub fn counter(&self, name: &str) -> f64 {
        counters(&self.dir.path().join("state/control.sock")).unwrap()[name].as_f64().unwrap()
    }

    /// What `/metrics` says.
    pub fn scrape(&self) -> String {
        let file = self.dir.path().join("state/endpoints.json");
        let endpoints: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let address = endpoints["metrics"].as_str().unwrap().trim_start_matches("http://");
        let request = "GET /metrics HTTP/1.1\r\nHost: site\r\n\r\n";
        let answer = exchange(TcpStream::connect(address).ok(), request).unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Puts a file into the manifest directory.
    pub fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.dir.path().join("manifests").join(name), content).unwrap();
    }

    /// Waits until everything that it has to write is written.
    pub fn settle(&self) {
        let mut before = -1.0;
        while self.counter("commits") > before {
            before = self.counter("commits");
            sleep(Duration::from_millis(500));
        }
    }

    fn endpoints(&self) -> SocketAddr {
        let (file, pid) = (self.dir.path().join("state/endpoints.json"), self.child.id());
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            let endpoints: Value =
                fs::read(&file).ok().and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default();
            if endpoints["pid"] == pid {
                let devices = endpoints["devices"].as_str().unwrap();
                return devices.split_once("://").unwrap().1.parse().unwrap();
            }
            sleep(Duration::from_millis(5));
        }
        panic!("the site does not start: {}", fs::read_to_string(self.dir.path().join("site.log")).unwrap_or_default());
    }
}

fn spawn(binary: &Path, dir: &Path) -> Child {
    let log = fs::File::create(dir.join("site.log")).unwrap();
    let mut command = Command::new(binary);
    command.arg("run").arg("--config").arg(dir.join("site.yaml"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn write_site_file(dir: &Path, listen: SocketAddr, more: &str) {
    let (state, manifests) = (dir.join("state"), dir.join("manifests"));
    let text = format!(
        "apiVersion: lamplighter.dev/v1alpha1
kind: SiteConfig
site: measured
state: {}
intake: {{manifests: [{}]}}
devices: {{listen: \"{listen}\", {more} pollInterval: 60s}}
limits: {{maxInFlight: 1000}}
metrics: {{listen: \"127.0.0.1:0\"}}
",
        state.display(),
        manifests.display(),
    );
    fs::create_dir_all(state).unwrap();
    fs::write(dir.join("site.yaml"), text).unwrap();
}

fn manifest(number: usize) -> String {
    let hash = Digest::new(Sha256::digest(token(number)).into()).hex();
    format!(
        "---
apiVersion: lamplighter.dev/v1alpha1
kind: EdgeGateway
metadata: {{name: {}, labels: {{site: measured}}}}
spec: {{auth: {{tokenSha256: {hash}}}}}
",
        name(number)
    )
}

pub fn name(number: usize) -> String {
    format!("gateway-{number:03}")
}

pub fn token(number: usize) -> String {
    format!("token-of-{number}")
}

/// Polls once, over a connection of its own; false if nobody answered with an order or none.
pub fn poll(devices: SocketAddr, number: usize) -> bool {
    let mut request = format!("GET /DEFAULT/controller/v1/{} HTTP/1.1\r\nHost: site\r\n", name(number));
    write!(request, "Authorization: TargetToken {}\r\nConnection: close\r\n\r\n", token(number)).unwrap();
    exchange(TcpStream::connect(devices).ok(), &request).is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// What a site says that it did, if it answers.
pub fn counters(socket: &Path) -> Option<Value> {
    let request = "GET /v1/status HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n";
    let answer = exchange(std::os::unix::net::UnixStream::connect(socket).ok(), request)?;
    let status: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
    Some(status["counters"].clone())
}

fn exchange(stream: Option<impl Read + Write>, request: &str) -> Option<String> {
    let mut stream = stream?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
