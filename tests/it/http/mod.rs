//! The device server over real sockets, with a scripted heart behind it.

mod bad_input;
mod caps;
mod crowd;
mod downloads;
mod hawkbit;
mod hostile;
mod rate;
mod tls;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use lamplighter::device::ddi::Settings;
use lamplighter::device::{
    Artifact, Attendance, Board, Caps, Context, Entry, Envelope, Offer, Opened, Pacing, Sink, serve,
};
use lamplighter::model::{
    ActionId, ArtifactKey, Ask, ControllerId, Digest, Event, Finished, SiteTime, Sums, TokenHash, Verdict,
};
use sha2::Digest as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

pub(crate) const ID: i64 = 1_234_567_890;

/// How the scripted heart takes an event.
pub(crate) enum Take {
    Say(Verdict),
    /// Its commit failed.
    Drop,
    /// Until the test lets go.
    Hold,
}

type Script = Box<dyn FnMut(&Event) -> Take>;

/// A device server on a port of its own.
pub(crate) struct Site {
    pub(crate) at: SocketAddr,
    pub(crate) context: Rc<Context>,
    pub(crate) events: Rc<RefCell<Vec<Event>>>,
    heard: Rc<Notify>,
    script: Rc<RefCell<Script>>,
    held: Rc<RefCell<Vec<oneshot::Sender<Verdict>>>>,
    pub(crate) ready: Rc<Cell<bool>>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) file: PathBuf,
    /// The digests whose files did not give their bytes.
    pub(crate) unreadable: Rc<RefCell<Vec<Digest>>>,
    stop: RefCell<Option<oneshot::Sender<()>>>,
    pub(crate) served: RefCell<Option<tokio::task::JoinHandle<()>>>,
    _dir: tempfile::TempDir,
}

/// Runs a test on one thread; a minute is for a test that hangs, never for one that is slow.
pub(crate) fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let test = async { tokio::time::timeout(Duration::from_mins(1), test).await.expect("the test hangs") };
    LocalSet::new().block_on(&runtime, test);
}

pub(crate) fn gateway() -> ControllerId {
    "gw-1".parse().unwrap()
}

pub(crate) fn action() -> ActionId {
    ActionId::try_from(ID).unwrap()
}

impl Site {
    /// Tests that say nothing about addresses have one for all.
    pub(crate) async fn start(size: usize, caps: Caps) -> Self {
        Self::bounded(size, Caps { per_address: caps.connections, ..caps }).await
    }

    pub(crate) async fn bounded(size: usize, caps: Caps) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (bytes, file) = (sample(size), dir.path().join("artifact"));
        std::fs::write(&file, &bytes).unwrap();
        let digest = Digest::new(sha2::Sha256::digest(&bytes).into());
        let board = Rc::new(RefCell::new(board(digest, &bytes)));
        let pacing = Pacing { told: Duration::from_secs(1), offline_after: Duration::from_secs(600) };
        let (sender, receiver) = mpsc::channel(64);
        let ready = Rc::new(Cell::new(true));
        let open = {
            let (ready, file) = (Rc::clone(&ready), file.clone());
            move |wanted: &Digest| {
                let there = ready.get() && *wanted == digest;
                if there { Opened::Ready(File::open(&file).unwrap()) } else { Opened::NotReady }
            }
        };
        let begin = std::time::Instant::now();
        let unreadable = Rc::<RefCell<Vec<Digest>>>::default();
        let noted = Rc::clone(&unreadable);
        let context = Rc::new(Context::new(
            Rc::clone(&board),
            Rc::new(RefCell::new(Attendance::new(pacing))),
            Settings {
                tenants: vec!["DEFAULT".into()],
                poll_interval: Duration::from_secs(1),
                url: None,
                tokens: Default::default(),
            },
            Rc::new(move || SiteTime(u64::try_from(begin.elapsed().as_millis()).unwrap())),
            Rc::new(open),
            Rc::new(move |digest: &Digest| noted.borrow_mut().push(*digest)),
            Sink::new(sender),
            caps,
        ));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = spawn_local(serve(listener, Rc::clone(&context), async move { _ = stopped.await }));
        let started = Self {
            at,
            context,
            events: Rc::default(),
            heard: Rc::default(),
            script: Rc::new(RefCell::new(Box::new(|_| Take::Say(Verdict::Accepted)))),
            held: Rc::default(),
            ready,
            bytes,
            file,
            unreadable,
            stop: RefCell::new(Some(stop)),
            served: RefCell::new(Some(served)),
            _dir: dir,
        };
        spawn_local(started.heart(receiver, board));
        started
    }

    /// A heart that gives every order it is asked for, unless its script says otherwise.
    fn heart(
        &self,
        mut receiver: mpsc::Receiver<Envelope>,
        board: Rc<RefCell<Board>>,
    ) -> impl Future<Output = ()> + use<> {
        let (events, heard) = (Rc::clone(&self.events), Rc::clone(&self.heard));
        let (script, held) = (Rc::clone(&self.script), Rc::clone(&self.held));
        async move {
            while let Some((event, verdict)) = receiver.recv().await {
                let take = (script.borrow_mut())(&event);
                events.borrow_mut().push(event.clone());
                heard.notify_one();
                let (Some(verdict), Take::Say(said)) =
                    (verdict.map(|v| hold(v, &take, &held)).unwrap_or_default(), take)
                else {
                    continue;
                };
                let said = if matches!(event, Event::Fetched(..)) && said == Verdict::Accepted {
                    Verdict::Deploy
                } else {
                    said
                };
                publish(&board, &event, said);
                _ = verdict.send(said);
            }
        }
    }

    pub(crate) fn script(&self, script: impl FnMut(&Event) -> Take + 'static) {
        *self.script.borrow_mut() = Box::new(script);
    }

    /// Lets go of every verdict that is held.
    pub(crate) fn release(&self, verdict: Verdict) {
        self.held.borrow_mut().drain(..).for_each(|held| _ = held.send(verdict));
    }

    /// Waits until the heart has heard a fact.
    pub(crate) async fn hears(&self, what: impl Fn(&Event) -> bool) {
        while !self.events.borrow().iter().any(&what) {
            self.heard.notified().await;
        }
    }

    pub(crate) fn stop(&self) {
        _ = self.stop.borrow_mut().take().map(|stop| stop.send(()));
    }

    pub(crate) async fn connect(&self) -> Device {
        Device::over(TcpStream::connect(self.at).await.unwrap())
    }

    /// One request on a connection of its own.
    pub(crate) async fn ask(&self, head: &str, body: &[u8]) -> Heard {
        let mut device = self.connect().await;
        device.send(head, body).await;
        device.hear().await.expect("an answer")
    }

    /// A well-behaved device gets through.
    pub(crate) async fn polls_well(&self) {
        assert_eq!(self.ask("GET /DEFAULT/controller/v1/gw-1", b"").await.status, 200);
    }

    pub(crate) fn artifact_path(&self) -> String {
        let module = self.digest().module_id();
        format!("/DEFAULT/controller/v1/gw-1/softwaremodules/{module}/artifacts/gw.swu")
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::new(sha2::Sha256::digest(&self.bytes).into())
    }

    /// As if the gateway had fetched its order.
    pub(crate) fn fetched(&self) {
        publish(&self.context.board, &Event::Fetched(gateway(), action()), Verdict::Deploy);
    }

    pub(crate) fn excused(&self) -> bool {
        self.context.presence.borrow().excused("gw-1")
    }
}

fn hold(
    verdict: oneshot::Sender<Verdict>,
    take: &Take,
    held: &RefCell<Vec<oneshot::Sender<Verdict>>>,
) -> Option<oneshot::Sender<Verdict>> {
    if matches!(take, Take::Hold) {
        held.borrow_mut().push(verdict);
        return None;
    }
    Some(verdict)
}

/// What a commit changes on the board.
fn publish(board: &RefCell<Board>, event: &Event, verdict: Verdict) {
    let mut entry = board.borrow().get("gw-1").unwrap().1.clone();
    match (event, verdict) {
        (Event::Fetched(..), Verdict::Deploy) => entry.offer.as_mut().unwrap().fetched = true,
        (Event::Attributes(..), _) => entry.ask = Ask::No,
        (Event::Feedback(_, _, said), _) if said.finished != Finished::None => entry.offer = None,
        _ => return,
    }
    board.borrow_mut().put(gateway(), entry);
}

fn board(digest: Digest, bytes: &[u8]) -> Board {
    let sums = Sums { sha1: hex(&sha1::Sha1::digest(bytes)), md5: hex(&md5::Md5::digest(bytes)) };
    let key = ArtifactKey { name: "gateway-os".into(), version: "2.1.0".parse().unwrap(), digest };
    let artifact = Artifact { key, file_name: "gw.swu".into(), size: bytes.len() as u64, sums };
    let offer = Offer {
        action: action(),
        link: true,
        cancel: false,
        fetched: false,
        served: false,
        artifact: Rc::new(artifact),
    };
    let token = |token: &str| Some(TokenHash::new(sha2::Sha256::digest(token).into()));
    let mut board = Board::default();
    board.put(gateway(), Entry { token: token("s3cret"), ask: Ask::Once, offer: Some(offer), tell_poll_from: None });
    board.put("gw-2".parse().unwrap(), Entry { token: token("other"), ..Entry::default() });
    board.complete();
    board
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn sample(size: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..size).map(|_| random.u8(..)).collect()
}

/// The device's end of a connection.
pub(crate) struct Device {
    pub(crate) socket: TcpStream,
    read: Vec<u8>,
}

/// An answer, as it came over the wire.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
    /// The body is as long as was said.
    pub(crate) whole: bool,
}

impl Device {
    pub(crate) fn over(socket: TcpStream) -> Self {
        Self { socket, read: Vec::new() }
    }

    /// `head` is the request line without its version, and more header lines if there are any.
    pub(crate) async fn send(&mut self, head: &str, body: &[u8]) {
        let (line, more) = head.split_once('\n').unwrap_or((head, ""));
        let mut request = format!("{line} HTTP/1.1\r\nHost: localhost:1\r\n");
        if !more.contains("Authorization") {
            request.push_str("Authorization: TargetToken s3cret\r\n");
        }
        if !body.is_empty() && !more.contains("Transfer-Encoding") {
            _ = write!(request, "Content-Length: {}\r\n", body.len());
        }
        more.lines().for_each(|line| _ = write!(request, "{line}\r\n"));
        request.push_str("\r\n");
        self.raw(request.as_bytes()).await;
        self.raw(body).await;
    }

    /// Bytes as they are; a server that has hung up is no error here.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        _ = self.socket.write_all(bytes).await;
    }

    /// The next answer; `None` if the server hung up before a complete head.
    pub(crate) async fn hear(&mut self) -> Option<Heard> {
        self.hear_to(true).await
    }

    /// The next answer to a HEAD.
    pub(crate) async fn hear_head(&mut self) -> Option<Heard> {
        self.hear_to(false).await
    }

    async fn hear_to(&mut self, body: bool) -> Option<Heard> {
        let end = loop {
            match self.read.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(end) => break end + 4,
                None => self.more().await?,
            }
        };
        let head: String = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: HashMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        assert!(!headers.contains_key("transfer-encoding"), "b.10.3: never chunked");
        let length: usize = headers.get("content-length").expect("b.10.3: Content-Length").parse().unwrap();
        let length = if body { length } else { 0 };
        while self.read.len() < length && self.more().await.is_some() {}
        let whole = self.read.len() >= length;
        let body = self.read.drain(..length.min(self.read.len())).collect();
        Some(Heard { status, headers, body, whole })
    }

    /// Reads on; `None` at the end.
    async fn more(&mut self) -> Option<()> {
        let mut chunk = [0; 4096];
        match self.socket.read(&mut chunk).await {
            Ok(0) | Err(_) => None,
            Ok(length) => {
                self.read.extend_from_slice(&chunk[..length]);
                Some(())
            }
        }
    }

    /// Waits for the server to hang up.
    pub(crate) async fn is_cut(&mut self) {
        while self.more().await.is_some() {}
    }

    /// Reads until so many bytes have come since the last answer.
    pub(crate) async fn read_to(&mut self, length: usize) {
        while self.read.len() < length {
            self.more().await.expect("more bytes");
        }
    }

    /// What has come and was not taken as part of an answer.
    pub(crate) fn pending(&self) -> &[u8] {
        &self.read
    }
}

impl Heard {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}
