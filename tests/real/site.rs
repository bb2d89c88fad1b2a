//! The Lamplighter under test: the real binary as a process of its own, which may be killed and started again.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{sleep, until};

/// The binary; `LAMPLIGHTER=…` names another one, such as the release build.
pub fn binary() -> PathBuf {
    std::env::var_os("LAMPLIGHTER").map_or_else(|| env!("CARGO_BIN_EXE_lamplighter").into(), PathBuf::from)
}

/// A site in a directory of its own.
pub struct Site {
    dir: PathBuf,
    poll_interval: &'static str,
    secured: bool,
    devices: Option<SocketAddr>,
    process: Option<Child>,
    starts: u32,
}

impl Site {
    /// Starts a new site under `dir` on a free port, which it keeps from then on.
    pub async fn start(dir: &Path, poll_interval: &'static str) -> Self {
        Self::launched(dir, poll_interval, false).await
    }

    /// The same over TLS, with what `lamplighter init` makes.
    pub async fn start_secured(dir: &Path, poll_interval: &'static str) -> Self {
        Self::launched(dir, poll_interval, true).await
    }

    async fn launched(dir: &Path, poll_interval: &'static str, secured: bool) -> Self {
        let dir = dir.join("site");
        fs::create_dir_all(dir.join("manifests")).unwrap();
        fs::create_dir_all(dir.join("drops")).unwrap();
        if secured {
            let init =
                Command::new(binary()).args(["init", "--host", "127.0.0.1", "--dir"]).arg(&dir).output().unwrap();
            assert!(init.status.success(), "{init:?}");
        }
        let mut site = Self { dir, poll_interval, secured, devices: None, process: None, starts: 0 };
        site.launch().await;
        site
    }

    /// The authority that gateways trust.
    pub fn authority(&self) -> PathBuf {
        self.dir.join("tls/ca.crt")
    }

    /// The token that a gateway signs in with.
    pub fn token(&self, gateway: &str) -> String {
        let config = self.dir.join("site.yaml");
        let said = Command::new(binary()).args(["token", gateway, "--config"]).arg(config).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    /// Where orders are put.
    pub fn manifests(&self) -> PathBuf {
        self.dir.join("manifests")
    }

    /// Where people put drops.
    pub fn drops(&self) -> PathBuf {
        self.dir.join("drops")
    }

    /// Where gateways find it; the same after each restart.
    pub fn devices(&self) -> SocketAddr {
        self.devices.unwrap()
    }

    /// How often it was started.
    pub fn starts(&self) -> u32 {
        self.starts
    }

    /// Ends it as a power cut would, and starts it again on what is on the disk.
    pub async fn kill_and_restart(&mut self) {
        self.kill();
        self.launch().await;
    }

    /// Asks it to stop, as a service manager would, and expects a clean end.
    pub async fn stop(&mut self) {
        let mut process = self.process.take().unwrap();
        kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
        let status = until(async || process.try_wait().unwrap()).await;
        assert!(status.success(), "{status}; {}", self.log());
    }

    /// The step of a gateway's member, once the site knows the gateway and it is a member.
    pub async fn step(&self, gateway: &str) -> Option<String> {
        self.gateway(gateway).await?["member"]["step"].as_str().map(str::to_owned)
    }

    /// The id of a gateway's order, open or closed.
    pub async fn order(&self, gateway: &str) -> Option<i64> {
        self.gateway(gateway).await?["member"]["action"].as_i64()
    }

    /// Does a gateway poll?
    pub async fn hears(&self, gateway: &str) -> bool {
        self.gateway(gateway).await.is_some_and(|gateway| gateway["presence"] == "Polling")
    }

    /// What it says of a gateway, once it knows it.
    async fn gateway(&self, gateway: &str) -> Option<Value> {
        let mut status = self.get("/v1/gateways").await?;
        let gateways = status["gateways"].as_array_mut().expect("a list of gateways");
        gateways.iter_mut().find(|entry| entry["controllerId"] == gateway).map(Value::take)
    }

    /// How many handshakes failed and how many requests came, since its last start.
    pub async fn handshakes_and_requests(&self) -> Option<(u64, u64)> {
        let counters = &self.get("/v1/status").await?["counters"];
        Some((counters["handshakesFailed"].as_u64()?, counters["requests"].as_u64()?))
    }

    /// What it wrote to its log, all starts together.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// An answer of the control socket; none while nobody listens there.
    async fn get(&self, path: &str) -> Option<Value> {
        let socket = tokio::net::UnixStream::connect(self.dir.join("state/control.sock")).await.ok()?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.ok()?;
        let request = hyper::Request::get(path).header("host", "localhost").body(Empty::<Bytes>::new()).unwrap();
        let answer = async {
            let answer = sender.send_request(request).await.ok()?;
            assert_eq!(answer.status(), 200, "GET {path}");
            Some(answer.into_body().collect().await.ok()?.to_bytes())
        };
        let body = tokio::select! { biased; body = answer => body?, _ = connection => return None };
        Some(serde_json::from_slice(&body).expect("JSON from the control socket"))
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Starts the process and waits until it says where it listens. The port may be taken for a moment by an outgoing
    /// connection of somebody else: then it is tried again.
    async fn launch(&mut self) {
        self.configure();
        self.spawn();
        let endpoints = until(async || {
            if let Some(status) = self.process.as_mut().unwrap().try_wait().unwrap() {
                assert!(self.devices.is_some() && self.log().contains("in use"), "{status}; {}", self.log());
                sleep(Duration::from_millis(200)).await;
                self.spawn();
            }
            self.endpoints()
        })
        .await;
        let address = endpoints["devices"].as_str().expect("the address for devices");
        let scheme = if self.secured { "https://" } else { "http://" };
        let address = address.strip_prefix(scheme).expect(address).parse().expect(address);
        assert_eq!(*self.devices.get_or_insert(address), address, "the port is the configured one");
    }

    /// What this very process says about itself; a file left by an earlier one does not count.
    fn endpoints(&self) -> Option<Value> {
        let text = fs::read_to_string(self.dir.join("state/endpoints.json")).ok()?;
        let endpoints: Value = serde_json::from_str(&text).expect("endpoints.json is whole whenever it is there");
        (endpoints["pid"].as_u64() == self.process.as_ref().map(|process| process.id().into())).then_some(endpoints)
    }

    fn configure(&self) {
        let dir = self.dir.display();
        let listen = self.devices.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let poll_interval = self.poll_interval;
        let secure = if self.secured {
            "tls: {certificate: tls/server.crt, key: tls/server.key}, tokens: {siteSecretFile: site.secret}"
        } else {
            "insecure: true"
        };
        let config = format!(
            "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: real\nstate: {dir}/state\n\
             intake: {{manifests: [{dir}/manifests], drops: {dir}/drops}}\n\
             devices: {{listen: \"{listen}\", {secure}, pollInterval: {poll_interval}}}\nmetrics: {{listen: off}}\n"
        );
        fs::write(self.dir.join("site.yaml"), config).unwrap();
    }

    fn spawn(&mut self) {
        let log = fs::File::options().create(true).append(true).open(self.dir.join("log")).unwrap();
        let process = Command::new(binary())
            .args(["run", "--config"])
            .arg(self.dir.join("site.yaml"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.process = Some(process);
        self.starts += 1;
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.kill();
    }
}
