//! A gateway played by hand: it speaks DDI as a careful client would, one step at a time.

use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};

use super::eventually;
use super::site::{Site, TOKEN};
use super::wire::{ALL, Answer, PATIENCE, Request, begin, exchange};

/// A gateway of a site.
pub struct Device<'s> {
    of: Of<'s>,
    root: String,
}

/// Whose gateway it is.
enum Of<'s> {
    /// It is asked for its address.
    Site(&'s Site),
    /// All that is known of it.
    Address(SocketAddr),
}

/// An order as the gateway reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Where it lies.
    pub href: String,
    pub id: String,
    /// Where the artifact lies.
    pub artifact: String,
    pub sha256: String,
    pub size: u64,
    /// Everything that was said.
    pub whole: Value,
}

impl<'s> Device<'s> {
    /// The gateway that people call `name`.
    pub fn new(site: &'s Site, name: &str) -> Self {
        Self { of: Of::Site(site), root: format!("/DEFAULT/controller/v1/ctl-{name}") }
    }

    /// The same, of a site that is not here to ask.
    #[allow(dead_code, reason = "for whoever plays hundreds of them in threads")]
    pub fn at(address: SocketAddr, name: &str) -> Self {
        Self { of: Of::Address(address), root: format!("/DEFAULT/controller/v1/ctl-{name}") }
    }

    /// Sends one request and reads the answer, or only `limit` bytes of its body.
    pub fn send(&self, method: &str, target: &str, more: &[(&str, &str)], body: &[u8], limit: u64) -> Answer {
        self.over(target, more, |stream, target, headers| {
            exchange(stream, &Request(method, target, headers, body), limit)
                .unwrap_or_else(|error| panic!("{method} {target}: {error}"))
        })
    }

    fn over<T>(&self, target: &str, more: &[(&str, &str)], f: impl FnOnce(TcpStream, &str, &[(&str, &str)]) -> T) -> T {
        let address = match self.of {
            Of::Site(site) => site.address(),
            Of::Address(address) => address,
        };
        // links are followed as they are; here they all lead to the site itself
        let target = target.strip_prefix(&format!("http://{address}")).unwrap_or(target);
        let (host, token) = (address.to_string(), format!("TargetToken {TOKEN}"));
        let mut headers = vec![("Host", host.as_str()), ("Authorization", token.as_str())];
        headers.extend_from_slice(more);
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(PATIENCE).unwrap();
        f(stream, target, &headers)
    }

    fn json(&self, method: &str, target: &str, body: &Value) -> Answer {
        self.send(method, target, &[("Content-Type", "application/json")], body.to_string().as_bytes(), ALL)
    }

    fn get(&self, target: &str) -> Answer {
        self.send("GET", target, &[], b"", ALL)
    }

    /// Polls once; all that is said.
    pub fn root(&self) -> Value {
        let root = self.get(&self.root);
        assert_eq!(root.status, 200, "{root:?}");
        root.json()
    }

    /// The link of a poll's answer, if it has it.
    fn link(&self, name: &str) -> Option<String> {
        Some(self.root()["_links"][name]["href"].as_str()?.to_owned())
    }

    /// Polls once; where an order lies, if there is one.
    pub fn poll(&self) -> Option<String> {
        self.link("deploymentBase")
    }

    /// Does the site know it?
    pub fn may_sign_in(&self) -> bool {
        self.get(&self.root).status == 200
    }

    /// Polls until it is asked for its attributes, and reports its version.
    pub fn report(&self, version: &str) {
        eventually("configData is asked for", || self.link("configData"));
        assert_eq!(self.attributes(&json!({"fw": version})), 200);
    }

    /// Reports attributes, asked for or not; the status of the answer.
    pub fn attributes(&self, data: &Value) -> u16 {
        self.json("PUT", &format!("{}/configData", self.root), &json!({"mode": "merge", "data": data})).status
    }

    /// Polls until there is an order.
    pub fn offered(&self) -> String {
        eventually("an order is offered", || self.poll())
    }

    /// Polls until there is an order, and fetches it.
    pub fn fetch(&self) -> Order {
        self.fetch_at(&self.offered())
    }

    pub fn fetch_at(&self, href: &str) -> Order {
        let answer = self.get(href);
        assert_eq!(answer.status, 200, "{answer:?}");
        self.order(href, &answer)
    }

    /// The same, if it is still there.
    #[allow(dead_code, reason = "for whoever plays hundreds of them in threads")]
    pub fn try_fetch_at(&self, href: &str) -> Option<Order> {
        let answer = self.get(href);
        (answer.status == 200).then(|| self.order(href, &answer))
    }

    #[allow(clippy::unused_self)]
    fn order(&self, href: &str, answer: &Answer) -> Order {
        let whole = answer.json();
        let artifact = &whole["deployment"]["chunks"][0]["artifacts"][0];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Order {
            href: href.to_owned(),
            id: text(&whole["id"]),
            artifact: text(&artifact["_links"]["download-http"]["href"]),
            sha256: text(&artifact["hashes"]["sha256"]),
            size: artifact["size"].as_u64().unwrap(),
            whole,
        }
    }

    /// What is said about the artifact before it is downloaded.
    pub fn etag(&self, order: &Order) -> String {
        let head = self.send("HEAD", &order.artifact, &[], b"", 0);
        assert_eq!(head.status, 200);
        head.header("etag").to_owned()
    }

    /// Reads the first `limit` bytes and hangs up.
    pub fn download(&self, order: &Order, limit: u64) -> Vec<u8> {
        let answer = self.send("GET", &order.artifact, &[], b"", limit);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-length"), order.size.to_string());
        answer.body
    }

    /// Reads the first `limit` bytes, lets something happen, and reads on until the connection ends.
    pub fn download_through(&self, order: &Order, limit: u64, happens: impl FnOnce()) -> Vec<u8> {
        self.over(&order.artifact, &[], |stream, target, headers| {
            let (answer, mut stream) = begin(stream, &Request("GET", target, headers, b"")).unwrap();
            assert_eq!(answer.status, 200);
            let mut body = Vec::new();
            stream.by_ref().take(limit).read_to_end(&mut body).unwrap();
            happens();
            // what was read stays, however the connection breaks
            let _ = stream.read_to_end(&mut body);
            body
        })
    }

    /// Reads what is still missing after `start`, if the artifact is still the one of `etag`.
    pub fn resume(&self, order: &Order, start: &[u8], etag: &str) -> Vec<u8> {
        let range = format!("bytes={}-", start.len());
        let answer = self.send("GET", &order.artifact, &[("Range", &range), ("If-Range", etag)], b"", ALL);
        let said = (answer.status, answer.header("content-range"));
        assert_eq!(said, (206, format!("bytes {}-{}/{}", start.len(), order.size - 1, order.size).as_str()));
        [start, &answer.body].concat()
    }

    /// Says how an order goes; the status of the answer.
    pub fn feedback(&self, order: &Order, execution: &str, finished: &str) -> u16 {
        let details = if finished == "failure" { "the boot loader does not fit" } else { "by hand" };
        self.say(order, &json!({"execution": execution, "result": {"finished": finished}, "details": [details]}))
    }

    /// Says that it is at a step of several; the status of the answer.
    pub fn progress(&self, order: &Order, message: &str, done: u32, of: u32) -> u16 {
        let result = json!({"finished": "none", "progress": {"cnt": done, "of": of}});
        self.say(order, &json!({"execution": "proceeding", "result": result, "details": [message]}))
    }

    fn say(&self, order: &Order, status: &Value) -> u16 {
        let target = format!("{}/deploymentBase/{}/feedback", self.root, order.id);
        self.json("POST", &target, &json!({"id": order.id, "status": status})).status
    }

    /// An update from the offer to the reported version, all going well.
    pub fn update(&self, version: &str) -> Order {
        let order = self.fetch();
        self.download(&order, ALL);
        assert_eq!(self.feedback(&order, "closed", "success"), 200);
        self.report(version);
        order
    }
}
