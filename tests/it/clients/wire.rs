//! The wire between one client and a whole site, in virtual time: the device room's pure answers over the heart.

use std::collections::VecDeque;
use std::time::Duration;

use hyper::Method;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use lamplighter::device::ddi::{self, Answer, Download, Head};
use lamplighter::device::{Attendance, Board, Pacing};
use lamplighter::engine::Step;
use lamplighter::model::*;
use md5::Digest as _;
use serde_json::Value;

use crate::engine::site::{self, Site};

/// The gateway.
pub const GATEWAY: &str = "g1";
/// Where the site is, as the gateway knows it.
pub const HOST: &str = "updates.hall-7:8080";
/// Where the gateway's resources are.
pub const ROOT: &str = "/DEFAULT/controller/v1/g1";
const TOKEN: &str = "s3cret";
/// No client asks so often in a minute unless it spins.
const MOST_A_MINUTE: usize = 60;
pub const SIZE: usize = 50_000;

/// A site, the time, and what passed.
pub struct Wire {
    pub site: Site,
    presence: Attendance,
    settings: ddi::Settings,
    recent: VecDeque<SiteTime>,
    /// `METHOD path status`, in order, polls left out.
    pub passed: Vec<String>,
    /// Where its requests come from.
    pub peer: Option<std::net::IpAddr>,
    /// So many requests are answered 429 from now on.
    pub busy: usize,
}

/// An answer.
#[derive(Debug)]
pub struct Heard {
    pub status: u16,
    headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Vec<u8>,
    /// Bytes that follow.
    pub transfer: Option<Transfer>,
}

/// An artifact on its way.
#[derive(Debug)]
pub struct Transfer {
    download: Download,
    next: u64,
    bytes: Vec<u8>,
}

/// What a read of a transfer gives.
#[derive(Debug, PartialEq, Eq)]
pub enum Read {
    Bytes(Vec<u8>),
    End,
    /// The connection broke.
    Cut,
}

impl Heard {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.to_str().unwrap())
    }

    /// All headers.
    pub fn listed(&self) -> Vec<(String, String)> {
        let text = |(name, value): &(HeaderName, HeaderValue)| (name.to_string(), value.to_str().unwrap().to_owned());
        self.headers.iter().map(text).collect()
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// What the server says that follows: it is exact, and nothing is ever chunked (b.10.3).
    pub fn length(&self) -> u64 {
        self.transfer.as_ref().map_or(self.body.len() as u64, |transfer| transfer.download.length())
    }
}

/// The firmware of a version.
pub fn firmware(version: &str) -> Vec<u8> {
    version.bytes().cycle().take(SIZE).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(bytes).into()
}

pub fn rollout(version: &str) -> RolloutSpec {
    let mut spec = site::rollout("os", version);
    spec.artifact.key.digest = Digest::new(sha256(&firmware(version)));
    spec.artifact.size = SIZE as u64;
    spec
}

impl Wire {
    /// A site that has nothing for its gateway.
    pub fn new() -> Self {
        let mut site = Site::new();
        site.declare_gateways(1);
        site.gateways.get_mut(GATEWAY).unwrap().token = Some(TokenHash::new(sha256(TOKEN.as_bytes())));
        site.list();
        Self {
            site,
            presence: Attendance::new(Pacing { told: site::INTERVAL, offline_after: Duration::from_secs(600) }),
            settings: ddi::Settings {
                tenants: vec!["DEFAULT".into()],
                poll_interval: site::INTERVAL,
                url: None,
                tokens: Default::default(),
            },
            recent: VecDeque::new(),
            passed: Vec::new(),
            peer: None,
            busy: 0,
        }
    }

    /// A site with an order for its gateway.
    pub fn with_order(edit: impl FnOnce(&mut RolloutSpec)) -> Self {
        let mut wire = Self::new();
        wire.order("2", edit);
        wire
    }

    /// Declares a version as what the gateway should run.
    pub fn order(&mut self, version: &str, edit: impl FnOnce(&mut RolloutSpec)) {
        let mut spec = rollout(version);
        edit(&mut spec);
        self.site.rollouts.insert("main".into(), spec);
        self.site.list();
        let bytes = firmware(version);
        let sums = Sums { sha1: hex(&sha1::Sha1::digest(&bytes)), md5: hex(&md5::Md5::digest(&bytes)) };
        self.site.happens(Event::Artifact(Digest::new(sha256(&bytes)), ArtifactFact::Verified(sums)));
    }

    pub fn cancel(&mut self) {
        self.site.edit("main", |spec| spec.cancelled = true);
    }

    pub fn step(&self) -> Step {
        self.site.at(GATEWAY)
    }

    /// Time passes.
    pub fn wait(&mut self, time: Duration) {
        let end = self.site.now.plus(time);
        while self.site.now < end {
            let left = end.since(self.site.now).min(Duration::from_secs(1));
            self.site.wait(left);
            let due = self.presence.due(self.site.now);
            if !due.is_empty() {
                self.site.step(due);
            }
        }
    }

    /// Sends a request and hears the answer, after whatever the heart decides.
    pub fn send(&mut self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Heard {
        self.meter();
        let path = target.split('?').next().unwrap();
        let heard = if self.busy > 0 {
            self.busy -= 1;
            self.presence.excuse(&site::id(GATEWAY));
            heard(ddi::too_busy())
        } else {
            self.answer(&method.parse().unwrap(), path, headers, body)
        };
        if path != ROOT {
            self.passed.push(format!("{method} {} {}", path.strip_prefix(ROOT).unwrap_or(path), heard.status));
        }
        heard
    }

    fn answer(&mut self, method: &Method, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Heard {
        let mut map = HeaderMap::new();
        let token = format!("TargetToken {TOKEN}");
        for (name, value) in headers.iter().copied().chain([("host", HOST), ("authorization", &*token)]) {
            map.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        let head = Head {
            method,
            path,
            headers: &map,
            local: "127.0.0.1:9",
            peer: self.peer,
            secure: false,
            certificate: None,
        };
        let mut board = Board::default();
        for (id, entry) in &self.site.board {
            board.put(id.clone(), entry.clone());
        }
        board.complete();
        if let Err(refused) = ddi::admit(&board, &self.settings, &head) {
            return heard(refused);
        }
        let reply = ddi::answer(&board, &mut self.presence, &self.settings, self.site.now, &head, body);
        if !reply.seen.is_empty() {
            self.site.step(reply.seen);
        }
        match reply.answer {
            Answer::Now(response) => heard(response),
            Answer::Ask(event, pending) => {
                let verdict = self.site.happens(event);
                heard(pending.respond(&mut self.presence, Some(verdict)))
            }
            Answer::Send(download) => self.begin(download),
        }
    }

    fn begin(&mut self, download: Download) -> Heard {
        let verdict = self.site.happens(download.requested());
        match download.respond(&mut self.presence, Some(verdict)) {
            Err(refused) => {
                self.site.happens(download.ended(0));
                heard(refused)
            }
            Ok(head) => {
                let bytes = firmware(download.artifact.key.version.as_str());
                let transfer = Transfer { next: download.first, download, bytes };
                Heard { transfer: Some(transfer), ..heard(head) }
            }
        }
    }

    /// Reads from a transfer. The artifact's last byte waits for the heart, as in the server.
    pub fn read(&mut self, transfer: &mut Transfer, most: u64) -> Read {
        let to = (transfer.next + most).min(transfer.download.last + 1);
        if to == transfer.next {
            self.hang_up(transfer);
            return Read::End;
        }
        if to == transfer.download.last + 1
            && transfer.download.holds_end()
            && self.site.happens(transfer.download.served()) != Verdict::Deploy
        {
            self.presence.excuse(&site::id(GATEWAY));
            self.hang_up(transfer);
            return Read::Cut;
        }
        let at = |n: u64| usize::try_from(n).unwrap();
        let bytes = transfer.bytes[at(transfer.next)..at(to)].to_vec();
        transfer.next = to;
        Read::Bytes(bytes)
    }

    pub fn hang_up(&mut self, transfer: &Transfer) {
        let sent = transfer.next - transfer.download.first;
        self.site.happens(transfer.download.ended(sent));
    }

    /// Everything that a transfer gives.
    pub fn read_all(&mut self, mut transfer: Transfer) -> Result<Vec<u8>, Vec<u8>> {
        let mut all = Vec::new();
        loop {
            match self.read(&mut transfer, 10_000) {
                Read::Bytes(bytes) => all.extend(bytes),
                Read::End => return Ok(all),
                Read::Cut => return Err(all),
            }
        }
    }

    fn meter(&mut self) {
        let now = self.site.now;
        self.recent.push_back(now);
        while self.recent.front().is_some_and(|at| now.since(*at) >= Duration::from_secs(60)) {
            self.recent.pop_front();
        }
        assert!(self.recent.len() <= MOST_A_MINUTE, "the client spins: {:?}", self.passed);
    }
}

fn heard(response: ddi::Response) -> Heard {
    Heard { status: response.status.as_u16(), headers: response.headers, body: response.body.to_vec(), transfer: None }
}

/// The path of an absolute link of ours: the gateway asks where it was told to.
pub fn path_of(href: &str) -> &str {
    href.strip_prefix("http://").and_then(|rest| rest.strip_prefix(HOST)).expect("an absolute link to where it asked")
}
