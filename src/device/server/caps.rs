//! How much the device server takes on at once, and for how long. Each figure with its reason and its cost.

use std::num::NonZeroU64;
use std::time::Duration;

/// The limits of a device server; the defaults are the ones in force, tests shorten them.
#[derive(Debug, Clone, Copy)]
pub struct Caps {
    /// Sockets open at once. One that polled and stays open costs about 12 kB (measured with 500: hyper's 8 KiB read
    /// buffer, its state, our task), so 0.6 MB for all, and with TLS 8 kB more (`tests/memory/tls.sh`); 500
    /// gateways that poll once a minute need one or two.
    pub connections: usize,
    /// And of these for one address, so that one machine cannot take them all. Further ones wait, unread, for one of these
    /// to end; one without a request is closed for them. Of a site's whole floor behind one address that is all at once.
    pub per_address: usize,
    /// No connection is closed for a newcomer before it had this long for its next request: when all gateways come at
    /// once, they would cut each other off. Room for 480 newcomers a second remains.
    pub grace: Duration,
    /// Artifact bodies at once, so that polls and feedback always find a connection. Each holds a [`Caps::chunk`], and two
    /// while it ends: 0.5 MiB for all.
    pub bodies: usize,
    /// And of these for one gateway: clients that stream take several, but none may take them all.
    pub own_bodies: usize,
    /// What all bodies together may hand on, in bytes a second; none: no limit. At least 1 KiB for each of them.
    pub bytes_per_second: Option<NonZeroU64>,
    /// Artifact requests that may wait for a body to end; more are told to try again.
    pub waiting: usize,
    /// Bytes read from an artifact at a time. Twice as many cost 0.6 MB, of which TLS has none to spare at its peak.
    pub chunk: usize,
    /// Bytes that the kernel sends from an artifact at a time, where nothing lies between it and the socket; at most 256 KiB.
    /// They take no memory of ours, and a third of the processor time that reading them takes.
    pub piece: usize,
    /// Of the socket's send buffer, in bytes, which the kernel would let grow to 4 MiB. A third of it must drain before the
    /// socket counts as writable again: so a device that takes 1 kB/s is not stalled, and 32 of them hold 4 MiB at most.
    pub send_buffer: usize,
    /// The same for a device that has shown itself fast, which then costs fewer wake-ups; the kernel allows 208 KiB if nobody
    /// told it otherwise. It holds the kernel's own pages of the file. Should the device turn slow, 2.4 kB/s is no stall.
    pub fast_send_buffer: usize,
    /// For a TLS handshake: two round trips of the slowest radio.
    pub handshake: Duration,
    /// From a header's first byte to its last.
    pub header: Duration,
    /// For a request's body.
    pub body: Duration,
    /// Without a request: a little longer than the usual poll interval, so that quiet sites reuse connections.
    pub idle: Duration,
    /// Without a byte taken by the device while we have some for it. rhu itself gives up after as long.
    pub stall: Duration,
    /// For the heart's verdict: longer than a commit on a bad card, shorter than clients wait.
    pub verdict: Duration,
    /// How long an artifact that is not ready holds its request (b.0.7).
    pub repair: Duration,
    /// At the end, for requests under way.
    pub farewell: Duration,
}

/// hyper's read and write buffers, and so the largest header; its minimum is 8 KiB.
pub(super) const BUFFER: usize = 16 * 1024;
/// What rustls may hold of an answer that the socket does not take yet; two records fit. 20 KiB, which is a whole chunk, made
/// the peak through 500 gateways 0.4 MB higher. Its default is 64 KiB.
pub(super) const TLS_BUFFER: usize = 8 * 1024;
/// The largest TLS record, with its head: devices with small buffers read no larger ones, and rustls cannot be asked for less.
pub(super) const RECORD: usize = 4 * 1024;
/// Unread bytes that a refused client may still send before its connection is cut, so that it reads why.
pub(super) const DRAIN: usize = 16 * 1024 * 1024;
/// And for how long.
pub(super) const LINGER: Duration = Duration::from_secs(2);

impl Default for Caps {
    fn default() -> Self {
        Self {
            connections: 48,
            per_address: 4,
            grace: Duration::from_millis(100),
            bodies: 32,
            own_bodies: 4,
            bytes_per_second: None,
            waiting: 8,
            chunk: 16 * 1024,
            piece: 256 * 1024,
            send_buffer: 64 * 1024,
            fast_send_buffer: 208 * 1024,
            handshake: Duration::from_secs(5),
            header: Duration::from_secs(10),
            body: Duration::from_secs(15),
            idle: Duration::from_secs(75),
            stall: Duration::from_mins(1),
            verdict: Duration::from_secs(20),
            repair: Duration::from_secs(30),
            farewell: Duration::from_secs(5),
        }
    }
}
