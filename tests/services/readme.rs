//! The lines of the README, as they are printed there.

use std::fs;

use super::hall::Lab;

#[test]
fn the_readmes_lines_restart_the_sample_once() {
    let repository = env!("CARGO_MANIFEST_DIR");
    let readme = fs::read_to_string(format!("{repository}/README.md")).unwrap();
    let (_, section) = readme.split_once("\n## Restart a real service\n").unwrap();
    let lines: Vec<&str> = section.lines().filter_map(|line| line.strip_prefix("    ")).take(5).collect();
    let lab = Lab::new();
    lab.sh("mkdir -p /srv/readme/target/release");
    lab.sh("ln -sf /usr/local/bin/lamplighter /srv/readme/target/release/lamplighter");
    for file in ["site.yaml", "manifests/sample-edge.yaml"] {
        let text = fs::read(format!("{repository}/service-sample/{file}")).unwrap();
        lab.write(&format!("/srv/readme/service-sample/{file}"), &text);
    }
    // here everybody is root, and building takes a moment; a busy machine gets more time
    lab.write("/srv/readme/bin/sudo", b"#!/bin/sh\nexec \"$@\"\n");
    lab.write("/srv/readme/bin/cargo", b"#!/bin/sh\nexec sleep 1\n");
    lab.sh("chmod +x /srv/readme/bin/sudo /srv/readme/bin/cargo");
    let first = "cd /srv/readme; PATH=/srv/readme/bin:$PATH; exec 2>errors; sleep() { command sleep $(($1 * 3)); }";
    let said = lab.sh(&format!("{first}\n{}\nkill $!", lines.join("\n")));
    lab.sh("systemctl stop sample-edge");
    assert!(said.contains("sample-edge, sample-edge.service: Ready"), "{said}");
    assert!(said.lines().any(|line| line.split_whitespace().eq(["restarts", "1"])), "{said}");
}
