//! Everything that is tested through the library's front: one binary, one module per room.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod engine;
