//! Opening a file that must lie in a directory: whatever leads out of it, or is no plain file, is refused unread.
//!
//! A leaf beside the rooms, as manifests and artifacts are opened by the same rule. Imports nothing of ours.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Why a file was not opened: lower-case fragments that go after the file's name.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none.
    #[error("does not exist; put it there")]
    Missing,
    /// A link leads out of the directory.
    #[error("is a link that leads out of its directory, to {0}; copy the file itself")]
    Outside(PathBuf),
    /// A directory, pipe, socket or device.
    #[error("is {0}, not a plain file; remove it")]
    Special(&'static str),
    /// The operating system says no.
    #[error("cannot be opened: {0}")]
    Io(#[from] io::Error),
}

/// Opens `dir/name` for reading. Links are followed only inside `dir`, as ConfigMap volumes have them; opening never
/// blocks, whatever lies there.
pub fn open_inside(dir: &Path, name: &str) -> Result<File, OpenError> {
    let root = dir.canonicalize().map_err(missing)?;
    let path = root.join(name).canonicalize().map_err(missing)?;
    if !path.starts_with(&root) {
        return Err(OpenError::Outside(path));
    }
    open_leaf(&path)
}

/// Opens the file `dir/name` itself: a link is refused wherever it leads, also one that takes the file's place just now.
pub fn open_plain(dir: &Path, name: &str) -> Result<File, OpenError> {
    open_leaf(&dir.join(name))
}

fn open_leaf(path: &Path) -> Result<File, OpenError> {
    // What it is is asked first: opening a device may already do something. What was opened is asked again.
    plain(&std::fs::symlink_metadata(path).map_err(missing)?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::LOOP => OpenError::Special(LINK),
        error => missing(error.into()),
    })?);
    plain(&file.metadata()?)?;
    Ok(file)
}

fn missing(error: io::Error) -> OpenError {
    if error.kind() == io::ErrorKind::NotFound { OpenError::Missing } else { OpenError::Io(error) }
}

const LINK: &str = "a link";

fn plain(metadata: &std::fs::Metadata) -> Result<(), OpenError> {
    special(metadata).map_or(Ok(()), |what| Err(OpenError::Special(what)))
}

/// What it is, if it is no plain file.
pub fn special(metadata: &std::fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    let special = if kind.is_file() {
        return None;
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        LINK
    } else {
        "a device"
    };
    Some(special)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_inside_are_followed_and_everything_else_is_refused_without_blocking() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("..2024")).unwrap();
        std::fs::write(at("..2024/a.yaml"), "a").unwrap();
        symlink("..2024", at("..data")).unwrap();
        symlink("..data/a.yaml", at("a.yaml")).unwrap();
        symlink("/etc/hostname", at("out.yaml")).unwrap();
        symlink("/dev/zero", at("zero.yaml")).unwrap();
        symlink("nowhere", at("dangling.yaml")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe.yaml"),
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let open = |name: &str| open_inside(dir.path(), name);
        assert!(open("a.yaml").is_ok());
        assert!(matches!(open("out.yaml"), Err(OpenError::Outside(_))));
        assert!(matches!(open("zero.yaml"), Err(OpenError::Outside(_))));
        assert!(matches!(open("dangling.yaml"), Err(OpenError::Missing)));
        assert!(matches!(open("pipe.yaml"), Err(OpenError::Special("a pipe"))));
        assert!(matches!(open("..2024"), Err(OpenError::Special("a directory"))));
        assert!(matches!(open("../x"), Err(OpenError::Missing | OpenError::Outside(_))));
        let plain = |name: &str| open_plain(dir.path(), name);
        assert!(plain("..2024/a.yaml").is_ok());
        for link in ["a.yaml", "out.yaml", "zero.yaml", "dangling.yaml"] {
            assert!(matches!(plain(link), Err(OpenError::Special("a link"))), "{link}");
        }
        assert!(matches!(plain("pipe.yaml"), Err(OpenError::Special("a pipe"))));
        assert!(matches!(plain("none"), Err(OpenError::Missing)));
    }
}
