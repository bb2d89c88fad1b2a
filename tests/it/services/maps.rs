//! ConfigMaps of an API server beside what is read on this machine.

use std::path::Path;
use std::sync::Arc;

use lamplighter::model::{ConfigMapSeen, ConfigMaps, ServiceReason};
use tempfile::TempDir;

use super::seen::{Seen, watching};

fn says(seen: &Seen, what: ConfigMapSeen) {
    seen.maps.send_replace(ConfigMaps::from(Arc::new(vec![("modbus".into(), what)])));
}

fn content(byte: u8) -> Vec<(String, [u8; 32])> {
    vec![("a.conf".into(), [byte; 32])]
}

#[test]
fn a_config_map_is_read_once_the_api_server_said_what_is_in_it_and_the_same_again_is_no_change() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("b.conf");
    std::fs::write(&file, "B").unwrap();
    watching(dir.path(), &[Path::new("ConfigMap/modbus"), &file], async |seen| {
        seen.stays_quiet().await;
        assert_eq!(seen.count(), 0, "half of it is nothing");
        says(seen, Ok(content(1)));
        let first = seen.first().await;
        says(seen, Ok(content(1)));
        // deleted, and created again with the same content
        says(seen, Err((ServiceReason::ConfigMissing, "gone".into())));
        assert_eq!(seen.trouble(ServiceReason::ConfigMissing).await, "gone");
        says(seen, Ok(content(1)));
        assert_eq!(seen.first().await.hash, first.hash);
        says(seen, Ok(content(2)));
        let second = seen.other_than(&first).await;
        assert_eq!(second.changed_from(&first), ["1/a.conf"]);
        std::fs::write(&file, "C").unwrap();
        assert_eq!(seen.other_than(&second).await.changed_from(&second), ["2/b.conf"]);
    });
}
