//! Writing a file that is whole or not there, as sticks are pulled out.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes it beside its place, and then puts it there; a file that is there already is replaced only if that is said.
pub(super) fn write(path: &Path, content: &[u8], replace: bool) -> io::Result<()> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().ok_or_else(|| io::Error::other("it names no file"))?);
    name.push(".new");
    let new = path.with_file_name(name);
    let put = || {
        let mut file = File::create(&new)?;
        file.write_all(content)?;
        file.sync_all()?;
        if replace { fs::rename(&new, path) } else { put_new(&new, path) }
    };
    let put = put();
    if put.is_err() {
        let _ = fs::remove_file(&new);
    }
    put
}

/// Sticks have no links, by which nothing could ever be overwritten; there a look has to do.
fn put_new(new: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(new, path) {
        Ok(()) => fs::remove_file(new),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if path.symlink_metadata().is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(new, path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_replaced_only_if_that_is_said_and_nothing_is_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.yaml");
        write(&path, b"one", false).unwrap();
        assert_eq!(write(&path, b"two", false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write(&path, b"two", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert!(write(&dir.path().join("none/a.yaml"), b"x", true).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
