//! The log: text for a terminal, JSON for collectors, always on stderr.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A line of text per event; colours on a terminal.
    #[default]
    Text,
    /// A JSON object per line.
    Json,
}

/// Starts the log. `LAMPLIGHTER_LOG` filters it; without it everything from `info` on is written.
pub(super) fn start(format: Format) {
    let filter = EnvFilter::try_from_env("LAMPLIGHTER_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    // a log that cannot be written, its reader gone or its disk full, must not end a site: saying so on stderr would panic
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).log_internal_errors(false);
    let log = log.with_ansi(colours);
    match format {
        Format::Text => log.with_target(false).init(),
        Format::Json => log.json().flatten_event(true).init(),
    }
}
