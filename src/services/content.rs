//! What is in a source: its files in the order of their names, each as a hash. Nothing of their content is kept.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use crate::inside::{OpenError, open_inside};
use crate::model::{ConfigMaps, ConfigPath, ServiceReason, matches};
use crate::watch::around;

/// The most files of one source, and the most bytes of all of them: configuration is small.
const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 16 << 20;
/// Keys of a ConfigMap may be mounted in directories.
const DEEPEST: usize = 4;
/// A volume that is swapped while it is read is read again so often.
const TRIES: usize = 8;
/// A file that changed later than this before it was read may change again without its times telling.
const FRESH: Duration = Duration::from_secs(2);
/// The link in a volume of the kubelet's that leads to what is in force.
const DATA: &str = "..data";

/// What is in a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Each file's name and hash, in the order of the names.
    pub files: Vec<(String, [u8; 32])>,
    /// When the newest of them changed, in Unix milliseconds.
    pub changed: i64,
}

/// A source as it was looked at.
#[derive(Debug, Clone)]
pub(super) struct Look {
    pub content: Result<Content, (ServiceReason, String)>,
    /// Where something happens when it changes.
    pub dirs: Vec<PathBuf>,
    /// The files themselves, for what may be said about the places in which they lie.
    pub files: Vec<PathBuf>,
}

impl Look {
    /// Of a ConfigMap in the API server, if it was read there.
    pub fn of(name: &str, maps: &ConfigMaps) -> Option<Self> {
        let (_, seen) = maps.iter().find(|(known, _)| **known == *name)?;
        let content = seen.clone().map(|files| Content { files, changed: 0 });
        Some(Self { content, dirs: Vec::new(), files: Vec::new() })
    }
}

/// Hashes of files that have not changed since by what the file system says.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<PathBuf, (Stamp, [u8; 32], bool)>);

/// Device, inode, length and both times.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl Known {
    /// Read everything again.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    /// Forgets what was not looked at since the last time.
    pub fn sweep(&mut self) {
        self.0.retain(|_, (_, _, used)| std::mem::take(used));
    }

    fn hash(&mut self, path: &Path, root: &Path, left: &mut u64) -> Result<([u8; 32], i64), Missed> {
        let name = path.to_str().ok_or_else(|| Missed::No("has a name that is not UTF-8".into()))?;
        let file = open_inside(root, name)?;
        let metadata = file.metadata()?;
        let (stamp, changed) = (stamp(&metadata), millis(&metadata));
        *left = left.checked_sub(metadata.len()).ok_or_else(too_much)?;
        if let Some((known, hash, used)) = self.0.get_mut(path)
            && *known == stamp
        {
            *used = true;
            return Ok((*hash, changed));
        }
        let hash = hash(file)?;
        if is_old(&metadata) {
            self.0.insert(path.to_owned(), (stamp, hash, true));
        }
        Ok((hash, changed))
    }
}

/// Why a file was not read.
#[derive(Debug)]
enum Missed {
    /// It was there a moment ago, or never.
    Gone,
    /// A link leads out of what is allowed.
    Outside(String),
    /// Something else.
    No(String),
}

impl From<OpenError> for Missed {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Missing => Self::Gone,
            OpenError::Outside(_) => Self::Outside(error.to_string()),
            error => Self::No(error.to_string()),
        }
    }
}

impl From<io::Error> for Missed {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Gone } else { Self::No(format!("cannot be read: {error}")) }
    }
}

fn too_much() -> Missed {
    Missed::No(format!(
        "has more than {MOST_FILES} files or {} MiB; name those that the service reads",
        MOST_BYTES >> 20
    ))
}

/// Looks at a source, which lies in what `base` allows. It blocks.
pub(super) fn look(path: &ConfigPath, base: &Path, known: &mut Known) -> Look {
    let root = if base.is_dir() { base } else { base.parent().unwrap_or(base) };
    let place = Place::of(path);
    let mut seen = Vec::new();
    let content = place.read(root, known, &mut seen).map_err(|missed| match missed {
        Missed::Gone => (ServiceReason::ConfigMissing, format!("{path} is not there or empty")),
        Missed::Outside(why) => (ServiceReason::PathRefused, format!("{path} {why}")),
        Missed::No(why) => (ServiceReason::ConfigUnreadable, format!("{path} {why}")),
    });
    Look { content, dirs: place.dirs(&seen), files: seen }
}

/// A directory, and which of its files are meant.
#[derive(Debug)]
struct Place {
    path: PathBuf,
    dir: PathBuf,
    /// A pattern of names; none: all.
    names: Option<String>,
    /// It is one file, by its name.
    single: bool,
}

impl Place {
    fn of(path: &ConfigPath) -> Self {
        let whole = PathBuf::from(path.as_str());
        if let Some((dir, names)) = path.pattern() {
            return Self { path: whole, dir: dir.into(), names: Some(names.into()), single: false };
        }
        if whole.is_dir() {
            return Self { path: whole.clone(), dir: whole, names: None, single: false };
        }
        let dir = whole.parent().map_or_else(|| "/".into(), Path::to_owned);
        let name = whole.file_name().map(|name| name.to_string_lossy().into_owned());
        Self { path: whole, dir, names: name, single: true }
    }

    fn is_meant(&self, name: &str) -> bool {
        match &self.names {
            None => true,
            Some(names) if self.single => names == name,
            Some(names) => matches(names, name),
        }
    }

    /// Reads what is in force: of a volume what its link leads to, if it still leads there afterwards.
    fn read(&self, root: &Path, known: &mut Known, seen: &mut Vec<PathBuf>) -> Result<Content, Missed> {
        for _ in 0..TRIES {
            seen.clear();
            let link = std::fs::read_link(self.dir.join(DATA)).ok();
            let content = match &link {
                Some(data) => self.volume(&self.dir.join(data), root, known, seen),
                None => self.plain(root, known, seen),
            };
            let still = std::fs::read_link(self.dir.join(DATA)).ok() == link;
            match content {
                // what vanished from a directory that is still the same is not there
                Err(Missed::Gone) if still && link.is_none() => return Err(Missed::Gone),
                Err(Missed::Gone) => {}
                Ok(_) if !still => {}
                Ok(mut content) if link.is_some() => {
                    let data = self.dir.join(DATA).symlink_metadata().map(|metadata| millis(&metadata));
                    content.changed = content.changed.max(data.unwrap_or(0));
                    return Ok(content);
                }
                content => return content,
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(Missed::Gone)
    }

    fn volume(&self, data: &Path, root: &Path, known: &mut Known, seen: &mut Vec<PathBuf>) -> Result<Content, Missed> {
        let mut files = Vec::new();
        walk(data, DEEPEST, &mut files)?;
        let named = files.into_iter().filter_map(|file| {
            let name = file.strip_prefix(data).ok()?.to_str()?.to_owned();
            self.is_meant(&name).then_some((name, file))
        });
        gather(named.collect(), root, known, seen)
    }

    fn plain(&self, root: &Path, known: &mut Known, seen: &mut Vec<PathBuf>) -> Result<Content, Missed> {
        if self.single {
            let name = self.names.clone().unwrap_or_default();
            return gather(vec![(name, self.path.clone())], root, known, seen);
        }
        let mut named = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                return Err(Missed::No("holds a name that is not UTF-8".into()));
            };
            let path = entry.path();
            if !name.starts_with('.') && self.is_meant(&name) && !path.is_dir() {
                named.push((name, path));
            }
            if named.len() > MOST_FILES {
                return Err(too_much());
            }
        }
        gather(named, root, known, seen)
    }

    /// Where something happens when it changes: in the directory, and where links in it lead.
    fn dirs(&self, files: &[PathBuf]) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        if self.dir.join(DATA).is_symlink() || !self.single {
            dirs.push(self.dir.clone());
        } else {
            dirs.extend(around([self.path.as_path()]));
        }
        let links = files.iter().filter(|file| file.parent() == Some(&self.dir) && file.is_symlink());
        dirs.extend(around(links.map(PathBuf::as_path)));
        // one that is a link can come to mean another one, and one that is not there can come
        if !self.single && (self.dir.is_symlink() || !self.dir.is_dir()) {
            dirs.extend(around([self.dir.as_path()]));
        }
        dirs
    }
}

fn walk(dir: &Path, deep: usize, files: &mut Vec<PathBuf>) -> Result<(), Missed> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            if deep == 0 {
                return Err(Missed::No("has directories in directories in directories; mount its keys higher".into()));
            }
            walk(&path, deep - 1, files)?;
        } else {
            files.push(path);
        }
        if files.len() > MOST_FILES {
            return Err(too_much());
        }
    }
    Ok(())
}

/// An empty source is one that is being filled, or was taken away: nothing to restart a service for.
fn gather(
    mut named: Vec<(String, PathBuf)>,
    root: &Path,
    known: &mut Known,
    seen: &mut Vec<PathBuf>,
) -> Result<Content, Missed> {
    let (mut content, mut left) = (Content::default(), MOST_BYTES);
    named.sort_unstable();
    for (name, path) in named {
        let (hash, changed) = known.hash(&path, root, &mut left)?;
        content.changed = content.changed.max(changed);
        content.files.push((name, hash));
        seen.push(path);
    }
    if content.files.is_empty() { Err(Missed::Gone) } else { Ok(content) }
}

fn hash(file: File) -> Result<[u8; 32], Missed> {
    let (mut hasher, mut buffer) = (Sha256::new(), [0; 8192]);
    let mut file = file.take(MOST_BYTES + 1);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => hasher.update(buffer.get(..length).unwrap_or_default()),
        }
    }
    if file.limit() == 0 { Err(too_much()) } else { Ok(hasher.finalize().into()) }
}

fn stamp(metadata: &Metadata) -> Stamp {
    let times = ((metadata.mtime(), metadata.mtime_nsec()), (metadata.ctime(), metadata.ctime_nsec()));
    (metadata.dev(), metadata.ino(), metadata.len(), times.0, times.1)
}

fn millis(metadata: &Metadata) -> i64 {
    metadata.ctime().saturating_mul(1_000).saturating_add(metadata.ctime_nsec() / 1_000_000)
}

fn is_old(metadata: &Metadata) -> bool {
    let changed = UNIX_EPOCH.checked_add(Duration::from_millis(millis(metadata).try_into().unwrap_or(0)));
    changed.is_some_and(|changed| SystemTime::now().duration_since(changed).is_ok_and(|age| age > FRESH))
}
