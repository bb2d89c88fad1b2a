//! One connection: reads requests, bounds their bodies, and gives what `ddi` answers.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio::time::{Instant, timeout};

use crate::device::ddi::{self, Admitted, Answer, Head, Names, Reply};
use crate::model::ControllerId;

use super::body::Body;
use super::caps::{BUFFER, DRAIN};
use super::direct::Direct;
use super::guesses::network;
use super::patient::Patient;
use super::plain::Plain;
use super::slots::{Busy, Slot};
use super::socket::Socket;
use super::{Context, download};

/// The device is gone, or stopped half-way through its request: there is nobody to answer.
#[derive(Debug, thiserror::Error)]
#[error("the request did not arrive")]
struct Gone;

/// Serves a connection in a task of its own.
pub(super) fn start(context: &Rc<Context>, stream: TcpStream, peer: IpAddr) {
    let slot = context.slots.take(network(peer), context.per_address.get());
    let task = spawn_local(run(Rc::clone(context), Rc::clone(&slot), stream, peer));
    slot.runs_in(task.abort_handle());
}

async fn run(context: Rc<Context>, slot: Rc<Slot>, stream: TcpStream, peer: IpAddr) {
    let (open, from) = (Counted::new(&context), network(peer));
    if slot.turn(from, &context.per_address, context.caps.grace).await {
        context.stats.count(|counts| counts.held_back += 1);
    }
    // Answers are small and complete: waiting for more to send would only delay them.
    _ = stream.set_nodelay(true);
    _ = set_socket_send_buffer_size(&stream, context.caps.send_buffer);
    let Ok(local) = stream.local_addr() else { return };
    let Some((socket, line)) = secured(&context, &slot, stream).await else { return };
    let socket = Patient::new(socket, Rc::clone(&slot), &context.caps);
    let local = local.to_string().into();
    let device = Device { context: Rc::clone(&context), slot, from, local, peer: Some(peer.to_canonical()), line };
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(context.caps.idle)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(socket), device);
    if let Err(error) = poll_fn(|cx| connection.poll_without_shutdown(cx)).await {
        tracing::debug!(%error, "a device's connection ended early");
    }
    let parts = connection.into_parts();
    drop(parts.service);
    parts.io.into_inner().part().await;
    drop(open);
}

/// After the handshake, if there is to be one.
async fn secured(context: &Context, slot: &Slot, stream: TcpStream) -> Option<(Socket, Line)> {
    let tls = context.tls.borrow().clone();
    let Some(tls) = tls else {
        let direct = Rc::new(Direct::default());
        return Some((Socket::Plain(Plain::new(stream, Rc::clone(&direct), &context.caps)), Line::Plain(direct)));
    };
    match tls.accept(stream, &context.caps).await {
        // the authorities may have become others while it shook hands
        Ok((_, Some(shown))) if !context.trusts(&shown) => None,
        Ok((socket, shown)) => {
            let names = shown.as_ref().map(|shown| Rc::new(shown.names()));
            slot.greeted(shown);
            Some((socket, Line::Tls(names)))
        }
        Err(error) => {
            context.stats.count(|counts| counts.handshakes_failed += 1);
            tracing::debug!(%error, "a device's TLS handshake failed");
            None
        }
    }
}

/// What a connection's requests come through.
#[derive(Clone)]
enum Line {
    /// Artifacts may be promised to its socket.
    Plain(Rc<Direct>),
    /// With the names in the device's certificate, if it showed one.
    Tls(Option<Rc<Names>>),
}

/// Counts a connection as open.
struct Counted(Rc<Context>);

impl Counted {
    fn new(context: &Rc<Context>) -> Self {
        context.stats.count(|counts| counts.open += 1);
        Self(Rc::clone(context))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.stats.count(|counts| counts.open -= 1);
    }
}

/// The other end of a connection.
#[derive(Clone)]
struct Device {
    context: Rc<Context>,
    slot: Rc<Slot>,
    from: IpAddr,
    local: Rc<str>,
    peer: Option<IpAddr>,
    line: Line,
}

impl Service<Request<Incoming>> for Device {
    type Response = hyper::Response<Body>;
    type Error = Gone;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Gone>>>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let busy = self.slot.busy();
        let device = self.clone();
        Box::pin(async move {
            busy.lie_by(device.penalty(request.uri().path())).await;
            device.respond(request, busy).await
        })
    }
}

impl Device {
    /// How long this address has to wait for an answer about this gateway, for what it said before.
    fn penalty(&self, path: &str) -> Duration {
        let board = self.context.board.borrow();
        ddi::about(&board, path)
            .map_or(Duration::ZERO, |gateway| self.context.guesses.wait(Instant::now(), self.from, gateway))
    }

    async fn respond(self, request: Request<Incoming>, busy: Busy) -> Result<hyper::Response<Body>, Gone> {
        let (parts, body) = request.into_parts();
        let head = self.head(&parts);
        let answer = match self.read(&head, body).await? {
            Ok(body) => self.decide(&head, &body),
            Err(refusal) => Answer::Now(refusal),
        };
        let asked = tracing::enabled!(tracing::Level::DEBUG).then(|| (parts.method.clone(), shortened(head.path)));
        // hyper's read buffer belongs to the head for as long as it lives, so it goes before anything is waited for
        drop(parts);
        let response = self.give(answer, busy).await;
        let status = response.status();
        if let Some((method, path)) = asked {
            tracing::debug!(%method, path, status = status.as_u16(), "answered");
        }
        self.context.stats.count(|counts| {
            counts.requests += 1;
            counts.unauthorized += u64::from(status == StatusCode::UNAUTHORIZED);
            counts.busy += u64::from(status == StatusCode::TOO_MANY_REQUESTS);
        });
        Ok(response)
    }

    fn head<'a>(&'a self, parts: &'a Parts) -> Head<'a> {
        let head = Head::new(parts, &self.local, self.peer);
        match &self.line {
            Line::Plain(_) => head,
            Line::Tls(names) => head.over_tls(names.as_deref()),
        }
    }

    /// Where artifacts are promised. TLS lies between hyper and the socket: there is no such place.
    fn direct(&self) -> Option<Rc<Direct>> {
        match &self.line {
            Line::Plain(direct) => Some(Rc::clone(direct)),
            Line::Tls(_) => None,
        }
    }

    /// The body, if the request may have one; no byte of it is kept for a stranger.
    async fn read(&self, head: &Head<'_>, body: Incoming) -> Result<Result<Vec<u8>, ddi::Response>, Gone> {
        let admitted = match self.admit(head) {
            Ok(admitted) if !self.context.sink.overloaded() => admitted,
            Ok(Admitted { gateway, .. }) => return Ok(Err(self.busy(&gateway))),
            Err(refusal) => {
                self.drain(body).await;
                return Ok(Err(refusal));
            }
        };
        match timeout(self.context.caps.body, collect(body, admitted.most)).await {
            Ok(Ok(bytes)) => Ok(Ok(bytes)),
            Ok(Err(Uncollected::Gone)) => Err(Gone),
            Ok(Err(Uncollected::TooLarge(rest))) => {
                self.drain(rest).await;
                Ok(Err(ddi::too_large()))
            }
            // Not 408: rhu sends its feedback again only after 429 (b.0.1).
            Err(_) => Ok(Err(self.busy(&admitted.gateway))),
        }
    }

    fn admit(&self, head: &Head<'_>) -> Result<Admitted, ddi::Response> {
        let (board, settings) = (self.context.board.borrow(), self.context.settings.borrow());
        let admitted = ddi::admit(&board, &settings, head);
        match &admitted {
            Ok(admitted) => self.context.guesses.right(self.from, &admitted.gateway),
            Err(refusal) if refusal.status == StatusCode::UNAUTHORIZED => {
                let gateway = ddi::about(&board, head.path);
                self.context.guesses.wrong(Instant::now(), self.from, gateway);
                self.context.stats.count(|counts| counts.unknown += u64::from(gateway.is_none()));
            }
            Err(_) => {}
        }
        if let Some((id, credential)) = ddi::knocks(&board, &settings, head).filter(|_| admitted.is_err()) {
            let now = (self.context.clock)();
            let accepted = self.context.strangers.borrow_mut().knock(id, credential, self.from, now);
            if accepted.is_some() {
                self.context.sink.tell(accepted);
                // it is let in with the next commit
                return Err(ddi::too_busy());
            }
        }
        admitted
    }

    fn busy(&self, gateway: &ControllerId) -> ddi::Response {
        self.context.presence.borrow_mut().excuse(gateway);
        ddi::too_busy()
    }

    /// Reads on without keeping anything: a client that is cut off while it sends does not read why.
    async fn drain(&self, mut body: Incoming) {
        if body.is_end_stream() {
            return;
        }
        let rest = async {
            let mut read = 0;
            while let Some(Ok(frame)) = body.frame().await {
                read += frame.data_ref().map_or(0, bytes::Bytes::len);
                if read > DRAIN {
                    return;
                }
            }
        };
        _ = timeout(self.context.caps.body, rest).await;
    }

    fn decide(&self, head: &Head<'_>, body: &[u8]) -> Answer {
        let context = &self.context;
        let Reply { seen, answer } = ddi::answer(
            &context.board.borrow(),
            &mut context.presence.borrow_mut(),
            &context.settings.borrow(),
            (context.clock)(),
            head,
            body,
        );
        context.sink.tell(seen);
        answer
    }

    async fn give(&self, answer: Answer, busy: Busy) -> hyper::Response<Body> {
        let context = &self.context;
        match answer {
            Answer::Now(response) => Body::whole(response, busy),
            Answer::Ask(event, pending) => {
                let verdict = context.sink.ask(event, context.caps.verdict).await;
                Body::whole(pending.respond(&mut context.presence.borrow_mut(), verdict), busy)
            }
            Answer::Send(wanted) => match download::start(context, wanted, self.direct()).await {
                Ok((head, file)) => Body::file(head, file, busy),
                Err(refusal) => Body::whole(refusal, busy),
            },
        }
    }
}

enum Uncollected {
    TooLarge(Incoming),
    Gone,
}

async fn collect(mut body: Incoming, most: usize) -> Result<Vec<u8>, Uncollected> {
    let mut bytes = Vec::new();
    if most == 0 {
        return Ok(bytes);
    }
    if body.size_hint().lower() > most as u64 {
        return Err(Uncollected::TooLarge(body));
    }
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Uncollected::Gone)?;
        let data = frame.data_ref().map_or(&[][..], |data| data);
        if bytes.len() + data.len() > most {
            return Err(Uncollected::TooLarge(body));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

/// As much of a path as a log line takes; hyper lets only visible ASCII into it.
fn shortened(path: &str) -> String {
    path.get(..200).unwrap_or(path).to_owned()
}
