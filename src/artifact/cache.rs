//! The cache on disk: `<state>/artifacts/sha256/<hex>`, complete and verified when it bears that name.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::ArtifactError;
use super::copy::{Pass, pass};
use super::listing::cache_dir;
use crate::inside::open_inside;
use crate::model::{ArtifactSpec, Digest, Source, Sums};

/// The artifacts of a site. Its functions block: call them where blocking is allowed.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
    reserve: u64,
    stop: Arc<AtomicBool>,
}

impl Cache {
    /// The cache under a state directory, made if it is not there. Half copies of an earlier run are removed. `reserve`
    /// bytes of the disk are never filled with artifacts, so that the store can always write.
    pub fn open(state: &Path, reserve: u64) -> io::Result<Self> {
        let dir = cache_dir(state);
        std::fs::create_dir_all(&dir)?;
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == "part") {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(Self { dir, reserve, stop: Arc::default() })
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
            Ok(_) => Err(self.set_aside(&path)),
            Err(error) => Err(error),
        }
    }

    /// Copies an artifact from the first of its sources that has it, and verifies it on the way.
    pub fn copy_in(&self, spec: &ArtifactSpec) -> Result<Sums, ArtifactError> {
        let mut errors = Vec::new();
        for source in &spec.sources {
            match self.copy_from(source, spec) {
                Ok(sums) => return Ok(sums),
                Err(ArtifactError::Stopped) => return Err(ArtifactError::Stopped),
                Err(error) => errors.push(error),
            }
        }
        match errors.pop() {
            Some(only) if errors.is_empty() => Err(only),
            last => Err(ArtifactError::AllSources(errors.into_iter().chain(last).collect())),
        }
    }

    fn copy_from(&self, source: &Source, spec: &ArtifactSpec) -> Result<Sums, ArtifactError> {
        let Source::File { dir, name } = source;
        let file = dir.join(name);
        let mut from = open_inside(dir, name).map_err(|why| ArtifactError::Source { file: file.clone(), why })?;
        // somebody may have cleared the state directory while we run
        std::fs::create_dir_all(&self.dir).map_err(ArtifactError::io("cannot make", &self.dir))?;
        self.preflight(spec.size)?;
        let digest = &spec.key.digest;
        let part = self.dir.join(format!("{}.part", digest.hex()));
        let result = self.copy((&file, &mut from), &part, spec);
        if result.is_err() {
            // The error of the copy says more; what cannot be removed now is removed at the next start.
            let _ = std::fs::remove_file(&part);
        }
        result
    }

    fn copy(&self, from: (&Path, &mut File), part: &Path, spec: &ArtifactSpec) -> Result<Sums, ArtifactError> {
        let source = from.0.to_owned();
        let mut to = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(part)
            .map_err(ArtifactError::io("cannot make", part))?;
        let Pass { digest, sums } = pass(from, spec.size, Some((part, &mut to)), &self.stop)?;
        if digest != spec.key.digest {
            return Err(ArtifactError::WrongDigest { file: source, got: digest, said: spec.key.digest });
        }
        to.sync_all().map_err(ArtifactError::io("cannot write", part))?;
        let path = self.path(&digest);
        std::fs::rename(part, &path).map_err(ArtifactError::io("cannot rename to", &path))?;
        self.sync_dir()?;
        Ok(sums)
    }

    fn preflight(&self, size: u64) -> Result<(), ArtifactError> {
        let disk = rustix::fs::statvfs(&self.dir)
            .map_err(|error| ArtifactError::io("cannot ask for the free space of", &self.dir)(error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let needed = size.saturating_add(self.reserve);
        if free < needed {
            return Err(ArtifactError::DiskFull { dir: self.dir.clone(), free, needed, reserve: self.reserve });
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
    fn sync_dir(&self) -> Result<(), ArtifactError> {
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(ArtifactError::io("cannot write", &self.dir))
    }
}
