//! Plain files and directories, as people, editors and tools write them.

use std::fs;
use std::os::unix::fs::symlink;

use lamplighter::model::ServiceReason;

use super::seen::watching;

#[test]
fn a_directory_is_its_names_and_bytes_and_the_keys_that_changed_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let edge = dir.path().join("edge");
    fs::create_dir(&edge).unwrap();
    fs::write(edge.join("a.conf"), "1").unwrap();
    fs::write(edge.join("b.conf"), "1").unwrap();
    fs::write(edge.join(".swap"), "1").unwrap();
    watching(dir.path(), &[&edge], async |seen| {
        let first = seen.first().await;
        fs::write(edge.join("b.conf"), "2").unwrap();
        let second = seen.other_than(&first).await;
        assert_eq!(second.changed_from(&first), ["b.conf"]);
        // a swap file of an editor is none of the service's
        fs::write(edge.join(".swap"), "2").unwrap();
        seen.stays_quiet().await;
        // the same bytes under another name are another configuration
        fs::rename(edge.join("b.conf"), edge.join("c.conf")).unwrap();
        let third = seen.other_than(&second).await;
        assert_eq!(third.changed_from(&second), ["b.conf", "c.conf"]);
    });
}

#[test]
fn a_touch_and_the_same_bytes_again_are_no_change() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.conf");
    fs::write(&file, "1").unwrap();
    watching(dir.path(), &[&file], async |seen| {
        let first = seen.first().await;
        for _ in 0..5 {
            fs::write(dir.path().join("new"), "1").unwrap();
            fs::rename(dir.path().join("new"), &file).unwrap();
            fs::File::options().append(true).open(&file).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
        }
        seen.stays_quiet().await;
        assert_eq!(seen.config(), first);
    });
}

#[test]
fn a_file_that_is_replaced_again_and_again_is_seen_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.conf");
    fs::write(&file, "0").unwrap();
    watching(dir.path(), &[&file], async |seen| {
        let mut config = seen.first().await;
        for at in 1..6 {
            fs::write(dir.path().join("new"), at.to_string()).unwrap();
            fs::rename(dir.path().join("new"), &file).unwrap();
            config = seen.other_than(&config).await;
        }
    });
}

#[test]
fn two_writes_in_one_tick_of_the_clock_are_both_seen() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.conf");
    fs::write(&file, "00").unwrap();
    watching(dir.path(), &[&file], async |seen| {
        seen.first().await;
        for at in 10..60 {
            // of the same length, in the same inode
            fs::write(&file, at.to_string()).unwrap();
        }
        let whole = seen.first().await;
        seen.stays_quiet().await;
        let last = seen.config();
        fs::write(&file, "59").unwrap();
        seen.stays_quiet().await;
        assert_eq!(seen.config(), last, "what was seen last is what was written last; {whole:?}");
    });
}

#[test]
fn a_file_that_vanishes_is_trouble_and_no_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.conf");
    fs::write(&file, "1").unwrap();
    watching(dir.path(), &[&file], async |seen| {
        let first = seen.first().await;
        fs::remove_file(&file).unwrap();
        seen.trouble(ServiceReason::ConfigMissing).await;
        fs::write(&file, "2").unwrap();
        seen.other_than(&first).await;
        assert_eq!(seen.hashes(), 2);
    });
}

#[test]
fn a_directory_that_is_replaced_or_was_never_there_is_found_and_watched_again() {
    let dir = tempfile::tempdir().unwrap();
    let edge = dir.path().join("edge");
    watching(dir.path(), &[&edge], async |seen| {
        seen.trouble(ServiceReason::ConfigMissing).await;
        let make = |name: &str, text: &str| {
            let made = dir.path().join(name);
            fs::create_dir(&made).unwrap();
            fs::write(made.join("a.conf"), text).unwrap();
        };
        make("new", "1");
        fs::rename(dir.path().join("new"), &edge).unwrap();
        let first = seen.first().await;
        make("newer", "2");
        fs::rename(&edge, dir.path().join("old")).unwrap();
        fs::rename(dir.path().join("newer"), &edge).unwrap();
        let second = seen.other_than(&first).await;
        fs::write(edge.join("a.conf"), "3").unwrap();
        seen.other_than(&second).await;
    });
}

#[test]
fn a_directory_that_is_a_link_to_versions_is_followed_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [("v1", "1"), ("v2", "2")] {
        fs::create_dir(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("a.conf"), text).unwrap();
    }
    let current = dir.path().join("current");
    symlink("v1", &current).unwrap();
    watching(dir.path(), &[&current], async |seen| {
        let first = seen.first().await;
        symlink("v2", dir.path().join("next")).unwrap();
        fs::rename(dir.path().join("next"), &current).unwrap();
        seen.other_than(&first).await;
    });
}

#[test]
fn of_a_pattern_only_what_looks_like_it_counts() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.conf"), "1").unwrap();
    fs::write(dir.path().join("a.txt"), "1").unwrap();
    watching(dir.path().parent().unwrap(), &[&dir.path().join("*.conf")], async |seen| {
        let first = seen.first().await;
        fs::write(dir.path().join("a.txt"), "2").unwrap();
        seen.stays_quiet().await;
        fs::write(dir.path().join("b.conf"), "1").unwrap();
        assert_eq!(seen.other_than(&first).await.changed_from(&first), ["b.conf"]);
    });
}

#[test]
fn several_sources_are_one_configuration_and_each_must_be_there() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one.conf"), dir.path().join("two.conf"));
    fs::write(&one, "1").unwrap();
    watching(dir.path(), &[&one, &two], async |seen| {
        seen.trouble(ServiceReason::ConfigMissing).await;
        fs::write(&two, "1").unwrap();
        let first = seen.first().await;
        fs::write(&two, "2").unwrap();
        assert_eq!(seen.other_than(&first).await.changed_from(&first), ["2/two.conf"]);
    });
}

#[test]
fn what_is_not_allowed_is_not_read_and_no_link_leads_out() {
    let dir = tempfile::tempdir().unwrap();
    let edge = dir.path().join("edge");
    fs::create_dir(&edge).unwrap();
    fs::write(dir.path().join("secret"), "x").unwrap();
    fs::write(edge.join("a.conf"), "1").unwrap();
    watching(&edge, &[&edge], async |seen| {
        let first = seen.first().await;
        symlink("../secret", edge.join("b.conf")).unwrap();
        let why = seen.trouble(ServiceReason::PathRefused).await;
        assert!(why.contains("leads out"), "{why}");
        fs::remove_file(edge.join("b.conf")).unwrap();
        assert_eq!(seen.first().await, first);
        seen.allow_nothing();
        let why = seen.trouble(ServiceReason::PathRefused).await;
        assert!(why.contains("services.allowPaths"), "{why}");
    });
}

#[test]
fn a_pipe_and_too_much_are_refused_without_being_read() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    watching(dir.path(), &[&pipe], async |seen| {
        let why = seen.trouble(ServiceReason::ConfigUnreadable).await;
        assert!(why.contains("a pipe"), "{why}");
    });
    let large = dir.path().join("large");
    fs::File::create(&large).unwrap().set_len(17 << 20).unwrap();
    watching(dir.path(), &[&large], async |seen| {
        let why = seen.trouble(ServiceReason::ConfigUnreadable).await;
        assert!(why.contains("16 MiB"), "{why}");
    });
}

#[test]
fn what_is_asked_for_again_is_said_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.conf");
    fs::write(&file, "1").unwrap();
    watching(dir.path(), &[&file], async |seen| {
        seen.first().await;
        let before = seen.count();
        seen.wanted.send_modify(|wanted| wanted.again += 1);
        while seen.count() == before {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(seen.hashes(), 1);
    });
}
