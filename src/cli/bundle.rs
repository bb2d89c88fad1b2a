//! A report to carry back from a site: its format, and reading it again.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::verify::hash::plain;
use crate::site::report::{GatewayLine, JournalRowLine, Status};

/// What such a file says it is.
const FORMAT: &str = "lamplighter.dev/report";
/// Raised when an older binary would misread it.
const VERSION: u64 = 1;
/// Far more than 10,000 gateways and a full journal take.
const LONGEST: u64 = 64 << 20;

/// How a site stood at one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bundle {
    format: String,
    version: u64,
    /// What people call the site.
    pub site: String,
    /// When, by the clock of the machine.
    pub made_at: String,
    /// The site ran.
    pub running: bool,
    pub status: Status,
    pub gateways: Vec<GatewayLine>,
    pub journal: Vec<JournalRowLine>,
}

/// What every version has.
#[derive(Debug, Deserialize)]
struct Head {
    format: String,
    version: u64,
}

impl Bundle {
    /// Made now.
    pub fn new(running: bool, status: Status, gateways: Vec<GatewayLine>, journal: Vec<JournalRowLine>) -> Self {
        Self {
            format: FORMAT.into(),
            version: VERSION,
            site: status.site.clone(),
            made_at: format!("{:.0}", jiff::Timestamp::now()),
            running,
            status,
            gateways,
            journal,
        }
    }

    /// Reads one. Errors go after the file's name.
    pub fn read(path: &Path) -> Result<Self, String> {
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
        let length = plain(path).map_err(unreadable)?;
        if length > LONGEST {
            return Err(format!("has {length} bytes; a report has at most {LONGEST}"));
        }
        let mut bytes = Vec::new();
        File::open(path).map_err(unreadable)?.take(LONGEST).read_to_end(&mut bytes).map_err(unreadable)?;
        let no_report = "is no report; `lamplighter drop report --out FILE` writes one";
        match serde_json::from_slice::<Head>(&bytes) {
            Ok(Head { format, .. }) if format != FORMAT => Err(no_report.into()),
            Ok(Head { version, .. }) if version > VERSION => Err(format!(
                "is a report of version {version}, and this binary knows {VERSION}; use a newer lamplighter"
            )),
            Ok(_) => serde_json::from_slice(&bytes)
                .map_err(|error| format!("is a report, but damaged or cut short: {error}; copy it again")),
            Err(error) if error.is_eof() && bytes.starts_with(b"{") => {
                Err(format!("is cut short: {error}; copy it again"))
            }
            Err(_) => Err(no_report.into()),
        }
    }
}
