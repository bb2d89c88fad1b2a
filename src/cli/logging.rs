//! The log: text for a terminal, JSON for collectors, always on stderr.

use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;
use tracing::warn;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use super::screen::wants_colours;

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A line of text per event; colours on a terminal.
    #[default]
    Text,
    /// A JSON object per line.
    Json,
}

/// Starts the log. `LAMPLIGHTER_LOG` filters it, by level or as `info,lamplighter::device=debug`; without it everything from
/// `info` on is written. One that cannot be read is said in the log: it must not keep a site from starting.
pub(super) fn start(format: Format) {
    let wanted = std::env::var("LAMPLIGHTER_LOG").ok().map(|filter| (filter.parse::<Targets>(), filter));
    let (filter, wrong) = match wanted {
        None => (None, None),
        Some((Ok(filter), _)) => (Some(filter), None),
        Some((Err(error), text)) => (None, Some((error, text))),
    };
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let colours = io::stderr().is_terminal() && wants_colours();
    // a log that cannot be written, its reader gone or its disk full, must not end a site: saying so on stderr would panic
    let log = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).log_internal_errors(false);
    let log = log.with_writer(io::stderr).with_ansi(colours);
    match format {
        Format::Text => log.with_target(false).finish().with(filter).init(),
        Format::Json => log.json().flatten_event(true).finish().with(filter).init(),
    }
    if let Some((error, text)) = wrong {
        warn!(%error, LAMPLIGHTER_LOG = text, "is no filter, so everything from info on is written; write a level, or info,lamplighter::device=debug");
    }
}
