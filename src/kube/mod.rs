//! The API server: what it declares, what of it is ours, and what we write into it.
//!
//! Owns the connections to it, the watch over our objects, finalizers, status and events there. Must never decide what an
//! object means for a gateway, keep a copy of what the server has, or take its silence for a word.

mod access;
mod config_maps;
mod connection;
mod convert;
mod fault;
mod follow;
mod item;
mod list;
mod mark;
mod namespace;
mod news;
mod objects;
mod patch;
mod report;
mod requests;
mod secrets;
mod settings;
mod watch;
mod write;

pub use config_maps::config_maps;
pub use follow::{Desk, follow};
pub use news::News;
pub use objects::Objects;
pub use report::{Condition, Report, Show, Truth};
pub use settings::{Link, Settings};
pub use write::write;

/// Who writes: the field manager of server-side apply, and the controller of events.
const MANAGER: &str = "lamplighter";
/// On a rollout that was adopted: it may go once its deletion is in our store.
const FINALIZER: &str = "lamplighter.dev/withdraw";
/// Which site an object belongs to.
const CLAIM: &str = "lamplighter.dev/site";
/// On an object by which we show a rollout of a drop: what that is called at the site.
const DROPPED: &str = "lamplighter.dev/dropped-as";
