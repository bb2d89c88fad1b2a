//! A site in the systemd of the lab: its own Lamplighter, its own units, each of which writes a line when it is started.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A test that hangs shall end.
const PATIENCE: Duration = Duration::from_secs(120);
/// Longer than settling and a restart take: who was not restarted until then is not restarted.
pub const CALM: Duration = Duration::from_millis(2_500);

/// The systemd beside this machine's.
pub struct Lab {
    pid: String,
}

impl Lab {
    pub fn new() -> Self {
        Self { pid: std::env::var("LAB_PID").expect("no systemd to test with; run `make test-services`") }
    }

    /// Runs a command.
    fn run(&self, command: &str) -> Output {
        Command::new("nsenter").args(["-t", &self.pid, "-a", "bash", "-c", command]).output().unwrap()
    }

    /// Runs a command that must not fail; what it printed.
    pub fn sh(&self, command: &str) -> String {
        let output = self.run(command);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    /// A path in it, from outside.
    fn path(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }

    pub fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// A site.
pub struct Hall {
    name: String,
    lab: Lab,
}

impl Hall {
    /// A site of this name, with nothing in it, running.
    pub fn new(name: &str) -> Self {
        let hall = Self { name: name.into(), lab: Lab::new() };
        hall.write("site.yaml", &hall.site_file(""));
        fs::create_dir_all(hall.path("manifests")).unwrap();
        fs::create_dir_all(hall.path("edge")).unwrap();
        let command = format!("/usr/local/bin/lamplighter run --config {}/site.yaml", hall.dir());
        hall.unit_file(&format!("lamplighter-{name}"), &format!("ExecStart={command}\n"));
        hall.start();
        hall
    }

    #[allow(dead_code, reason = "not for the benchmark")]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn dir(&self) -> String {
        format!("/srv/{}", self.name)
    }

    /// The site file, with something more.
    pub fn site_file(&self, more: &str) -> String {
        let (dir, name) = (self.dir(), &self.name);
        format!(
            "{{apiVersion: lamplighter.dev/v1alpha1, kind: SiteConfig, site: {name}, state: {dir}/state, \
             intake: {{manifests: [{dir}/manifests]}}, devices: {{listen: \"127.0.0.1:0\", insecure: true}}, \
             services: {{allowUnits: [\"{name}-*.service\"], allowPaths: [\"{dir}/edge/**\"]}}{more}}}"
        )
    }

    /// A path of the site's, from outside the lab.
    pub fn path(&self, file: &str) -> PathBuf {
        self.lab.path(&format!("{}/{file}", self.dir()))
    }

    pub fn write(&self, file: &str, text: &str) {
        self.lab.write(&format!("{}/{file}", self.dir()), text.as_bytes());
    }

    /// Configuration, as an editor writes it.
    pub fn configure(&self, file: &str, text: &str) {
        self.write(&format!("edge/{file}.new"), text);
        fs::rename(self.path(&format!("edge/{file}.new")), self.path(&format!("edge/{file}"))).unwrap();
    }

    pub fn sh(&self, command: &str) -> String {
        self.lab.sh(command)
    }

    /// The name of one of the site's units.
    pub fn unit(&self, unit: &str) -> String {
        format!("{}-{unit}.service", self.name)
    }

    fn unit_file(&self, unit: &str, service: &str) {
        let text = format!("[Service]\n{service}");
        self.lab.write(&format!("/etc/systemd/system/{unit}.service"), text.as_bytes());
        self.sh("systemctl daemon-reload");
    }

    /// A unit that writes a line when it is started, and is; with something more in its file.
    pub fn add_unit(&self, unit: &str, more: &str) {
        let start = format!("/bin/sh -c 'echo x >>{}/starts-{unit}; exec sleep infinity'", self.dir());
        self.unit_file(&format!("{}-{unit}", self.name), &format!("ExecStart={start}\n{more}"));
        self.sh(&format!("systemctl start {}", self.unit(unit)));
    }

    /// A unit that is there and stopped, once systemd has looked again.
    #[allow(dead_code, reason = "for the benchmark")]
    pub fn idle_unit(&self, unit: &str) {
        let path = format!("/etc/systemd/system/{}", self.unit(unit));
        self.lab.write(&path, b"[Service]\nExecStart=/bin/sleep infinity\n");
    }

    /// A figure of Lamplighter's `/proc/PID/status`, in KiB.
    #[allow(dead_code, reason = "for the benchmark")]
    pub fn kib(&self, field: &str) -> f64 {
        let line = format!(
            "awk '/^{field}:/ {{print $2}}' /proc/$(systemctl show -P MainPID lamplighter-{})/status",
            self.name
        );
        self.sh(&line).trim().parse().unwrap()
    }

    /// How long it was on a processor, also with threads that ended; in steps of 10.
    #[allow(dead_code, reason = "for the benchmark")]
    pub fn cpu_ms(&self) -> f64 {
        let pid = format!("$(systemctl show -P MainPID lamplighter-{})", self.name);
        self.sh(&format!("awk '{{print ($14 + $15) * 10}}' /proc/{pid}/stat")).trim().parse().unwrap()
    }

    /// Declares a service of the same name as its unit, which reads this file of `edge`; with something more in its spec.
    pub fn declare(&self, unit: &str, file: &str, more: &str) {
        let config = format!("[{{path: {}/edge/{file}}}]", self.dir());
        self.declare_as(unit, &config, "", &format!("settle: 300ms{more}"));
    }

    /// Declares a service that reads this list, with something more about its restart and in its spec.
    pub fn declare_as(&self, unit: &str, config: &str, restart: &str, more: &str) {
        let name = self.unit(unit);
        let text = format!(
            "{{apiVersion: lamplighter.dev/v1alpha1, kind: EdgeService, metadata: {{name: {unit}}}, spec: {{config: {config}, \
             restart: {{unit: {name}{restart}}}, minInterval: 0s, {more}}}}}"
        );
        self.write(&format!("manifests/{unit}.yaml"), &text);
    }

    /// How often a unit was started.
    pub fn starts(&self, unit: &str) -> usize {
        fs::read_to_string(self.path(&format!("starts-{unit}"))).map_or(0, |text| text.lines().count())
    }

    pub fn start(&self) {
        self.sh(&format!(
            "systemctl reset-failed lamplighter-{0} 2>/dev/null; systemctl start lamplighter-{0}",
            self.name
        ));
    }

    pub fn kill(&self) {
        // its kill returns once the signal is sent
        self.sh(&format!("systemctl kill -s KILL lamplighter-{0}; systemctl stop lamplighter-{0}", self.name));
    }

    pub fn lamplighter(&self, command: &str) -> Output {
        self.lab.run(&format!("/usr/local/bin/lamplighter {command} --state {}/state", self.dir()))
    }

    pub fn status(&self, service: &str) -> Option<Value> {
        let output = self.lamplighter("status -o json");
        let status: Value = serde_json::from_slice(&output.stdout).ok()?;
        status["running"].as_bool().filter(|running| *running)?;
        status["services"].as_array()?.iter().find(|line| line["name"] == service).cloned()
    }

    /// Waits until a service is said to be so.
    pub fn until(&self, service: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            let status = self.status(service);
            if let Some(status) = status.as_ref().filter(|status| holds(status)) {
                return status.clone();
            }
            assert!(Instant::now() < end, "{service} is never {what}: {status:#?}");
            sleep(Duration::from_millis(50));
        }
    }

    pub fn until_ready(&self, service: &str) -> Value {
        self.until(service, "Ready", |line| line["phase"] == "Ready" && line["observedHash"] == line["appliedHash"])
    }

    pub fn until_reason(&self, service: &str, reason: &str) -> Value {
        self.until(service, reason, |line| line["reason"] == reason)
    }

    pub fn until_starts(&self, unit: &str, starts: usize) {
        let end = Instant::now() + PATIENCE;
        loop {
            let found = self.starts(unit);
            if found == starts {
                return;
            }
            assert!(found < starts && Instant::now() < end, "{unit} was started {found} times, not {starts}");
            sleep(Duration::from_millis(20));
        }
    }

    /// A running unit with a service that was seen for the first time.
    pub fn with_service(name: &str, unit: &str, more: &str) -> Self {
        let hall = Self::new(name);
        hall.configure("a.conf", "A");
        // files and units have clocks of different grain
        sleep(Duration::from_millis(200));
        hall.add_unit(unit, "");
        hall.declare(unit, "a.conf", more);
        hall.until_ready(unit);
        assert_eq!(hall.starts(unit), 1);
        hall
    }
}

impl Drop for Hall {
    fn drop(&mut self) {
        let end = format!("systemctl kill -s KILL '{0}-*' lamplighter-{0}; systemctl stop '{0}-*'", self.name);
        let _ = self.lab.run(&end);
    }
}
