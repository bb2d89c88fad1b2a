//! The cache on disk: `<state>/artifacts/sha256/<hex>`, complete and verified when it bears that name.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::ArtifactError;
use super::copy::{Pass, pass};
use super::listing::{CachedFile, CachedKind, cache_dir, files_in};
use super::part::{forget_part, sweep};
use crate::inside::open_inside;
use crate::model::{ArtifactSpec, Digest, Sums};

/// The artifacts of a site. Its functions block: call them where blocking is allowed.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
    reserve: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Cache {
    /// The cache under a state directory, made if it is not there. Half copies of an earlier run are
    /// removed, unless they can be gone on with. `reserve`
    /// bytes of the disk are never filled with artifacts, so that the store can always write.
    pub fn open(state: &Path, reserve: u64) -> io::Result<Self> {
        let dir = cache_dir(state);
        std::fs::create_dir_all(&dir)?;
        sweep(&dir)?;
        Ok(Self { dir, reserve: Arc::new(reserve.into()), stop: Arc::default() })
    }

    /// Another reserve is in force from the next artifact on.
    pub fn set_reserve(&self, reserve: u64) {
        self.reserve.store(reserve, Ordering::Relaxed);
    }

    /// Ends whatever is under way soon, with [`ArtifactError::Stopped`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Where an artifact is, if it is cached.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.dir.join(digest.hex())
    }

    /// Opens a cached artifact for serving; whether it may be served is [`super::Keeper::ready`]'s to say.
    pub fn open_file(&self, digest: &Digest) -> io::Result<File> {
        File::open(self.path(digest))
    }

    /// Reads a cached artifact and compares it. A damaged one is set aside, its bytes kept.
    pub fn verify(&self, digest: &Digest, size: u64) -> Result<Sums, ArtifactError> {
        let path = self.path(digest);
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ArtifactError::NotCached { file: path });
            }
            Err(error) => return Err(ArtifactError::io("cannot open", path)(error)),
        };
        // The size in the manifest may be wrong while the bytes are right: the digest alone says what is damaged.
        let length = file.metadata().map_err(ArtifactError::io("cannot read", &path))?.len();
        match pass((&path, &mut file), length, None, &self.stop) {
            Ok(Pass { digest: got, sums }) if got == *digest => match length {
                length if length > size => Err(ArtifactError::TooLong { file: path, said: size }),
                length if length < size => Err(ArtifactError::Truncated { file: path, got: length, said: size }),
                _ => Ok(sums),
            },
            Ok(_) | Err(ArtifactError::Unreadable { .. }) => Err(self.set_aside(&path)),
            Err(error) => Err(error),
        }
    }

    /// Where an artifact is while it comes from the network.
    pub(super) fn part(&self, digest: &Digest) -> PathBuf {
        self.dir.join(format!("{}.part", digest.hex()))
    }

    /// For long work between two steps.
    pub(super) fn check_stopped(&self) -> Result<(), ArtifactError> {
        if self.stop.load(Ordering::Relaxed) { Err(ArtifactError::Stopped) } else { Ok(()) }
    }

    /// Copies an artifact from the plain file `dir/name`, and verifies it on the way.
    pub fn copy_in(&self, spec: &ArtifactSpec, dir: &Path, name: &str) -> Result<Sums, ArtifactError> {
        let file = dir.join(name);
        let mut from = open_inside(dir, name).map_err(|why| ArtifactError::Source { file: file.clone(), why })?;
        // somebody may have cleared the state directory while we run
        std::fs::create_dir_all(&self.dir).map_err(ArtifactError::io("cannot make", &self.dir))?;
        self.preflight(spec.size)?;
        let copy = self.dir.join(format!("{}.copy", spec.key.digest.hex()));
        let result = self.copy((&file, &mut from), &copy, spec);
        if result.is_err() {
            // The error of the copy says more; what cannot be removed now is removed at the next start.
            let _ = std::fs::remove_file(&copy);
        }
        result
    }

    fn copy(&self, from: (&Path, &mut File), to_path: &Path, spec: &ArtifactSpec) -> Result<Sums, ArtifactError> {
        let source = from.0.to_owned();
        let mut to = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(to_path)
            .map_err(ArtifactError::io("cannot make", to_path))?;
        let Pass { digest, sums } = pass(from, spec.size, Some((to_path, &mut to)), &self.stop)?;
        if digest != spec.key.digest {
            return Err(ArtifactError::WrongDigest { file: source, got: digest, said: spec.key.digest });
        }
        to.sync_all().map_err(ArtifactError::io("cannot write", to_path))?;
        self.accept(to_path, &digest)?;
        Ok(sums)
    }

    /// Gives synced bytes, whose digest was compared, their name in the cache.
    pub(super) fn accept(&self, file: &Path, digest: &Digest) -> Result<(), ArtifactError> {
        let path = self.path(digest);
        std::fs::rename(file, &path).map_err(ArtifactError::io("cannot rename to", &path))?;
        self.sync_dir()
    }

    /// What lies in it, oldest first.
    pub(super) fn files(&self) -> Result<Vec<CachedFile>, ArtifactError> {
        let mut files = files_in(&self.dir).map_err(ArtifactError::io("cannot read", &self.dir))?;
        files.sort_by_key(|file| file.modified);
        Ok(files)
    }

    /// Removes a file of the cache, and what belongs to it; false if it is gone already.
    pub(super) fn remove(&self, file: &CachedFile) -> Result<bool, ArtifactError> {
        match std::fs::remove_file(&file.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            removed => removed.map_err(ArtifactError::io("cannot remove", &file.path))?,
        }
        if let CachedKind::Part(_) = file.kind {
            forget_part(&file.path);
        }
        self.sync_dir().map(|()| true)
    }

    /// Is there room for so many bytes more, and the reserve?
    pub(super) fn preflight(&self, size: u64) -> Result<(), ArtifactError> {
        let disk = rustix::fs::statvfs(&self.dir)
            .map_err(|error| ArtifactError::io("cannot ask for the free space of", &self.dir)(error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let reserve = self.reserve.load(Ordering::Relaxed);
        let needed = size.saturating_add(reserve);
        if free < needed {
            return Err(ArtifactError::DiskFull { dir: self.dir.clone(), free, needed, reserve });
        }
        Ok(())
    }

    /// Moves a file to the first free `<name>.damaged-<n>`.
    fn set_aside(&self, path: &Path) -> ArtifactError {
        let named = |n: u32| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".damaged-{n}"));
            PathBuf::from(name)
        };
        let aside = (1..1_000).map(named).find(|aside| !aside.exists()).unwrap_or_else(|| named(1_000));
        match std::fs::rename(path, &aside).map_err(ArtifactError::io("is damaged and cannot be set aside:", path)) {
            Ok(()) => match self.sync_dir() {
                Ok(()) => ArtifactError::Damaged { file: path.into(), aside },
                Err(error) => error,
            },
            Err(error) => error,
        }
    }

    /// Without it a rename may be forgotten at a power loss.
    pub(super) fn sync_dir(&self) -> Result<(), ArtifactError> {
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(ArtifactError::io("cannot write", &self.dir))
    }
}
