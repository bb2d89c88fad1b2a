//! The site: the synchronous heart and the shell around it.
//!
//! The only room that knows all the others. The heart decides nothing by itself, it carries facts to the engine and what
//! the engine changed to the store; the shell must never await a send, and shows nothing that is not committed.

mod core;
mod outlook;
mod records;

pub use self::core::{Core, Stepped};
pub use outlook::Outlook;
