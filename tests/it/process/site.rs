//! A site: its directory, its process, and a person at its command line. Nothing of it outlives its test.

use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};

use lamplighter::model::Digest;
use lamplighter::site::Endpoints;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::eventually;
use super::wire::{ALL, PATIENCE, Request, exchange};

/// What all gateways of these tests sign in with.
pub const TOKEN: &str = "a-token-that-must-never-be-seen";

/// A site that is started again always has the address it had: one of its own, so that no other test takes it meanwhile.
static NEXT_ADDRESS: AtomicU8 = AtomicU8::new(1);

/// A site's directory, and its process while it runs.
pub struct Site {
    dir: TempDir,
    address: RefCell<String>,
    child: RefCell<Option<Child>>,
    /// Flags of the next start, before `run`.
    pub flags: RefCell<Vec<&'static str>>,
    /// Should the next start log everything that there is?
    pub log_everything: Cell<bool>,
    starts: Cell<u32>,
}

/// The binary under test; `LAMPLIGHTER=…` names another one, such as the release build.
pub fn binary() -> Command {
    let ours = || env!("CARGO_BIN_EXE_lamplighter").into();
    let mut command = Command::new(std::env::var_os("LAMPLIGHTER").unwrap_or_else(ours));
    command.env_remove("LAMPLIGHTER_LOG").stdin(Stdio::null());
    command
}

pub fn digest(bytes: &[u8]) -> String {
    Digest::new(Sha256::digest(bytes).into()).hex()
}

impl Site {
    /// The site file of every site here, before it is changed.
    pub const SITE_FILE: &str = "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: hall-7\nstate: state\n\
        intake: {manifests: [manifests]}\nlimits: {diskReserve: 1Mi}\n\
        devices: {listen: 127.0.0.1:0, insecure: true, pollInterval: 1s, offlineAfter: 1m}\n";

    /// A directory with a site file and an empty manifest directory.
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("manifests")).unwrap();
        fs::write(dir.path().join("site.yaml"), Self::SITE_FILE).unwrap();
        let address = format!("127.77.{}.1:0", NEXT_ADDRESS.fetch_add(1, Ordering::Relaxed));
        Self {
            dir,
            address: address.into(),
            child: None.into(),
            flags: RefCell::default(),
            log_everything: Cell::default(),
            starts: Cell::new(0),
        }
    }

    /// A site with one gateway, `press-1`, and a rollout that brings it to firmware 2.0.0, running.
    pub fn with_one_gateway(firmware: &[u8]) -> Self {
        Self::with_gateways(&["press-1"], firmware)
    }

    /// The same with these gateways.
    pub fn with_gateways(names: &[&str], firmware: &[u8]) -> Self {
        let site = Self::new();
        site.declare(names, firmware);
        site.start();
        site
    }

    /// Writes the manifests of gateways and of the rollout that brings them to firmware 2.0.0.
    pub fn declare(&self, names: &[&str], firmware: &[u8]) {
        self.put("fw.bin", firmware);
        self.put("press-fw.yaml", rollout("2.0.0", firmware, ""));
        for name in names {
            self.put(&format!("{name}.yaml"), gateway(name, ""));
        }
    }

    /// Changes the site file.
    pub fn configure(&self, from: &str, to: &str) {
        let file = self.path("site.yaml");
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(file, text.replace(from, to)).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Writes a file into the manifest directory.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path("manifests").join(name), content).unwrap();
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.path("manifests").join(name)).unwrap();
    }

    /// Starts it and waits until it serves.
    pub fn start(&self) {
        let mut command = binary();
        command.args(self.run_args());
        if self.log_everything.get() {
            command.env("LAMPLIGHTER_LOG", "trace");
        }
        self.start_as(command, &self.state());
    }

    /// What the binary is started with.
    pub fn run_args(&self) -> Vec<String> {
        let mut args: Vec<String> = self.flags.borrow().iter().map(ToString::to_string).collect();
        let config = self.path("site.yaml").display().to_string();
        args.extend(["run".into(), "--config".into(), config, "--listen".into(), self.address.borrow().clone()]);
        args
    }

    /// Starts it by another command, which must become the binary; `state` is where its files are seen from here.
    pub fn start_as(&self, mut command: Command, state: &Path) {
        let log = fs::File::options().create(true).append(true).open(self.path("log")).unwrap();
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let pid = child.id();
        self.child.replace(Some(child));
        self.starts.set(self.starts.get() + 1);
        let endpoints = eventually("endpoints.json of this process", || {
            if let Some(status) = self.child.borrow_mut().as_mut().unwrap().try_wait().unwrap() {
                panic!("the site ended with {status}");
            }
            let state = PathBuf::from(state.display().to_string().replace("PID", &pid.to_string()));
            Endpoints::read(&state).ok().filter(|endpoints| endpoints.pid == pid)
        });
        self.address.replace(endpoints.devices.rsplit('/').next().unwrap().into());
    }

    pub fn address(&self) -> SocketAddr {
        self.address.borrow().parse().unwrap()
    }

    pub fn pid(&self) -> u32 {
        self.child.borrow().as_ref().expect("a running site").id()
    }

    /// As the power goes: SIGKILL.
    pub fn kill(&self) {
        let mut child = self.child.take().expect("a running site");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn kill_and_restart(&self) {
        self.kill();
        self.start();
    }

    /// As systemd stops it: SIGTERM, and its end.
    pub fn stop(&self) -> ExitStatus {
        self.terminate();
        let status = eventually("the end after SIGTERM", || self.ended());
        assert!(!Endpoints::control(&self.state()).exists(), "the control socket is taken away");
        status
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let child = self.child.borrow();
        kill_process(Pid::from_child(child.as_ref().expect("a running site")), Signal::TERM).unwrap();
    }

    /// How it ended, once it has.
    pub fn ended(&self) -> Option<ExitStatus> {
        let status = self.child.borrow_mut().as_mut().expect("a running site").try_wait().unwrap()?;
        self.child.take();
        Some(status)
    }

    /// The log of all its starts.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Runs a command about this site as a person would.
    pub fn cli(&self, args: &[&str]) -> Said {
        Said::of(binary().args(args).arg("--config").arg(self.path("site.yaml")).output().unwrap())
    }

    /// Asks the control socket.
    pub fn ask(&self, path: &str) -> Value {
        try_ask(&Endpoints::control(&self.state()), path).unwrap()
    }

    /// The newest rollout, as `status -o json` has it.
    pub fn rollout(&self) -> Value {
        self.ask("/v1/status")["rollouts"][0].clone()
    }

    /// Waits until the newest rollout has a reason.
    pub fn until_reason(&self, reason: &str) -> Value {
        eventually(reason, || Some(self.rollout()).filter(|rollout| rollout["reason"] == reason))
    }

    /// Step and reason of a gateway's membership, such as `Waiting Held`.
    pub fn step(&self, gateway: &str) -> String {
        let member = self.ask(&format!("/v1/why/{gateway}"))["rollouts"][0].clone();
        let (step, reason) = (member["step"].as_str().unwrap_or("none"), member["reason"].as_str().unwrap_or_default());
        format!("{step} {reason}").trim_end().to_owned()
    }

    /// Waits until a gateway's membership has a step and reason.
    pub fn until_step(&self, gateway: &str, step: &str) {
        let mut last = String::new();
        eventually(step, || {
            last = self.step(gateway);
            (last == step).then_some(())
        });
    }

    /// How often something is in a gateway's journal.
    pub fn journalled(&self, gateway: &str, what: &str) -> usize {
        let journal = self.ask(&format!("/v1/why/{gateway}"))["journal"].clone();
        journal.as_array().unwrap().iter().filter(|row| row["what"] == what).count()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("the site's log over {} starts:\n{}", self.starts.get(), self.log());
        }
    }
}

/// Asks a control socket.
pub fn try_ask(socket: &Path, path: &str) -> io::Result<Value> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(PATIENCE)?;
    Ok(exchange(stream, &Request("GET", path, &[("Host", "localhost")], b""), ALL)?.json())
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// What it printed, if it went well.
    pub fn good(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }
}

/// `press-fw`: brings line 3 to a version, one gateway first; `more` are further lines of its spec.
pub fn rollout(version: &str, firmware: &[u8], more: &str) -> String {
    format!(
        "apiVersion: lamplighter.dev/v1alpha1\nkind: OtaRollout\nmetadata: {{name: press-fw}}\nspec:\n  artifact:\n    \
         name: fw\n    version: \"{version}\"\n    sources: [\"file:fw.bin\"]\n    digest: sha256:{}\n    \
         sizeBytes: {}\n  selector: {{matchLabels: {{line: \"3\"}}}}\n  \
         strategy: {{waves: [{{size: 1, soak: 1s}}, {{size: \"100%\", soak: 1s}}], maxInFlight: 2}}\n{more}",
        digest(firmware),
        firmware.len()
    )
}

/// A gateway of line 3 whose controller id is `ctl-` and its name; `more` are further lines of its spec.
pub fn gateway(name: &str, more: &str) -> String {
    format!(
        "apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {{name: {name}, labels: {{line: \"3\"}}}}\n\
         spec:\n  controllerId: ctl-{name}\n  auth: {{tokenSha256: {}}}\n{more}",
        digest(TOKEN.as_bytes())
    )
}

/// Bytes that look like a firmware: they do not repeat.
pub fn firmware(seed: u64, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    fastrand::Rng::with_seed(seed).fill(&mut bytes);
    bytes
}
