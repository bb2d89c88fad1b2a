//! A site in virtual time: the synchronous heart, a store in memory, and seeded gateways that judge what they are told to do.
//!
//! Owns what happens when nothing real is needed: scenarios, and the tests' storms. The heart and the device room are the
//! real ones. It must never read a clock, open a socket or touch a disk, and the oracle must never ask the engine what it
//! thinks.

mod bodies;
mod character;
mod deed;
mod device;
mod disk;
mod gateways;
mod hub;
mod link;
mod oracle;
mod plant;
mod play;
mod process;
pub mod scenario;
mod site;

pub use character::{Character, Fate, Role};
pub use deed::Deed;
pub use device::{Device, Install};
pub use disk::{Disk, Ending, Fault, Memory, apply};
pub use hub::HubSays;
pub use link::token_hash;
pub use oracle::Oracle;
pub use play::{Endings, Setting, World};
pub use scenario::Scenario;
pub use site::Site;
