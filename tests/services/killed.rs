//! Lamplighter is killed: nothing is restarted twice, and nothing is forgotten.

use std::thread::sleep;
use std::time::Duration;

use super::hall::{CALM, Hall};

#[test]
fn twenty_kills_with_nothing_changed_are_no_restart_and_a_change_meanwhile_is_one() {
    let hall = Hall::with_service("kills", "bridge", "");
    for at in 0..20 {
        hall.kill();
        hall.start();
        if at % 4 == 0 {
            hall.until_ready("bridge");
        }
    }
    hall.until_ready("bridge");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 1);
    hall.kill();
    hall.configure("a.conf", "B");
    hall.start();
    hall.until_starts("bridge", 2);
    hall.until_ready("bridge");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
}

#[test]
fn killed_at_any_moment_around_a_restart_it_is_restarted_exactly_once() {
    let hall = Hall::with_service("around", "bridge", "");
    // from before it settled, over the question, the commit, the call and the answer, until after the last commit
    for (at, late) in (0..24).map(|at| (at, 280 + at * 6)) {
        hall.configure("a.conf", &format!("{at}"));
        sleep(Duration::from_millis(late));
        hall.kill();
        let before = hall.starts("bridge");
        hall.start();
        hall.until_ready("bridge");
        let after = hall.starts("bridge");
        assert_eq!(after, 2 + usize::try_from(at).unwrap(), "killed {late} ms after the change, with {before} starts");
    }
}

#[test]
fn killed_while_the_unit_takes_its_time_to_stop_it_is_restarted_once() {
    let hall = Hall::new("slow");
    hall.configure("a.conf", "A");
    sleep(Duration::from_millis(200));
    hall.add_unit("bridge", "ExecStop=/bin/sleep 2\n");
    hall.declare("bridge", "a.conf", "");
    hall.until_ready("bridge");
    hall.configure("a.conf", "B");
    hall.until_reason("bridge", "Restarting");
    sleep(Duration::from_millis(500));
    hall.kill();
    hall.start();
    hall.until_ready("bridge");
    sleep(CALM);
    assert_eq!(hall.starts("bridge"), 2);
}
