//! ConfigMap volumes: the kubelet's atomic writer, step by step as `pkg/volume/util/atomic_writer.go` does it, on a real
//! file system.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use lamplighter::model::ServiceReason;

use super::seen::watching;

/// A volume, and what is in it.
struct Volume {
    dir: PathBuf,
    made: AtomicU32,
}

type Payload<'p> = BTreeMap<&'p str, &'p str>;

impl Volume {
    fn new(dir: &Path) -> Self {
        fs::create_dir_all(dir).unwrap();
        Self { dir: dir.to_owned(), made: AtomicU32::new(0) }
    }

    /// Step 5 to 7: the new directory, with all files.
    fn timestamped(&self, payload: &Payload) -> String {
        let name = format!("..2026_12_01_06_00_00.{:010}", self.made.fetch_add(1, Ordering::Relaxed));
        for (key, text) in payload {
            let file = self.dir.join(&name).join(key);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        name
    }

    /// Step 8 to 10: what is in force is switched by one rename.
    fn swap(&self, to: &str) {
        let new = self.dir.join("..data_tmp");
        symlink(to, &new).unwrap();
        fs::rename(new, self.dir.join("..data")).unwrap();
    }

    /// The links that people see.
    fn show(&self, payload: &Payload) {
        for key in payload.keys() {
            let first = key.split('/').next().unwrap();
            let link = self.dir.join(first);
            if !link.is_symlink() {
                symlink(Path::new("..data").join(first), link).unwrap();
            }
        }
    }

    /// Step 12: links of keys that are gone, then the old directory.
    fn clean(&self, payload: &Payload, old: Option<&str>) {
        for entry in fs::read_dir(&self.dir).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let there = payload.keys().any(|key| key.split('/').next() == Some(&name));
            if !name.starts_with("..") && !there {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        if let Some(old) = old {
            fs::remove_dir_all(self.dir.join(old)).unwrap();
        }
    }

    fn in_force(&self) -> Option<String> {
        fs::read_link(self.dir.join("..data")).ok().map(|to| to.to_str().unwrap().to_owned())
    }

    /// A pass of the kubelet: nothing at all if nothing changed.
    fn write(&self, payload: &Payload) {
        let old = self.in_force();
        let new = self.timestamped(payload);
        self.swap(&new);
        self.show(payload);
        self.clean(payload, old.as_deref());
    }
}

#[test]
fn each_swap_of_a_volume_is_seen_and_each_only_whole() {
    let dir = tempfile::tempdir().unwrap();
    let volume = Volume::new(&dir.path().join("cfg"));
    volume.write(&BTreeMap::from([("a.conf", "0"), ("b.conf", "0")]));
    watching(dir.path(), &[&volume.dir], async |seen| {
        let mut config = seen.first().await;
        for text in ["1", "2", "3", "4", "5"] {
            let before = seen.hashes();
            volume.write(&BTreeMap::from([("a.conf", text), ("b.conf", text)]));
            let next = seen.other_than(&config).await;
            assert_eq!(next.changed_from(&config), ["a.conf", "b.conf"]);
            assert_eq!(seen.hashes(), before + 1, "a mixture of two volumes was seen");
            config = next;
        }
    });
}

#[test]
fn one_file_of_a_volume_changes_with_each_swap_and_for_no_other_key() {
    let dir = tempfile::tempdir().unwrap();
    let volume = Volume::new(&dir.path().join("cfg"));
    volume.write(&BTreeMap::from([("a.conf", "0"), ("b.conf", "0")]));
    watching(dir.path(), &[&volume.dir.join("a.conf")], async |seen| {
        let mut config = seen.first().await;
        volume.write(&BTreeMap::from([("a.conf", "0"), ("b.conf", "1")]));
        seen.stays_quiet().await;
        assert_eq!(seen.config().hash, config.hash);
        for text in ["1", "2", "3"] {
            volume.write(&BTreeMap::from([("a.conf", text), ("b.conf", "1")]));
            config = seen.other_than(&config).await;
        }
    });
}

#[test]
fn a_pass_that_changes_nothing_is_no_change_nor_is_one_that_writes_the_same_anew() {
    let dir = tempfile::tempdir().unwrap();
    let volume = Volume::new(&dir.path().join("cfg"));
    let payload = BTreeMap::from([("a.conf", "0")]);
    volume.write(&payload);
    watching(dir.path(), &[&volume.dir], async |seen| {
        let first = seen.first().await;
        for _ in 0..10 {
            // unchanged, it looks for what is to be cleaned and stops
            volume.clean(&payload, None);
            // made anew, as after the kubelet's own restart
            volume.write(&payload);
        }
        seen.stays_quiet().await;
        assert_eq!((seen.config().hash, seen.hashes()), (first.hash, 1));
    });
}

#[test]
fn a_key_whose_link_is_not_there_yet_counts_as_soon_as_it_is_in_force() {
    let dir = tempfile::tempdir().unwrap();
    let volume = Volume::new(&dir.path().join("cfg"));
    volume.write(&BTreeMap::from([("a.conf", "0")]));
    watching(dir.path(), &[&volume.dir], async |seen| {
        let first = seen.first().await;
        let payload = BTreeMap::from([("a.conf", "0"), ("b.conf", "0")]);
        let old = volume.in_force();
        let new = volume.timestamped(&payload);
        volume.swap(&new);
        let second = seen.other_than(&first).await;
        assert_eq!(second.changed_from(&first), ["b.conf"]);
        volume.show(&payload);
        volume.clean(&payload, old.as_deref());
        seen.stays_quiet().await;
        assert_eq!(seen.hashes(), 2);
    });
}

#[test]
fn in_the_old_order_with_the_links_before_the_swap_nothing_is_seen_before_it() {
    let dir = tempfile::tempdir().unwrap();
    let volume = Volume::new(&dir.path().join("cfg"));
    volume.write(&BTreeMap::from([("a.conf", "0")]));
    watching(dir.path(), &[&volume.dir], async |seen| {
        let first = seen.first().await;
        let payload = BTreeMap::from([("a.conf", "0"), ("b.conf", "0")]);
        let old = volume.in_force();
        // links that lead nowhere yet
        volume.show(&payload);
        let new = volume.timestamped(&payload);
        seen.stays_quiet().await;
        assert_eq!(seen.config().hash, first.hash);
        volume.swap(&new);
        seen.other_than(&first).await;
        volume.clean(&payload, old.as_deref());
        seen.stays_quiet().await;
        assert_eq!(seen.hashes(), 2);
    });
}

#[test]
fn keys_that_are_mounted_in_directories_count() {
    let dir = tempfile::tempdir().unwrap();
    let volume = Volume::new(&dir.path().join("cfg"));
    volume.write(&BTreeMap::from([("conf.d/a.conf", "0")]));
    watching(dir.path(), &[&volume.dir], async |seen| {
        let first = seen.first().await;
        volume.write(&BTreeMap::from([("conf.d/a.conf", "1")]));
        assert_eq!(seen.other_than(&first).await.changed_from(&first), ["conf.d/a.conf"]);
    });
}

#[test]
fn a_volume_that_is_unmounted_and_mounted_again_with_the_same_content_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let cfg = dir.path().join("cfg");
    let payload = BTreeMap::from([("a.conf", "0")]);
    Volume::new(&cfg).write(&payload);
    watching(dir.path(), &[&cfg], async |seen| {
        let first = seen.first().await;
        fs::remove_dir_all(&cfg).unwrap();
        seen.trouble(ServiceReason::ConfigMissing).await;
        Volume::new(&cfg).write(&payload);
        assert_eq!(seen.first().await.hash, first.hash);
    });
}

#[test]
fn under_a_hundred_swaps_only_whole_volumes_are_ever_seen() {
    let dir = tempfile::tempdir().unwrap();
    let volume = Volume::new(&dir.path().join("cfg"));
    let texts: Vec<String> = (0..100).map(|at| at.to_string()).collect();
    volume.write(&BTreeMap::from([("a.conf", "first"), ("b.conf", "first")]));
    watching(dir.path(), &[&volume.dir], async |seen| {
        let mut config = seen.first().await;
        for text in &texts {
            volume.write(&BTreeMap::from([("a.conf", text.as_str()), ("b.conf", text)]));
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
            let now = seen.config();
            assert_eq!(now.keys["a.conf"], now.keys["b.conf"], "half of one and half of another");
            config = now;
        }
        volume.write(&BTreeMap::from([("a.conf", "last"), ("b.conf", "last")]));
        seen.other_than(&config).await;
        seen.stays_quiet().await;
        let end = seen.config();
        volume.write(&BTreeMap::from([("a.conf", "last"), ("b.conf", "last")]));
        seen.stays_quiet().await;
        assert_eq!(seen.config().hash, end.hash, "the last is the one that is there");
    });
}
