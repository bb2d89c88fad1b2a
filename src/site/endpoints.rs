//! Where a running site can be reached: `<state>/endpoints.json`, for scripts and for our own command line.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The addresses that a site bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// The process.
    pub pid: u32,
    /// The device server.
    pub devices: String,
    /// The control socket.
    pub control: PathBuf,
    /// Health and figures, while they are served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<String>,
}

impl Endpoints {
    /// The control socket of a state directory.
    pub fn control(state: &Path) -> PathBuf {
        state.join("control.sock")
    }

    fn file(state: &Path) -> PathBuf {
        state.join("endpoints.json")
    }

    /// Replaces the file at once: nobody reads half of it.
    pub fn write(&self, state: &Path) -> io::Result<()> {
        let (file, new) = (Self::file(state), state.join("endpoints.json.new"));
        let mut out = fs::File::create(&new)?;
        out.write_all(serde_json::to_string(self)?.as_bytes())?;
        fs::rename(new, file)
    }

    /// What a site wrote at its last start.
    pub fn read(state: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(Self::file(state))?)?)
    }
}
