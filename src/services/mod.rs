//! Services: reading what they are configured with, and restarting their units.
//!
//! Owns the watching of configuration and the way to systemd. It must never decide that something is to be restarted, read
//! what the site file does not allow, keep or log what is in a file, or do the same job twice.

mod bus;
mod content;
mod health;
mod observe;
mod place;
mod restart;
mod unit;

pub use observe::{Wanted, follow as observe};
pub use unit::follow as restart;
