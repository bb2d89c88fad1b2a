//! Where the kernel tells of nothing: inotify's limits really exhausted.

use std::fs;
use std::process::Command;

use super::seen::watching;

/// In a user namespace of one's own inotify's limit is one's own too; the test runs itself there again.
const INSIDE: &str = "LAMPLIGHTER_TEST_WITHOUT_INOTIFY";

#[test]
fn without_inotify_instances_it_is_read_every_few_seconds_and_says_so() {
    if std::env::var_os(INSIDE).is_none() {
        let test = "services::limits::without_inotify_instances_it_is_read_every_few_seconds_and_says_so";
        let output = Command::new("unshare")
            .args(["--user", "--map-root-user", "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(INSIDE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    fs::write("/proc/sys/user/max_inotify_instances", "0").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.conf");
    fs::write(&file, "1").unwrap();
    watching(dir.path(), &[&file], async |seen| {
        let first = seen.first().await;
        let why = seen.now().degraded.unwrap();
        assert!(why.contains("max_user_instances"), "{why}");
        fs::write(&file, "2").unwrap();
        let second = seen.other_than(&first).await;
        // and told again once they are there
        fs::write("/proc/sys/user/max_inotify_instances", "128").unwrap();
        seen.until(
            "watched again",
            |fact| matches!(fact, lamplighter::model::ConfigFact::Seen(seen) if seen.degraded.is_none()),
        )
        .await;
        assert_eq!(seen.config(), second);
    });
}
