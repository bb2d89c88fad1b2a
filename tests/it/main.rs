//! Everything that is tested through the library's front: one binary, one module per room.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::format_push_string, reason = "tests are read, not timed")]

mod architecture;
mod artifact;
mod check;
mod clients;
#[path = "../support/crash_backend.rs"]
mod crash_backend;
mod ddi;
mod docs;
mod drops;
mod engine;
mod fetch;
mod http;
mod intake;
mod kube;
mod process;
mod resources;
mod services;
mod simulate;
mod store;
#[path = "../support/transcript.rs"]
mod transcript;
mod why;
