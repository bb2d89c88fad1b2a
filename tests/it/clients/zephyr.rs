//! Zephyr's client as its sources have it (b.10): the old one, and the one of 2024 with its state machine, which may save its
//! progress.

use std::time::Duration;

use serde_json::{Value, json};

use super::wire::{Heard, ROOT, Read, Wire, firmware, hex, path_of, sha256};

/// It asks again at once after a report and after its attributes, in one run; more often than this it spins.
const MOST_IN_A_RUN: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tree {
    /// Before 2024: no ranges, small buffers.
    Old,
    /// The state machine of 2024: cancel ids are read without their first digit.
    Smf,
    /// The same, and a reset in the middle of a download resumes it.
    SavesProgress,
}

#[derive(Debug)]
pub struct Zephyr {
    tree: Tree,
    pub runs: String,
    pub installs: Vec<String>,
    /// The id of the action whose image it flashed last.
    pub stored: i32,
    /// Flash writes fail so many times.
    pub failures: usize,
    /// It loses power after so many bytes of its next downloads.
    pub resets: Vec<usize>,
    /// Orders it was told to drop, by the id that it understood.
    pub dropped: Vec<i32>,
    saved: Vec<u8>,
    flashed: Option<String>,
}

impl Zephyr {
    pub fn new(tree: Tree) -> Self {
        Self {
            tree,
            runs: "1".into(),
            installs: Vec::new(),
            stored: 0,
            failures: 0,
            resets: Vec::new(),
            dropped: Vec::new(),
            saved: Vec::new(),
            flashed: None,
        }
    }

    /// Polls as often as it is told, for a while.
    pub fn run(&mut self, wire: &mut Wire, time: Duration) {
        let end = wire.site.now.plus(time);
        while wire.site.now < end {
            let sleep = self.poll(wire);
            wire.wait(sleep);
        }
    }

    /// Any call that is no download: 200 with a known length, and small (b.10.2 to b.10.4).
    fn call(wire: &mut Wire, method: &str, path: &str, body: &Value) -> Option<Heard> {
        assert!(path.len() <= 300, "the URL is too long: {path}");
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let heard = wire.send(method, path, &[("content-type", "application/json;charset=UTF-8")], &body);
        assert!(![201, 204, 206, 302, 304].contains(&heard.status), "only 200 is success");
        assert_eq!(heard.length(), heard.body.len() as u64, "METADATA_ERROR");
        assert!(heard.body.len() <= 1_100, "{} bytes do not fit", heard.body.len());
        (heard.status == 200).then_some(heard)
    }

    /// One run: it goes on at once after whatever it did, until there is nothing to do.
    pub fn poll(&mut self, wire: &mut Wire) -> Duration {
        for _ in 0..MOST_IN_A_RUN {
            let Some(root) = Self::call(wire, "GET", ROOT, &Value::Null) else { return Duration::from_secs(60) };
            let root = root.json();
            let sleep = sleep(&root);
            let href = |link: &str| root["_links"][link]["href"].as_str().map(str::to_owned);
            // one of these, in this order (b.10.6)
            if let Some(href) = href("cancelAction") {
                self.cancel(wire, &href);
            } else if href("configData").is_some() {
                self.identify(wire);
            } else if let Some(href) = href("deploymentBase") {
                if !self.deployment(wire, &href) {
                    return sleep;
                }
            } else {
                return sleep;
            }
        }
        panic!("Zephyr spins: {:?}", wire.passed);
    }

    fn identify(&self, wire: &mut Wire) {
        let mut data = json!({"VIN": "00ff"});
        if self.tree == Tree::Old {
            data["hwRevision"] = "3".into();
        }
        let body = json!({"mode": "merge", "data": data});
        Self::call(wire, "PUT", &format!("{ROOT}/configData"), &body);
    }

    /// It reads the id from the link and never asks what it means (b.10.8).
    fn cancel(&mut self, wire: &mut Wire, href: &str) {
        let (_, digits) = href.split_once("cancelAction/").expect("an id in the link");
        let digits = if self.tree == Tree::Old { digits } else { &digits[1..] };
        let id: i32 = digits.parse().expect("an id of int32");
        assert!(id > 0, "METADATA_ERROR: it is stuck (zephyr#89530)");
        let finished = if id == self.stored { "failure" } else { "success" };
        self.dropped.push(id);
        self.saved.clear();
        Self::say(wire, "cancelAction", id, finished);
    }

    fn say(wire: &mut Wire, resource: &str, id: i32, finished: &str) {
        let status = json!({"execution": "closed", "result": {"finished": finished}});
        Self::call(
            wire,
            "POST",
            &format!("{ROOT}/{resource}/{id}/feedback"),
            &json!({"id": id.to_string(), "status": status}),
        );
    }

    /// True if it goes on at once.
    fn deployment(&mut self, wire: &mut Wire, href: &str) -> bool {
        let path = path_of(href).to_owned();
        let tail = path.rsplit('/').next().unwrap();
        assert!("deploymentBase/".len() + tail.len() <= 49, "the old buffer is too small for {tail}");
        let Some(base) = Self::call(wire, "GET", &path, &Value::Null) else { return false };
        let base = base.json();
        let id: i32 = base["id"].as_str().expect("a string").parse().expect("an int32");
        if id == self.stored {
            // after its reboot: this is what it flashed
            Self::say(wire, "deploymentBase", id, "success");
            return true;
        }
        let order = Order::read(&base);
        let Some(image) = self.download(wire, &order) else { return false };
        if self.failures > 0 {
            // it says nothing about a failure (b.10.9)
            self.failures -= 1;
            return false;
        }
        assert_eq!(hex(&sha256(&image)), order.sha256, "the only hash that it checks (b.10.7)");
        assert!(!self.installs.contains(&order.version), "Zephyr flashes {} again", order.version);
        self.installs.push(order.version.clone());
        self.flashed = Some(order.version);
        self.stored = id;
        wire.wait(Duration::from_secs(30));
        self.runs = self.flashed.take().unwrap();
        true
    }

    fn download(&mut self, wire: &mut Wire, order: &Order) -> Option<Vec<u8>> {
        let range = format!("bytes={}-", self.saved.len());
        let headers: &[_] = if self.saved.is_empty() { &[] } else { &[("range", &*range)] };
        let mut heard = wire.send("GET", &order.path, headers, b"");
        let mut transfer = heard.transfer.take()?;
        assert_eq!(heard.status, if headers.is_empty() { 200 } else { 206 }, "b.10.2");
        if !headers.is_empty() {
            let expected = format!("{}-{}/{}", &range["bytes=".len()..range.len() - 1], order.size - 1, order.size);
            assert_eq!(heard.header("content-range"), Some(&*format!("bytes {expected}")));
        }
        let mut image = self.saved.clone();
        loop {
            match wire.read(&mut transfer, 2_500) {
                Read::Bytes(bytes) => image.extend(bytes),
                Read::End => break,
                Read::Cut => return None,
            }
            wire.wait(Duration::from_secs(1));
            if self.resets.last().is_some_and(|at| image.len() >= *at) {
                self.resets.pop();
                wire.hang_up(&transfer);
                if self.tree == Tree::SavesProgress {
                    self.saved = image;
                }
                return None;
            }
        }
        self.saved.clear();
        assert_eq!(image, firmware(&order.version));
        Some(image)
    }
}

/// Anything but eight characters is ignored (b.10.5).
fn sleep(root: &Value) -> Duration {
    let text = root["config"]["polling"]["sleep"].as_str().expect("the interval");
    assert_eq!(text.len(), 8);
    let parts: Vec<u64> = text.split(':').map(|part| part.parse().unwrap()).collect();
    Duration::from_secs(parts[0] * 3600 + parts[1] * 60 + parts[2])
}

#[derive(Debug)]
struct Order {
    version: String,
    size: usize,
    sha256: String,
    path: String,
}

impl Order {
    /// b.10.7.
    fn read(base: &Value) -> Self {
        let [chunk] = &base["deployment"]["chunks"].as_array().unwrap()[..] else { panic!("not one chunk") };
        assert_eq!(chunk["part"], "bApp");
        let [artifact] = &chunk["artifacts"].as_array().unwrap()[..] else { panic!("not one artifact") };
        let sha256 = artifact["hashes"]["sha256"].as_str().expect("sha256").to_owned();
        assert_eq!(sha256.len(), 64);
        let href = artifact["_links"]["download-http"]["href"].as_str().expect("download-http; `download` is ignored");
        let path = path_of(href).to_owned();
        assert!(path.len() <= 199, "{path}");
        Self {
            version: chunk["version"].as_str().unwrap().into(),
            size: usize::try_from(artifact["size"].as_u64().expect("a number")).unwrap(),
            sha256,
            path,
        }
    }
}
