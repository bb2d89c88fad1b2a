//! Is what a drop needs in the directory? If not, in a sentence, for what it waits.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use super::digests::Digests;
use super::folder::{Entry, Folder, Stamp};
use super::manifest::Need;
use super::{Pace, Standing};
use crate::model::{ArtifactSpec, Source};

/// How it stands with an artifact that a drop needs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Met {
    /// It is verified in the cache.
    Ready,
    /// It can be had from these sources; the sentence says how far that is.
    Wanted(ArtifactSpec, String),
    /// Nothing can be done yet.
    Waits(String),
    /// The file that the manifest names is another one, and nobody writes to it any more.
    Wrong(String),
}

/// The directory at one moment, and what is known of its files.
pub(super) struct Sight<'a> {
    pub dir: &'a Path,
    pub folder: &'a Folder,
    pub digests: &'a mut Digests,
    /// Since when a file is what it is.
    pub since: &'a mut BTreeMap<Stamp, Instant>,
    pub now: Instant,
    pub pace: Pace,
}

impl Sight<'_> {
    /// Looks for an artifact. Any file of the right size and digest will do: the name in the manifest is a hint.
    pub fn look_for(&mut self, need: &Need, standing: Standing) -> Met {
        let artifact = &need.artifact;
        let failed = match standing {
            Standing::Ready => return Met::Ready,
            Standing::Wrong(why) => return Met::Waits(why),
            Standing::Failed(why) => Some(why),
            Standing::Absent => None,
        };
        let (mut sources, mut unread) = (Vec::new(), None);
        for (name, stamp) in self.folder.of_size(artifact.size) {
            let rested = self.rested(stamp);
            if rested < self.pace.rest {
                // some programs make a file as large as it will be before they fill it
                unread = Some(format!("{name} is here, and is read once nobody writes to it"));
                continue;
            }
            match self.digests.of(self.dir, (name, stamp), rested, self.pace.wrong_after) {
                Ok(digest) if digest == artifact.key.digest => {
                    sources.push(Source::File { dir: self.dir.into(), name: name.into() });
                }
                Ok(_) => {}
                Err(why) => unread = Some(format!("{name} {why}")),
            }
        }
        let here = !sources.is_empty();
        sources.extend(artifact.sources.iter().filter(|source| source.is_remote()).cloned());
        if !sources.is_empty() {
            let why = failed.unwrap_or_else(|| {
                if here {
                    "is here, and is being copied into the cache".into()
                } else {
                    format!("{}; it is fetched over the network meanwhile", self.missing(need))
                }
            });
            return Met::Wanted(ArtifactSpec { sources, ..artifact.clone() }, why);
        }
        match self.wrong(need) {
            Some(why) => Met::Wrong(why),
            None => Met::Waits(unread.unwrap_or_else(|| self.missing(need))),
        }
    }

    fn rested(&mut self, stamp: Stamp) -> Duration {
        self.now.saturating_duration_since(*self.since.entry(stamp).or_insert(self.now))
    }

    /// Of the names in the manifest, those that are files or something else here.
    fn named<'n>(&self, need: &'n Need) -> impl Iterator<Item = (&'n str, Option<Entry>)> {
        need.artifact.sources.iter().filter_map(|source| match source {
            Source::File { name, .. } => Some((name.as_str(), self.folder.entries.get(name).copied())),
            _ => None,
        })
    }

    /// A file of the right name and size with other bytes, at rest.
    fn wrong(&mut self, need: &Need) -> Option<String> {
        let named: Vec<_> = self.named(need).collect();
        named.into_iter().find_map(|(name, entry)| match entry {
            Some(Entry::File(stamp)) if stamp.size == need.artifact.size => {
                let rested = self.rested(stamp);
                if rested < self.pace.rest {
                    return None;
                }
                let digest = self.digests.of(self.dir, (name, stamp), rested, self.pace.wrong_after).ok()?;
                let said = need.artifact.key.digest;
                (rested >= self.pace.wrong_after).then(|| {
                    format!(
                        "spec.artifact.digest: is {said}, but {name} has {digest}; copy the right file, or correct the digest"
                    )
                })
            }
            _ => None,
        })
    }

    fn missing(&self, need: &Need) -> String {
        let size = need.artifact.size;
        let mut hint = None;
        for (name, entry) in self.named(need) {
            match entry {
                None => _ = hint.get_or_insert(name),
                Some(Entry::Special(what)) => {
                    return format!("{name} is {what}, not a plain file; copy the file itself");
                }
                Some(Entry::File(stamp)) if stamp.size < size => {
                    return format!("{} of {name} are here", part(stamp.size, size));
                }
                Some(Entry::File(stamp)) if stamp.size > size => {
                    return format!(
                        "{name} has {} bytes, but spec.artifact.sizeBytes says {size}; copy the right file, or correct the size",
                        stamp.size
                    );
                }
                Some(Entry::File(_)) => {
                    return format!("{name} is here, but has another digest; it may still be copying");
                }
            }
        }
        let hint = hint.unwrap_or("the artifact");
        format!("{hint} is not here yet; copy the file of {} beside the manifest, under any name", whole(size))
    }
}

fn unit(size: u64) -> (u64, &'static str) {
    match size {
        1_000_000_000.. => (1_000_000_000, "GB"),
        1_000_000.. => (1_000_000, "MB"),
        1_000.. => (1_000, "kB"),
        _ => (1, "bytes"),
    }
}

fn number(bytes: u64, unit: u64) -> String {
    if unit == 1 {
        return bytes.to_string();
    }
    let tenths = u128::from(bytes) * 10 / u128::from(unit);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn whole(size: u64) -> String {
    let (unit, name) = unit(size);
    format!("{} {name}", number(size, unit))
}

fn part(bytes: u64, size: u64) -> String {
    let (unit, name) = unit(size);
    format!("{} of {} {name}", number(bytes, unit), number(size, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a sight of one directory, at a moment of its own.
    struct Looks {
        dir: tempfile::TempDir,
        digests: Digests,
        since: BTreeMap<Stamp, Instant>,
        begin: Instant,
    }

    impl Looks {
        fn look(&mut self, after: Duration, need: &Need) -> Met {
            let folder = Folder::read(self.dir.path()).unwrap();
            let (digests, since) = (&mut self.digests, &mut self.since);
            let now = self.begin + after;
            let pace = Pace::default();
            let mut sight = Sight { dir: self.dir.path(), folder: &folder, digests, since, now, pace };
            sight.look_for(need, Standing::Absent)
        }
    }

    #[test]
    fn a_file_that_is_as_large_as_it_will_be_is_read_once_it_rests_and_not_at_each_look_while_it_is_filled() {
        let dir = tempfile::tempdir().unwrap();
        let source = Source::File { dir: dir.path().into(), name: "fw.bin".into() };
        let digest = crate::model::Digest::new(<sha2::Sha256 as sha2::Digest>::digest(b"firmware").into());
        let key = crate::model::ArtifactKey { name: "os".into(), version: "2".parse().unwrap(), digest };
        let artifact = ArtifactSpec { key, size: 8, sources: vec![source] };
        let need = Need { rollout: crate::model::Identity("main".into()), artifact };
        let file = dir.path().join("fw.bin");
        let (digests, since) = (Digests::default(), BTreeMap::new());
        let mut looks = Looks { dir, digests, since, begin: Instant::now() };
        for (second, bytes) in [(0, b"\0\0\0\0\0\0\0\0"), (10, b"firm\0\0\0\0"), (20, b"firmware")] {
            // another stamp, whatever the clock of the file system
            std::fs::remove_file(&file).ok();
            std::fs::write(&file, bytes).unwrap();
            let met = looks.look(Duration::from_secs(second), &need);
            let Met::Waits(why) = met else { panic!("{met:?} after {second} s") };
            assert_eq!(why, "fw.bin is here, and is read once nobody writes to it");
        }
        assert!(matches!(looks.look(Duration::from_secs(21), &need), Met::Waits(_)));
        assert!(matches!(looks.look(Duration::from_secs(22), &need), Met::Wanted(..)));
    }

    #[test]
    fn a_part_is_said_in_the_unit_of_the_whole() {
        assert_eq!(part(12_345_678, 80_000_000), "12.3 of 80.0 MB");
        assert_eq!(part(0, 80_000_000), "0.0 of 80.0 MB");
        assert_eq!(part(5, 9), "5 of 9 bytes");
        assert_eq!(part(u64::MAX - 1, u64::MAX), "18446744073.7 of 18446744073.7 GB");
        assert_eq!(whole(265_216), "265.2 kB");
    }
}
