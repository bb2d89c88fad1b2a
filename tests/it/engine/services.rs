//! Services: restarted exactly when what they read changed, and exactly once. Counts, not times.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use lamplighter::engine::{ServicePhase, Step, service_phase};
use lamplighter::model::{
    Config, ConfigFact, ConfigSeen, Digest, Event, Mark, Method, Order, RestartResult, ServiceName, ServiceReason,
    ServiceSpec, UnitFact, UnitTask, Verdict, What,
};

use super::site::{Site, id};

const SETTLE: Duration = Duration::from_secs(2);
const MIN_INTERVAL: Duration = Duration::from_secs(10);

pub fn spec() -> ServiceSpec {
    ServiceSpec {
        config: vec!["/etc/edge/modbus".parse().unwrap()],
        unit: "modbus.service".parse().unwrap(),
        method: Method::Restart,
        settle: SETTLE,
        min_interval: MIN_INTERVAL,
        health: None,
    }
}

fn config(text: &str) -> Rc<Config> {
    let hash = Digest::new([text.bytes().next().unwrap(); 32]);
    let keys = BTreeMap::from([("a.conf".to_owned(), u32::from(text.as_bytes()[0])), ("b.conf".to_owned(), 7)]);
    Rc::new(Config { hash, keys })
}

/// A site with one service, and the unit as systemd would have it.
pub struct Plant {
    pub site: Site,
    /// The unit's runs so far.
    runs: u32,
    /// When it was started.
    started: u64,
    /// It is stopped.
    stopped: bool,
    /// What its restarts come to.
    result: RestartResult,
}

impl Plant {
    /// It is declared, and nothing was read yet.
    pub fn declared() -> Self {
        let mut site = Site::new();
        site.settings.services = Rc::new(lamplighter::model::ServiceAllowance {
            units: vec!["modbus*.service".parse().unwrap()],
            paths: vec![],
        });
        site.services.insert("modbus".into(), spec());
        site.restart_whole();
        Self { site, runs: 1, started: 0, stopped: false, result: RestartResult::Done }
    }

    /// It was seen for the first time.
    fn new() -> Self {
        let mut plant = Self::declared();
        plant.reads("A");
        plant.works();
        assert_eq!((plant.restarts(), plant.rows(What::ConfigRecorded)), (0, 1));
        plant
    }

    fn reads(&mut self, text: &str) -> Verdict {
        self.sees(ConfigFact::Seen(ConfigSeen { config: config(text), changed: None, degraded: None, fixed: None }))
    }

    fn sees(&mut self, fact: ConfigFact) -> Verdict {
        self.site.happens(Event::Config(name(), Rc::new(spec()), fact))
    }

    fn mark(&self) -> Mark {
        Mark { invocation: format!("run-{}", self.runs), changed: u64::from(self.runs) }
    }

    /// This is read, and a minute goes by.
    pub fn settles(&mut self, text: &str) {
        self.reads(text);
        self.wait(Duration::from_secs(60));
    }

    /// systemd does what is wanted of it, until nothing is.
    fn works(&mut self) {
        while let Some((number, fact)) = self.does() {
            self.site.happens(Event::Unit(name(), number, fact));
        }
    }

    /// What systemd does about the first job, and says.
    fn does(&mut self) -> Option<(u64, UnitFact)> {
        let job = self.site.jobs.first()?.clone();
        let up = Some(Duration::from_millis(self.site.now.0 - self.started));
        let fact = match job.task {
            UnitTask::Look if self.stopped => UnitFact::Idle { mark: self.mark() },
            UnitTask::Look => UnitFact::Ready { mark: self.mark(), up },
            UnitTask::Restart { before, .. } => {
                if before == self.mark() {
                    (self.runs, self.started, self.stopped) = (self.runs + 1, self.site.now.0, false);
                }
                UnitFact::Ended(self.result, String::new())
            }
        };
        Some((job.number, fact))
    }

    /// Time passes, and systemd does what is wanted meanwhile.
    fn wait(&mut self, time: Duration) {
        let until = self.site.now.plus(time);
        while self.site.now < until {
            self.works();
            let step = until.since(self.site.now).min(Duration::from_millis(100));
            self.site.wait(step);
        }
        self.works();
    }

    pub fn restarts(&self) -> u32 {
        self.runs - 1
    }

    fn rows(&self, what: What) -> usize {
        self.site.journal.iter().filter(|row| row.what == what).count()
    }

    pub fn phase(&self) -> ServicePhase {
        let state = self.site.core.state();
        service_phase(state, &state.services[&name()], self.site.now)
    }

    pub fn reason(&self) -> Option<ServiceReason> {
        match self.phase() {
            ServicePhase::Ready => None,
            ServicePhase::Reconciling(reason, _) | ServicePhase::Stalled(reason, _) => Some(reason),
        }
    }
}

pub fn name() -> ServiceName {
    ServiceName("modbus".into())
}

#[test]
fn the_first_sight_records_and_restarts_nothing() {
    let mut plant = Plant::new();
    plant.wait(Duration::from_secs(600));
    assert_eq!((plant.restarts(), plant.phase()), (0, ServicePhase::Ready));
}

#[test]
fn a_unit_that_was_started_before_its_configuration_changed_is_restarted_at_first_sight_and_it_says_so() {
    let mut plant = Plant::declared();
    plant.site.clock_says("2026-12-01T06:00:00Z");
    let changed = "2026-12-01T05:59:00Z".parse::<jiff::Timestamp>().unwrap().as_millisecond();
    // up for longer than that
    plant.started = plant.site.now.0 - 120_000;
    let seen = ConfigSeen { config: config("A"), changed: Some(changed), degraded: None, fixed: None };
    plant.sees(ConfigFact::Seen(seen));
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 1);
    let begun = plant.site.journal.iter().find(|row| row.what == What::RestartBegun).unwrap();
    assert!(begun.detail.contains("the unit was started before it changed"), "{}", begun.detail);
}

#[test]
fn without_a_clock_nobody_knows_which_was_first_and_nothing_is_restarted() {
    let mut plant = Plant::declared();
    plant.started = 0;
    let seen = ConfigSeen { config: config("A"), changed: Some(i64::MAX), degraded: None, fixed: None };
    plant.sees(ConfigFact::Seen(seen));
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 0);
}

#[test]
fn a_change_restarts_once_after_it_settled_and_the_journal_says_which_keys() {
    let mut plant = Plant::new();
    plant.reads("B");
    plant.wait(SETTLE - Duration::from_millis(100));
    assert_eq!((plant.restarts(), plant.reason()), (0, Some(ServiceReason::Settling)));
    plant.wait(Duration::from_secs(600));
    assert_eq!((plant.restarts(), plant.phase()), (1, ServicePhase::Ready));
    let begun = plant.site.journal.iter().find(|row| row.what == What::RestartBegun).unwrap();
    assert_eq!(begun.service.as_deref(), Some("modbus"));
    let text = "Restart modbus.service, sha256:414141414141 is now sha256:424242424242, changed: a.conf: its configuration changed";
    assert_eq!(begun.detail, text);
    assert_eq!(plant.rows(What::Restarted), 1);
}

#[test]
fn the_same_bytes_again_restart_nothing() {
    let mut plant = Plant::new();
    for _ in 0..20 {
        plant.reads("A");
        plant.wait(Duration::from_secs(5));
    }
    assert_eq!(plant.restarts(), 0);
}

#[test]
fn there_and_back_within_the_settle_time_restarts_nothing() {
    let mut plant = Plant::new();
    plant.reads("B");
    plant.wait(Duration::from_secs(1));
    plant.reads("A");
    plant.wait(Duration::from_secs(600));
    assert_eq!(plant.restarts(), 0);
}

#[test]
fn there_and_back_after_it_was_applied_is_two_restarts() {
    let mut plant = Plant::new();
    for text in ["B", "A"] {
        plant.reads(text);
        plant.wait(Duration::from_secs(60));
    }
    assert_eq!(plant.restarts(), 2);
}

#[test]
fn ten_changes_in_ten_seconds_are_at_most_two_restarts() {
    let mut plant = Plant::new();
    for at in 0..10 {
        plant.reads(&char::from(b'B' + at).to_string());
        plant.wait(Duration::from_secs(1));
    }
    plant.wait(Duration::from_secs(600));
    assert!((1..=2).contains(&plant.restarts()), "{}", plant.restarts());
    assert_eq!(plant.phase(), ServicePhase::Ready);
}

#[test]
fn what_never_rests_is_applied_all_the_same_and_not_more_often_than_allowed() {
    let mut plant = Plant::new();
    for at in 0_u32..120 {
        plant.reads(&char::from(b'a' + u8::try_from(at % 26).unwrap()).to_string());
        plant.wait(Duration::from_secs(1));
    }
    // once per ten settle times
    assert!((4..=12).contains(&plant.restarts()), "{}", plant.restarts());
}

#[test]
fn changes_while_it_is_too_soon_are_taken_together() {
    let mut plant = Plant::new();
    plant.reads("B");
    plant.wait(Duration::from_secs(3));
    plant.reads("C");
    plant.wait(Duration::from_secs(3));
    assert_eq!((plant.restarts(), plant.reason()), (1, Some(ServiceReason::TooSoon)));
    plant.reads("D");
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 2);
}

#[test]
fn twenty_starts_of_the_site_restart_nothing() {
    let mut plant = Plant::new();
    for _ in 0..20 {
        plant.site.restart_whole();
        assert_eq!(plant.reason(), Some(ServiceReason::NotRead));
        plant.reads("A");
        plant.wait(Duration::from_secs(10));
    }
    assert_eq!(plant.restarts(), 0);
}

#[test]
fn what_changed_while_the_site_was_down_restarts_once() {
    let mut plant = Plant::new();
    plant.site.restart_whole();
    plant.reads("B");
    plant.wait(Duration::from_secs(60));
    plant.site.restart_whole();
    plant.reads("B");
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 1);
}

#[test]
fn killed_before_and_after_each_commit_and_around_the_restart_it_is_restarted_exactly_once() {
    // so many steps go well, and then the process is killed: before systemd did it, or after
    for kill_at in 0..8 {
        for done in [false, true] {
            let mut plant = Plant::new();
            plant.reads("B");
            plant.site.wait(SETTLE);
            for _ in 0..kill_at {
                if let Some((number, fact)) = plant.does() {
                    plant.site.happens(Event::Unit(name(), number, fact));
                }
            }
            if done {
                // it happened, and nobody heard
                plant.does();
            }
            plant.site.restart_whole();
            plant.reads("B");
            plant.wait(Duration::from_secs(60));
            assert_eq!(plant.restarts(), 1, "killed after {kill_at}, done: {done}");
            assert_eq!(plant.phase(), ServicePhase::Ready);
        }
    }
}

#[test]
fn a_restart_is_wanted_only_once_the_run_that_it_ends_is_on_disk() {
    let mut plant = Plant::new();
    plant.reads("B");
    plant.site.wait(SETTLE);
    assert!(matches!(plant.site.jobs[0].task, UnitTask::Look), "asked first");
    let (number, fact) = plant.does().unwrap();
    plant.site.happens(Event::Unit(name(), number, fact));
    let (_, record) = &plant.site.last.services[0];
    let begun = record.as_ref().unwrap().begun.clone().unwrap();
    assert_eq!(begun.before, plant.mark());
    assert!(matches!(&plant.site.jobs[0].task, UnitTask::Restart { before, .. } if *before == begun.before));
}

#[test]
fn deleted_and_created_again_with_the_same_content_restarts_nothing() {
    let mut plant = Plant::new();
    plant.site.services.clear();
    plant.site.list();
    assert_eq!(plant.reason(), Some(ServiceReason::Unlisted));
    plant.reads("A");
    plant.wait(Duration::from_secs(60));
    plant.site.services.insert("modbus".into(), spec());
    plant.site.list();
    plant.reads("A");
    plant.wait(Duration::from_secs(60));
    assert_eq!((plant.restarts(), plant.phase()), (0, ServicePhase::Ready));
}

#[test]
fn nothing_is_restarted_for_a_service_that_nobody_declares() {
    let mut plant = Plant::new();
    plant.site.services.clear();
    plant.site.list();
    plant.reads("B");
    plant.wait(Duration::from_secs(600));
    assert_eq!(plant.restarts(), 0);
}

#[test]
fn a_file_that_vanishes_restarts_nothing_and_once_when_it_comes_back_as_another() {
    let mut plant = Plant::new();
    plant.sees(ConfigFact::Trouble(ServiceReason::ConfigMissing, "gone".into()));
    plant.wait(Duration::from_secs(60));
    assert!(matches!(plant.phase(), ServicePhase::Stalled(ServiceReason::ConfigMissing, why) if why == "gone"));
    plant.reads("A");
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 0);
    plant.sees(ConfigFact::Trouble(ServiceReason::ConfigMissing, "gone".into()));
    plant.reads("B");
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 1);
}

#[test]
fn a_failed_health_check_stalls_without_a_loop_until_the_configuration_changes_again() {
    for (result, reason) in
        [(RestartResult::Unhealthy, ServiceReason::Unhealthy), (RestartResult::Failed, ServiceReason::RestartFailed)]
    {
        let mut plant = Plant::new();
        plant.result = result;
        plant.reads("B");
        plant.wait(Duration::from_secs(3_600));
        assert_eq!(plant.restarts(), 1);
        assert!(matches!(plant.phase(), ServicePhase::Stalled(is, _) if is == reason));
        // also after a start
        plant.site.restart_whole();
        plant.reads("B");
        plant.wait(Duration::from_secs(600));
        assert_eq!((plant.restarts(), plant.reason()), (1, Some(reason)));
        plant.result = RestartResult::Done;
        plant.reads("C");
        plant.wait(Duration::from_secs(60));
        assert_eq!((plant.restarts(), plant.phase()), (2, ServicePhase::Ready));
    }
}

#[test]
fn a_stopped_unit_is_not_started_for_a_change() {
    let mut plant = Plant::new();
    plant.stopped = true;
    plant.reads("B");
    plant.wait(Duration::from_secs(60));
    assert_eq!((plant.restarts(), plant.phase(), plant.rows(What::ConfigRecorded)), (0, ServicePhase::Ready, 2));
    // but for a person
    assert_eq!(plant.site.happens(Event::Order(Order::Restart(name()), "ann".into())), Verdict::Accepted);
    plant.wait(Duration::from_secs(1));
    assert_eq!(plant.restarts(), 1);
}

#[test]
fn nothing_is_restarted_while_firmware_is_installed_on_its_machine() {
    let mut plant = Plant::new();
    plant.site.settings.node = Some(id("g1"));
    plant.site.declare_gateways(1);
    plant.site.restart_whole();
    plant.reads("A");
    plant.works();
    plant.site.rollouts.insert("main".into(), super::site::rollout("os", "2"));
    plant.site.list();
    plant.site.everybody_polls();
    plant.site.verify();
    plant.site.fetch("g1");
    plant.site.download("g1");
    assert_eq!(plant.site.at("g1"), Step::Installing);
    plant.reads("B");
    plant.wait(Duration::from_secs(60));
    assert_eq!((plant.restarts(), plant.reason()), (0, Some(ServiceReason::NodeUpdating)));
    // nor for a person
    plant.site.happens(Event::Order(Order::Restart(name()), "ann".into()));
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 0);
    plant.site.says("g1", super::site::success());
    plant.site.reports("g1", "2");
    plant.wait(Duration::from_secs(60));
    assert_eq!((plant.restarts(), plant.phase()), (1, ServicePhase::Ready), "once for both");
}

#[test]
fn a_unit_that_the_site_file_does_not_allow_is_refused_and_never_asked_for() {
    let mut plant = Plant::declared();
    plant.site.settings.services = Rc::default();
    plant.site.restart_whole();
    plant.reads("A");
    plant.reads("B");
    plant.site.happens(Event::Order(Order::Restart(name()), "ann".into()));
    plant.site.wait(Duration::from_secs(600));
    assert!(plant.site.jobs.is_empty());
    assert!(matches!(plant.phase(), ServicePhase::Stalled(ServiceReason::UnitRefused, _)));
}

#[test]
fn what_cannot_be_done_now_is_tried_again_every_minute_and_done_once() {
    let mut plant = Plant::new();
    plant.reads("B");
    plant.site.wait(SETTLE);
    for _ in 0..5 {
        let number = plant.site.jobs[0].number;
        plant.site.happens(Event::Unit(
            name(),
            number,
            UnitFact::Refused(ServiceReason::BusUnavailable, "no bus".into()),
        ));
        assert!(plant.site.jobs.is_empty());
        assert!(matches!(plant.phase(), ServicePhase::Stalled(ServiceReason::BusUnavailable, why) if why == "no bus"));
        plant.site.wait(Duration::from_secs(60));
    }
    plant.wait(Duration::from_secs(1));
    assert_eq!(plant.restarts(), 1);
}

#[test]
fn what_is_said_about_a_job_that_is_no_longer_wanted_moves_nothing() {
    let mut plant = Plant::new();
    plant.reads("B");
    plant.site.wait(SETTLE);
    let (number, fact) = plant.does().unwrap();
    plant.reads("A");
    assert_eq!(plant.site.happens(Event::Unit(name(), number, fact)), Verdict::Unknown);
    assert!(plant.site.last.is_empty());
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 0);
}

#[test]
fn an_edit_of_what_it_reads_is_no_change_of_what_it_reads() {
    let mut plant = Plant::new();
    let mut other = spec();
    other.config = vec!["/etc/edge/other".parse().unwrap()];
    plant.site.services.insert("modbus".into(), other.clone());
    plant.site.list();
    // what was read before says nothing about what is to be read now
    assert_eq!(plant.reads("B"), Verdict::Unknown);
    let seen = ConfigSeen { config: config("C"), changed: None, degraded: None, fixed: None };
    plant.site.happens(Event::Config(name(), Rc::new(other), ConfigFact::Seen(seen)));
    plant.wait(Duration::from_secs(60));
    assert_eq!(plant.restarts(), 0);
}

#[test]
fn an_order_restarts_once_however_often_it_is_given_and_whatever_happens_meanwhile() {
    let mut plant = Plant::new();
    let order = || Event::Order(Order::Restart(name()), "ann (uid 7)".into());
    assert_eq!(plant.site.happens(order()), Verdict::Accepted);
    assert_eq!(plant.site.happens(order()), Verdict::Already);
    plant.site.restart_whole();
    plant.reads("A");
    plant.wait(Duration::from_secs(60));
    assert_eq!((plant.restarts(), plant.phase()), (1, ServicePhase::Ready));
    let nobody = Event::Order(Order::Restart(ServiceName("other".into())), "ann".into());
    assert_eq!(plant.site.happens(nobody), Verdict::Unknown);
}

#[test]
fn a_quiet_service_writes_nothing() {
    let mut plant = Plant::new();
    plant.reads("A");
    assert!(plant.site.last.is_empty());
    plant.site.list();
    assert!(plant.site.last.is_empty());
    assert_eq!(plant.site.next_due, None);
}
