//! Gates of a running site: permits that come and go, and a controller that answers as controllers do.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::Duration;

use super::device::Device;
use super::eventually;
use super::site::{Site, firmware, gateway, rollout};

const GATE: &str = "Waiting Gate";

/// A site with one gateway on line 3, whose rollout has this gate, and what its site file allows.
fn gated(allow: &str, gate: &str) -> Site {
    let site = Site::new();
    let dir = site.path("").display().to_string();
    let dir = dir.trim_end_matches('/');
    site.configure("site: hall-7", &format!("site: hall-7\ngates: {}", allow.replace("DIR", dir)));
    fs::create_dir(site.path("permits")).unwrap();
    let firmware = firmware(90, 10_000);
    site.put("fw.bin", &firmware);
    site.put("press-fw.yaml", rollout("2.0.0", &firmware, &format!("  gates: [{}]\n", gate.replace("DIR", dir))));
    site.put("press-1.yaml", gateway("press-1", ""));
    site.start();
    site
}

/// Polls, and waits until `why` says what the gate said.
fn until_because(site: &Site, device: &Device, words: &str) {
    let mut last = String::new();
    eventually(words, || {
        device.poll();
        let because = site.ask("/v1/why/press-1")["rollouts"][0]["because"].clone();
        because.as_str().unwrap_or_default().clone_into(&mut last);
        last.contains(words).then_some(())
    });
}

#[test]
fn a_permit_of_a_line_comes_and_goes() {
    let site = gated("{allowPaths: [\"DIR/permits/*\"]}", "{name: permit, file: \"DIR/permits/{line}\"}");
    let device = Device::new(&site, "press-1");
    until_because(&site, &device, "/permits/3: closed, the file was not there");
    assert_eq!((site.step("press-1").as_str(), device.poll()), (GATE, None));
    let text = site.cli(&["why", "press-1"]).good();
    assert!(text.contains("because") && text.contains("gate permit"), "{text}");

    fs::write(site.path("permits/4"), "").unwrap();
    fs::write(site.path("permits/3"), "").unwrap();
    device.offered();
    fs::remove_file(site.path("permits/3")).unwrap();
    eventually("the offer goes back", || device.poll().is_none().then_some(()));
    assert_eq!(site.step("press-1"), GATE);

    // nor is it given out by a site that slept while the permit went
    fs::write(site.path("permits/3"), "").unwrap();
    let href = device.offered();
    site.kill();
    fs::remove_file(site.path("permits/3")).unwrap();
    site.start();
    let path = href.split_once("/DEFAULT").map(|(_, path)| format!("/DEFAULT{path}")).unwrap();
    assert_eq!(device.send("GET", &path, &[], b"", 1_000).status, 404);
    until_because(&site, &device, "closed");

    // what was fetched goes on
    fs::write(site.path("permits/3"), "").unwrap();
    let order = device.fetch();
    fs::remove_file(site.path("permits/3")).unwrap();
    device.download(&order, u64::MAX);
    assert_eq!(device.feedback(&order, "closed", "success"), 200);
    device.report("2.0.0");
    site.until_step("press-1", "Updated");
}

#[test]
fn nothing_is_asked_that_the_site_file_does_not_allow_until_it_does() {
    let site = gated("{allowPaths: [\"DIR/elsewhere/**\"]}", "{file: \"DIR/permits/{line}\"}");
    fs::write(site.path("permits/3"), "").unwrap();
    let device = Device::new(&site, "press-1");
    until_because(&site, &device, "gates.allowPaths of the site file does not allow it");
    site.configure("elsewhere/**", "permits/**");
    device.offered();
}

/// How a controller answers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mood {
    Says(&'static str),
    Silent,
}

/// A controller at its address; what it is asked is noted.
struct Plc {
    address: SocketAddr,
    mood: Arc<Mutex<Mood>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Plc {
    fn new(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let plc =
            Self { address: listener.local_addr().unwrap(), mood: Arc::new(Mutex::new(mood)), asked: Arc::default() };
        let (mood, asked) = (plc.mood.clone(), plc.asked.clone());
        // it ends with the test's process
        spawn(move || {
            for stream in listener.incoming().flatten() {
                let (mood, asked) = (*mood.lock().unwrap(), asked.clone());
                spawn(move || answer(stream, mood, &asked));
            }
        });
        plc
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }
}

fn answer(mut stream: TcpStream, mood: Mood, asked: &Mutex<Vec<String>>) {
    let mut bytes = [0; 4_096];
    let read = stream.read(&mut bytes).unwrap_or(0);
    let line = String::from_utf8_lossy(&bytes[..read]).lines().next().unwrap_or_default().to_owned();
    asked.lock().unwrap().push(line);
    match mood {
        Mood::Says(text) => _ = stream.write_all(text.as_bytes()),
        Mood::Silent => sleep(Duration::from_secs(60)),
    }
}

const CLOSED: Mood = Mood::Says("HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n");
const OPEN: Mood = Mood::Says("HTTP/1.1 204 No Content\r\n\r\n");
const GARBAGE: Mood = Mood::Says("\u{1}\u{2} 3 go away\r\n\r\n");
const REDIRECT: Mood = Mood::Says("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n");
const ENDLESS: Mood = Mood::Says("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\nx");

#[test]
fn a_controller_that_is_slow_busy_broken_or_elsewhere_holds_until_it_says_yes() {
    let plc = Plc::new(CLOSED);
    let allow = format!("{{allowHosts: [\"{}\"]}}", plc.address);
    let site = gated(&allow, &format!("{{http: \"http://{}/idle/{{line}}?key=secret\"}}", plc.address));
    let device = Device::new(&site, "press-1");
    until_because(&site, &device, "/idle/3?…: closed, it answered 409");
    for (mood, words) in [
        (GARBAGE, "unknown, it gave no answer"),
        (REDIRECT, "unknown, it answered 302"),
        (Mood::Silent, "unknown, it did not answer within 2s"),
    ] {
        plc.is(mood);
        until_because(&site, &device, words);
        assert_eq!(device.poll(), None, "{mood:?}");
    }
    plc.is(OPEN);
    device.offered();
    plc.is(CLOSED);
    eventually("the offer goes back", || device.poll().is_none().then_some(()));
    plc.is(ENDLESS);
    device.update("2.0.0");
    let asked = plc.asked.lock().unwrap().clone();
    assert!(asked.iter().all(|line| line == "GET /idle/3?key=secret HTTP/1.1"), "{asked:?}");
    assert!(!site.log().contains("secret"), "{}", site.log());
}
