//! Units that cannot be restarted, or do not come back: explained, and never tried in a loop.

use std::thread::sleep;
use std::time::Duration;

use super::hall::{CALM, Hall};

#[test]
fn a_unit_that_is_missing_or_masked_or_not_allowed_is_explained() {
    let hall = Hall::new("odd");
    hall.configure("a.conf", "A");
    hall.declare("nobody", "a.conf", "");
    let line = hall.until_reason("nobody", "UnitMissing");
    assert!(line["message"].as_str().unwrap().contains("odd-nobody.service"), "{line}");
    hall.sh("systemctl mask --quiet odd-masked.service");
    hall.declare("masked", "a.conf", "");
    hall.until_reason("masked", "UnitMasked");
    let text = "{apiVersion: lamplighter.dev/v1alpha1, kind: EdgeService, metadata: {name: root}, spec: {config: [{path: \
                /srv/odd/edge/a.conf}, {path: /etc/shadow}], restart: {unit: dbus.service}}}";
    hall.write("manifests/root.yaml", text);
    hall.until_reason("root", "UnitRefused");
    hall.write("manifests/root.yaml", &text.replace("dbus.service", "odd-root.service"));
    let line = hall.until_reason("root", "PathRefused");
    assert!(line["message"].as_str().unwrap().contains("/etc/shadow"), "{line}");
}

#[test]
fn a_unit_that_does_not_come_back_or_is_not_well_stalls_until_the_next_change() {
    let hall = Hall::new("sick");
    hall.configure("a.conf", "A");
    sleep(Duration::from_millis(200));
    // it reads its configuration, and does not like C
    let check = "ExecStartPre=/bin/sh -c '! grep -q C /srv/sick/edge/a.conf'\n";
    hall.add_unit("bridge", check);
    hall.declare("bridge", "a.conf", ", health: {tcp: 1, timeout: 1s}");
    hall.until_ready("bridge");
    hall.configure("a.conf", "B");
    let line = hall.until_reason("bridge", "Unhealthy");
    assert!(line["message"].as_str().unwrap().contains("port 1 was not open"), "{line}");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
    hall.declare("bridge", "a.conf", ", health: {unitActiveFor: 300ms, timeout: 5s}");
    hall.configure("a.conf", "C");
    let line = hall.until_reason("bridge", "RestartFailed");
    assert!(line["message"].as_str().unwrap().contains("exit-code"), "{line}");
    sleep(CALM);
    assert_eq!((hall.starts("bridge"), &line["restarts"]), (2, &2.into()), "it never got so far");
    hall.configure("a.conf", "D");
    hall.until_starts("bridge", 3);
    hall.until_ready("bridge");
}

#[test]
fn a_unit_that_was_started_too_often_is_reset_once() {
    let hall = Hall::new("often");
    hall.configure("a.conf", "A");
    sleep(Duration::from_millis(200));
    hall.add_unit("bridge", "[Unit]\nStartLimitIntervalSec=3600\nStartLimitBurst=1\n");
    hall.declare("bridge", "a.conf", "");
    hall.until_ready("bridge");
    // systemd forgets its count when it is reloaded, as another test may have it do
    let was_reset = (2..12).any(|starts| {
        hall.configure("a.conf", &starts.to_string());
        hall.until_starts("bridge", starts);
        let line = hall.until_ready("bridge");
        line["lastRestart"]["message"].as_str().unwrap_or_default().contains("start-limit-hit")
    });
    assert!(was_reset);
}
