//! A ConfigMap volume as the kubelet writes it, under the units that read it.

use std::thread::sleep;

use super::hall::{CALM, Hall};

/// The kubelet's atomic writer: a new directory, and a link that is swapped by a rename.
fn write(hall: &Hall, version: u32, text: &str) {
    hall.write(&format!("edge/volume/..{version}/a.conf"), text);
    hall.sh(&format!(
        "cd /srv/{}/edge/volume && ln -s ..{version} ..data_tmp && mv -T ..data_tmp ..data && ln -sfn ..data/a.conf a.conf",
        hall.name()
    ));
}

#[test]
fn passes_of_the_kubelet_that_change_nothing_restart_nothing_and_a_swap_restarts_once() {
    let hall = Hall::new("volume");
    write(&hall, 1, "A");
    sleep(std::time::Duration::from_millis(200));
    hall.add_unit("bridge", "");
    hall.declare("bridge", "volume", "");
    hall.until_ready("bridge");
    // a pass looks and touches; and an edit of the ConfigMap's labels writes the same anew
    for version in 2..8 {
        hall.sh("touch -h /srv/volume/edge/volume/a.conf; touch /srv/volume/edge/volume");
        write(&hall, version, "A");
    }
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 1);
    write(&hall, 8, "B");
    hall.until_starts("bridge", 2);
    hall.until_ready("bridge");
    // deleted, and created again with the same content
    hall.sh("mv /srv/volume/edge/volume /srv/volume/gone");
    hall.until_reason("bridge", "ConfigMissing");
    write(&hall, 9, "B");
    hall.until_ready("bridge");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
}
