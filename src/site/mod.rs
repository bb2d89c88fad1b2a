//! The site: the synchronous heart and the shell around it.
//!
//! The only room that knows all the others. The heart decides nothing by itself, it carries facts to the engine and what
//! the engine changed to the store; the shell must never await a send, and shows nothing that is not committed.

mod acceptance;
mod api;
mod clock;
mod control;
mod core;
mod credentials;
mod drops;
mod endpoints;
mod figures;
mod health;
mod open;
mod orders;
mod outlook;
mod peer;
mod records;
pub mod report;
mod run;
mod shell;
mod site_file;
mod tally;
mod trouble;
mod wall_clock;
mod wanted;
mod watchers;

pub use self::core::{Core, Stepped};
pub use credentials::FileError;
pub use endpoints::Endpoints;
pub use open::RunError;
pub use outlook::Outlook;
pub use run::run;
pub use shell::settings;
