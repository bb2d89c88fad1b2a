//! What kind of place a file lies in: whether the kernel tells of changes there, and whether there can be any.

use std::path::{Path, PathBuf};

/// File systems whose changes are made elsewhere, so that nothing is heard of them.
const SILENT: [(u64, &str); 8] = [
    (0x6969, "NFS"),
    (0x517b, "SMB"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
];

/// Why nothing is heard of changes in a directory, if that is so by its file system.
pub(super) fn silent(dir: &Path) -> Option<String> {
    let kind = rustix::fs::statfs(dir).ok()?.f_type;
    // of 32 bits, whatever type a platform has for it
    let kind = u64::try_from(kind & 0xffff_ffff).unwrap_or(0);
    let (_, name) = SILENT.iter().find(|(magic, _)| *magic == kind)?;
    Some(format!("{} lies on {name}, which does not tell of changes; it is read every few seconds", dir.display()))
}

/// Where something is mounted, and what of its file system.
#[derive(Debug, Default)]
pub(super) struct Mounts(Vec<(PathBuf, String)>);

impl Mounts {
    /// As they are now.
    pub fn now() -> Self {
        Self::read(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    fn read(table: &str) -> Self {
        let mount = |line: &str| {
            let mut fields = line.split(' ').skip(3);
            let (root, point) = (fields.next()?, fields.next()?);
            Some((PathBuf::from(unescaped(point)), unescaped(root)))
        };
        Self(table.lines().filter_map(mount).collect())
    }

    /// Why a file never changes here, if that is so: it is mounted by itself, so that whoever replaces it elsewhere leaves
    /// this one as it is.
    pub fn fixed(&self, file: &Path) -> Option<String> {
        let fixes = |(point, root): &(PathBuf, String)| {
            point == file || (file.starts_with(point) && root.contains("/volume-subpaths/"))
        };
        if self.0.iter().any(fixes) {
            let why = "is mounted by itself (subPath, or a bind mount), so it stays as it is when it is replaced where it \
                       comes from; mount the whole volume or directory";
            return Some(format!("{} {why}", file.display()));
        }
        None
    }
}

/// `\040` is a space.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                whole.push(char::from(code));
                whole.push_str(part.get(3..).unwrap_or_default());
            }
            None => {
                whole.push('\\');
                whole.push_str(part);
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_mounted_by_itself_never_changes() {
        let mounts = Mounts::read(
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
             2 1 8:1 /etc/x /etc/edge/a\\040b.conf rw - ext4 /dev/sda1 rw\n\
             3 1 8:1 /kubelet/pods/1/volume-subpaths/cfg/app/0 /etc/sub rw - ext4 /dev/sda1 rw\n",
        );
        let fixed = |path: &str| mounts.fixed(Path::new(path)).is_some();
        assert!(fixed("/etc/edge/a b.conf") && fixed("/etc/sub/x"));
        assert!(!fixed("/etc/edge/c.conf") && !fixed("/etc/edge"));
    }

    #[test]
    fn a_disk_tells_of_changes_and_proc_is_no_network() {
        assert_eq!(silent(Path::new("/proc")), None);
        assert_eq!(silent(Path::new("/nowhere")), None);
    }
}
