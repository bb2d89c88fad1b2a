//! rauc-hawkbit-updater as its source has it (b.8), downloading, resuming or streaming.

use std::time::Duration;

use serde_json::{Value, json};
use sha1::Digest as _;

use super::wire::{ROOT, Read, Transfer, Wire, hex, path_of};

const AGENT: (&str, &str) = ("user-agent", "rauc-hawkbit-c-agent/1.4");
const JSON: &str = "application/json;charset=UTF-8";
const SECOND: Duration = Duration::from_secs(1);
/// rhu polls so often while it has something to do.
const BUSY_INTERVAL: u64 = 5;
/// It stays away so long after a poll that failed.
const RETRY_WAIT: u64 = 300;
/// It tries a word so often when it is told to wait.
const RETRIES: usize = 10;
/// Its downloads take so many bytes a second.
const SPEED: u64 = 5_000;

/// What it does with artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Downloads,
    Resumes,
    Streams,
}

#[derive(Debug)]
enum State {
    Idle,
    Downloading(Option<Transfer>),
    /// RAUC works; so many seconds are left.
    Installing(u64),
    /// Down for so many seconds.
    Rebooting(u64),
}

#[derive(Debug)]
pub struct Rhu {
    mode: Mode,
    state: State,
    next_poll: u64,
    order: Option<Order>,
    file: Vec<u8>,
    /// The version that it reports, if it reports one.
    pub reports: bool,
    pub runs: String,
    pub installs: Vec<String>,
    /// Its next downloads break after so many bytes.
    pub cuts: Vec<usize>,
    /// RAUC fails so many times.
    pub failures: usize,
    /// It still reports the old version for so many seconds after its reboot.
    pub old_attributes_for: u64,
    stale_until: u64,
    old: String,
    clock: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Order {
    id: String,
    version: String,
    size: u64,
    sha1: String,
    url: String,
}

impl Rhu {
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            state: State::Idle,
            next_poll: 0,
            order: None,
            file: Vec::new(),
            reports: true,
            runs: "1".into(),
            installs: Vec::new(),
            cuts: Vec::new(),
            failures: 0,
            old_attributes_for: 0,
            stale_until: 0,
            old: "1".into(),
            clock: 0,
        }
    }

    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Runs for a while, second by second.
    pub fn run(&mut self, wire: &mut Wire, time: Duration) {
        for _ in 0..time.as_secs() {
            wire.wait(SECOND);
            self.clock += 1;
            self.work(wire);
            if self.clock >= self.next_poll && !matches!(self.state, State::Rebooting(_)) {
                self.poll(wire);
            }
        }
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// One second of download, install or reboot.
    fn work(&mut self, wire: &mut Wire) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => {}
            State::Downloading(Some(transfer)) => self.receive(wire, transfer),
            State::Downloading(None) => self.get(wire),
            State::Installing(0) => self.installed(wire),
            State::Installing(left) => self.state = State::Installing(left - 1),
            State::Rebooting(0) => {
                self.runs = self.installs.last().unwrap().clone();
                self.stale_until = self.clock + self.old_attributes_for;
                self.next_poll = self.clock;
            }
            State::Rebooting(left) => self.state = State::Rebooting(left - 1),
        }
    }

    fn get_json(wire: &mut Wire, path: &str) -> Option<Value> {
        let heard = wire.send("GET", path, &[AGENT, ("accept", JSON)], b"");
        // only 200 is success, and GETs are not repeated (b.8.2)
        (heard.status == 200).then(|| heard.json())
    }

    /// PUT and POST are repeated on 409 and 429 (b.8.2).
    fn say(wire: &mut Wire, method: &str, path: &str, body: &Value) -> bool {
        for _ in 0..RETRIES {
            let headers = [AGENT, ("accept", JSON), ("content-type", JSON)];
            match wire.send(method, path, &headers, body.to_string().as_bytes()).status {
                200 => return true,
                409 | 429 => wire.wait(SECOND),
                status => panic!("rhu takes {status} for an error: {:?}", wire.passed),
            }
        }
        false
    }

    fn feedback(wire: &mut Wire, resource: &str, id: &str, execution: &str, finished: &str, detail: &str) -> bool {
        let status = json!({"execution": execution, "result": {"finished": finished}, "details": [detail]});
        let body = json!({"id": id, "time": "20260101T000000", "status": status});
        // rebuilt from the configuration, not taken from a link (b.8.5)
        Self::say(wire, "POST", &format!("{ROOT}/{resource}/{id}/feedback"), &body)
    }

    /// All three links are handled in one poll, in this order (b.8.4).
    fn poll(&mut self, wire: &mut Wire) {
        let Some(root) = Self::get_json(wire, ROOT) else {
            self.next_poll = self.clock + RETRY_WAIT;
            return;
        };
        let sleep = root["config"]["polling"]["sleep"].as_str().expect("the interval");
        let parts: Vec<u64> = sleep.split(':').map(|part| part.parse().expect("%T")).collect();
        assert!(sleep.len() == 8 && parts.len() == 3, "{sleep}");
        let href = |link: &str| root["_links"][link]["href"].as_str().map(|href| path_of(href).to_owned());
        if let Some(path) = href("configData") {
            self.identify(wire, &path);
        }
        if let Some(path) = href("deploymentBase") {
            self.deployment(wire, &path);
        }
        if let Some(path) = href("cancelAction") {
            self.cancel(wire, &path);
        }
        let sleep = parts[0] * 3600 + parts[1] * 60 + parts[2];
        assert!(sleep > 0, "rhu would poll every second");
        self.next_poll = self.clock + if self.is_idle() { sleep } else { BUSY_INTERVAL };
    }

    fn identify(&self, wire: &mut Wire, path: &str) {
        let version = if self.clock < self.stale_until { &self.old } else { &self.runs };
        let data = if self.reports { json!({"os": version}) } else { json!({"serial": "7"}) };
        let status = json!({"execution": "closed", "result": {"finished": "success"}, "details": [""]});
        Self::say(wire, "PUT", path, &json!({"id": "", "time": "20260101T000000", "status": status, "data": data}));
    }

    fn deployment(&mut self, wire: &mut Wire, path: &str) {
        if !self.is_idle() {
            return; // it is at work on one
        }
        let Some(base) = Self::get_json(wire, path) else { return };
        let order = Order::read(&base);
        assert!(!self.installs.contains(&order.version), "rhu installs {} again: {:?}", order.version, wire.passed);
        // under a new id it may resume the whole file too (b.0.5)
        if self.mode != Mode::Resumes || self.order.as_ref().is_some_and(|before| before.sha1 != order.sha1) {
            self.file.clear();
        }
        self.order = Some(order);
        self.get(wire);
    }

    fn get(&mut self, wire: &mut Wire) {
        if self.mode == Mode::Streams {
            return self.stream(wire);
        }
        let order = self.order.clone().unwrap();
        let range = format!("bytes={}-", self.file.len());
        let resumes = !self.file.is_empty();
        let mut headers = vec![AGENT];
        if resumes {
            headers.push(("range", &range));
        }
        let heard = wire.send("GET", &order.url, &headers, b"");
        match (heard.status, heard.transfer) {
            (200, Some(_)) if resumes => panic!("CURLE_RANGE_ERROR: 200 to a resume (b.8.10)"),
            (200 | 206, Some(transfer)) => self.state = State::Downloading(Some(transfer)),
            // the file is whole already
            (416, None) if self.file.len() as u64 == order.size => self.downloaded(wire),
            (status, _) => self.failed(wire, &format!("HTTP {status}")),
        }
    }

    fn receive(&mut self, wire: &mut Wire, mut transfer: Transfer) {
        match wire.read(&mut transfer, SPEED) {
            Read::Bytes(bytes) => {
                self.file.extend(bytes);
                if self.cuts.last().is_some_and(|cut| self.file.len() >= *cut) {
                    self.cuts.pop();
                    wire.hang_up(&transfer);
                    return self.broken(wire);
                }
                self.state = State::Downloading(Some(transfer));
            }
            Read::End => self.downloaded(wire),
            Read::Cut => self.broken(wire),
        }
    }

    fn broken(&mut self, wire: &mut Wire) {
        if self.mode == Mode::Resumes {
            self.state = State::Downloading(None);
        } else {
            self.failed(wire, "Transferred a partial file");
        }
    }

    fn downloaded(&mut self, wire: &mut Wire) {
        let order = self.order.clone().unwrap();
        let progress = |wire: &mut Wire, detail: &str| {
            Self::feedback(wire, "deploymentBase", &order.id, "proceeding", "none", detail)
        };
        progress(wire, "Download complete. 1.00 MB/s");
        assert_eq!(hex(&sha1::Sha1::digest(&self.file)), order.sha1, "it checks only the sha1 (b.8.6)");
        progress(wire, "File checksum OK.");
        self.state = State::Installing(20);
    }

    /// RAUC reads parts of the bundle, the signature at its end first, and tells how far it is (b.8.11).
    fn stream(&mut self, wire: &mut Wire) {
        let order = self.order.clone().unwrap();
        let mut ranges = vec![(order.size - 4_000, order.size - 1)];
        ranges.extend((0..8).map(|n| (n * 1_000, n * 1_000 + 999)));
        for (at, (from, to)) in ranges.into_iter().enumerate() {
            let range = format!("bytes={from}-{to}");
            let mut heard = wire.send("GET", &order.url, &[AGENT, ("range", &range)], b"");
            let Some(transfer) = heard.transfer.take() else { return self.failed(wire, "nbd: HTTP error") };
            assert_eq!(heard.status, 206);
            assert_eq!(heard.header("content-range"), Some(&*format!("bytes {from}-{to}/{}", order.size)));
            assert_eq!(wire.read_all(transfer).map_or(0, |bytes| bytes.len() as u64), to - from + 1);
            if at % 3 == 0 {
                Self::feedback(wire, "deploymentBase", &order.id, "proceeding", "none", "40% Copying image");
            }
        }
        self.state = State::Installing(20);
    }

    fn installed(&mut self, wire: &mut Wire) {
        if self.failures > 0 {
            self.failures -= 1;
            return self.failed(wire, "Failed to install software bundle");
        }
        let order = self.order.take().unwrap();
        self.installs.push(order.version.clone());
        self.file.clear();
        self.old.clone_from(&self.runs);
        // said before the reboot (b.8.8)
        let said = "Software bundle installed successfully.";
        Self::feedback(wire, "deploymentBase", &order.id, "closed", "success", said);
        self.state = State::Rebooting(45);
    }

    fn failed(&mut self, wire: &mut Wire, why: &str) {
        self.state = State::Idle;
        let order = self.order.clone().unwrap();
        Self::feedback(wire, "deploymentBase", &order.id, "closed", "failure", why);
    }

    /// b.8.9.
    fn cancel(&mut self, wire: &mut Wire, path: &str) {
        let Some(cancel) = Self::get_json(wire, path) else { return };
        let id = cancel["cancelAction"]["stopId"].as_str().expect("stopId is a string").to_owned();
        if matches!(self.state, State::Installing(_)) && self.order.as_ref().is_some_and(|order| order.id == id) {
            Self::feedback(wire, "cancelAction", &id, "rejected", "success", "Cancel refused: installing");
            return;
        }
        if let State::Downloading(Some(transfer)) = std::mem::replace(&mut self.state, State::Idle) {
            wire.hang_up(&transfer);
        }
        (self.order, self.file) = (None, Vec::new());
        Self::feedback(wire, "cancelAction", &id, "closed", "success", "Action canceled.");
    }
}

impl Order {
    /// b.8.6.
    fn read(base: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no string in {base}")).to_owned();
        let deployment = &base["deployment"];
        for handling in ["download", "update"] {
            assert_ne!(text(&deployment[handling]), "skip", "rhu would wait silently (b.8.7)");
        }
        let [chunk] = &deployment["chunks"].as_array().unwrap()[..] else { panic!("not one chunk") };
        let [artifact] = &chunk["artifacts"].as_array().unwrap()[..] else { panic!("not one artifact") };
        let links = &artifact["_links"];
        let link =
            [&links["download"]["href"], &links["download-http"]["href"]].into_iter().find(|href| href.is_string());
        let size = artifact["size"].as_u64().expect("a whole number");
        assert!(size > 0, "rhu crashes at size 0");
        text(&chunk["name"]);
        Self {
            id: text(&base["id"]),
            version: text(&chunk["version"]),
            size,
            sha1: text(&artifact["hashes"]["sha1"]),
            url: path_of(link.expect("a link").as_str().unwrap()).to_owned(),
        }
    }
}
