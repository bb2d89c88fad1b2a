//! How gateways are reached: the board with what they may see, who is there, and the hawkBit-compatible server.
//!
//! Owns sockets, URLs and what clients need to hear. Must never decide whether a gateway may start: that is the engine's.

pub mod attendance;
mod board;
pub mod ddi;
pub mod server;
mod sink;
mod strangers;

pub use attendance::{Attendance, Pacing, Progress};
pub use board::{Artifact, Board, Entry, Offer};
pub use server::{Caps, Context, Counts, Guesser, Opened, Stats, Tls, TlsError, serve};
pub use sink::{Envelope, Sink};
pub use strangers::{Credential, Stranger, Strangers};
