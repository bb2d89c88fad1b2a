//! An artifact on its way from the network: `<hex>.part`, and beside it what is needed to go on after a crash.
//!
//! Its functions block.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::copy::{BUFFER, Hashes, Pass};
use super::{ArtifactError, Cache};
use crate::model::ArtifactSpec;

/// Bytes are made safe whenever so many of them came, one hundred-and-twenty-eighth of the artifact, between these bounds:
/// after a power cut less than one percent is fetched twice, and flash memory is not worn by more.
const SAFE_SHARE: u64 = 128;
const SAFE_LEAST: u64 = 256 << 10;
const SAFE_MOST: u64 = 16 << 20;
/// … and on a thin link after so long.
const SAFE_AFTER: Duration = Duration::from_secs(30);
/// A resume record is small; whatever is longer is none.
const RECORD_BYTES: u64 = 16 << 10;

/// What tells that a server still has the same file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Validators {
    /// The `ETag`, as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The `Last-Modified`, as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// The resume record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    version: u32,
    /// Where the bytes are from.
    source: String,
    #[serde(flatten)]
    validators: Validators,
    /// Bytes that a power cut cannot take away.
    safe: u64,
    /// On this boot all bytes that are there count, as they are in the kernel's memory.
    boot_id: String,
}

const RECORD_VERSION: u32 = 1;

/// An artifact that is being fetched.
#[derive(Debug)]
pub(super) struct Part {
    cache: Cache,
    spec: ArtifactSpec,
    path: PathBuf,
    file: File,
    hashes: Hashes,
    length: u64,
    record: Record,
    safe_at: Instant,
    /// Its bytes are from more than one answer.
    mixed: bool,
}

impl Part {
    /// Goes on with what an earlier try left, if that can be trusted; else begins. All bytes that are kept are hashed again.
    pub fn open(cache: &Cache, spec: &ArtifactSpec) -> Result<Self, ArtifactError> {
        let path = cache.part(&spec.key.digest);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(ArtifactError::io("cannot make", &path))?;
        let boot_id = boot_id();
        let record = read_record(&record_path(&path)).unwrap_or_default();
        let there = file.metadata().map_err(ArtifactError::io("cannot read", &path))?.len();
        let same_boot = !boot_id.is_empty() && record.boot_id == boot_id;
        let kept = if same_boot { there } else { there.min(record.safe) };
        let kept = if record.version == RECORD_VERSION && kept <= spec.size { kept } else { 0 };
        let mut part = Self {
            cache: cache.clone(),
            spec: spec.clone(),
            path,
            file,
            hashes: Hashes::default(),
            length: 0,
            record: Record { version: RECORD_VERSION, boot_id, ..record },
            safe_at: Instant::now(),
            mixed: kept > 0,
        };
        if kept == 0 {
            part.restart()?;
        } else {
            part.hash_kept(kept)?;
        }
        match cache.preflight(spec.size - part.length) {
            Ok(()) => Ok(part),
            Err(error) if part.length == 0 => part.discard().and(Err(error)),
            Err(error) => Err(error),
        }
    }

    /// Bytes that are there.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Are there bytes of more than one answer? Then a wrong digest may be the seam's fault.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// What the server said of the file when these bytes came from this source.
    pub fn validators(&self, source: &str) -> Option<&Validators> {
        (self.record.source == source).then_some(&self.record.validators)
    }

    /// Forgets all bytes.
    pub fn restart(&mut self) -> Result<(), ArtifactError> {
        self.file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .map_err(ArtifactError::io("cannot empty", &self.path))?;
        self.hashes = Hashes::default();
        self.length = 0;
        self.mixed = false;
        self.record.safe = 0;
        Ok(())
    }

    /// An answer begins whose bytes go behind those that are there.
    pub fn continues(&mut self, source: &str, validators: Validators) -> Result<(), ArtifactError> {
        self.mixed = self.length > 0;
        if self.record.source != source || self.record.validators != validators || self.length == 0 {
            source.clone_into(&mut self.record.source);
            self.record.validators = validators;
            self.write_record()?;
            // the names of both files have to survive a power cut too
            self.cache.sync_dir()?;
        }
        Ok(())
    }

    /// Adds bytes; never more than the size that the manifest says. False: there were more.
    pub fn append(&mut self, bytes: &[u8]) -> Result<bool, ArtifactError> {
        if bytes.len() as u64 > self.spec.size - self.length {
            return Ok(false);
        }
        if let Err(error) = self.file.write_all(bytes) {
            // how much of it was written is unknown, and what is on the disk has to be what was hashed
            let _ = self.file.set_len(self.length).and_then(|()| self.file.seek(SeekFrom::Start(self.length)));
            return Err(ArtifactError::io("cannot write", &self.path)(error));
        }
        self.hashes.update(bytes);
        self.length += bytes.len() as u64;
        let step = (self.spec.size / SAFE_SHARE).clamp(SAFE_LEAST, SAFE_MOST);
        let news = self.length - self.record.safe;
        if news >= step || (news > 0 && self.safe_at.elapsed() >= SAFE_AFTER) {
            self.make_safe()?;
        }
        Ok(true)
    }

    /// Compares, and gives the file its name in the cache. A part with a wrong digest stays for the caller to judge.
    pub fn finish(&mut self) -> Result<Pass, ArtifactError> {
        let pass = self.hashes.clone().finish();
        if pass.digest != self.spec.key.digest {
            return Ok(pass);
        }
        self.file.sync_all().map_err(ArtifactError::io("cannot write", &self.path))?;
        self.cache.accept(&self.path, &pass.digest)?;
        let _ = std::fs::remove_file(record_path(&self.path));
        Ok(pass)
    }

    /// These bytes are of no use to anybody.
    pub fn discard(&mut self) -> Result<(), ArtifactError> {
        self.restart()?;
        let _ = std::fs::remove_file(&self.path);
        forget_part(&self.path);
        Ok(())
    }

    /// What is there survives a power cut; and the disk still has room for the rest.
    fn make_safe(&mut self) -> Result<(), ArtifactError> {
        self.cache.preflight(self.spec.size - self.length)?;
        self.file.sync_data().map_err(ArtifactError::io("cannot write", &self.path))?;
        self.record.safe = self.length;
        self.safe_at = Instant::now();
        self.write_record()
    }

    fn write_record(&self) -> Result<(), ArtifactError> {
        let path = record_path(&self.path);
        let new = path.with_extension("new");
        let write = || -> io::Result<()> {
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec(&self.record)?)?;
            file.sync_data()?;
            std::fs::rename(&new, &path)
        };
        write().map_err(ArtifactError::io("cannot write", path))
    }

    fn hash_kept(&mut self, kept: u64) -> Result<(), ArtifactError> {
        let mut buffer = vec![0; BUFFER];
        let mut reader = (&self.file).take(kept);
        loop {
            self.cache.check_stopped()?;
            let read = match reader.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result.map_err(ArtifactError::io("cannot read", &self.path))?,
            };
            let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else { break };
            self.hashes.update(chunk);
            self.length += chunk.len() as u64;
        }
        self.record.safe = self.record.safe.min(self.length);
        self.file
            .set_len(self.length)
            .and_then(|()| self.file.seek(SeekFrom::Start(self.length)))
            .map_err(ArtifactError::io("cannot shorten", &self.path))?;
        Ok(())
    }
}

/// A part without bytes is of no use to the next try.
impl Drop for Part {
    fn drop(&mut self) {
        if self.length == 0 {
            // what cannot be removed now is removed at the next start
            let _ = std::fs::remove_file(&self.path);
            forget_part(&self.path);
        }
    }
}

/// Removes what can never be gone on with: parts without a record, records without a part, copies that were cut short.
pub(super) fn sweep(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let useless = match path.extension().and_then(|extension| extension.to_str()) {
            Some("copy" | "new") => true,
            Some("part") => read_record(&record_path(&path)).is_none_or(|record| record.version != RECORD_VERSION),
            Some("resume") => !path.with_extension("part").exists(),
            _ => false,
        };
        if useless {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Removes what belongs to a part that is gone.
pub(super) fn forget_part(part: &Path) {
    // without a part they mean nothing, and are removed at the next start
    let _ = std::fs::remove_file(record_path(part));
    let _ = std::fs::remove_file(record_path(part).with_extension("new"));
}

fn record_path(part: &Path) -> PathBuf {
    part.with_extension("resume")
}

fn read_record(path: &Path) -> Option<Record> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(RECORD_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
