//! One simulation from beginning to end: the site, its gateways, the kills, the end.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::bail;
use fastrand::Rng;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::SimulateArgs;
use super::cast::{self, Role};
use super::control::{self, Gateways, Rollout, Status};
use super::device::Device;
use super::files::{Directory, POLL_INTERVAL, SOAK, longest_lull};
use super::firmware::Firmware;
use super::player::{Player, Tally, Target};
use super::progress::Progress;
use super::site::Site;
use super::trust::Trust;
use super::verdict::{Report, Wrong};
use crate::model::format_duration;

/// How often the site is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// After this without an answer the site is asked again.
const ANSWER: Duration = Duration::from_secs(5);
/// A rollout that says it is stuck gets so long to change its mind.
const STALLED: Duration = Duration::from_secs(10);
/// All gateways are at their end: the last soak, and some patience for a busy machine.
const SETTLE: Duration = Duration::from_secs(30);

/// A simulation under way.
pub struct Simulation {
    args: SimulateArgs,
    site: Site,
    firmware: Firmware,
    cast: Vec<(Role, Rc<RefCell<Device>>)>,
    tally: Rc<Tally>,
    // dropping it ends the players
    players: JoinSet<()>,
    progress: Progress,
    rng: Rng,
    started: Instant,
}

impl Simulation {
    /// Starts the site in `dir`, and the gateways. Needs a `LocalSet`.
    pub async fn start(args: SimulateArgs, dir: &Directory) -> anyhow::Result<Self> {
        let roles = cast::cast(args.gateways, args.faults, args.seed);
        let firmware = dir.fill(&roles, args.artifact_size, args.seed)?;
        let binary = args.site_binary.clone().map_or_else(std::env::current_exe, Ok)?;
        let started = Instant::now();
        let site = Site::start(binary, dir).await?;
        let trust = dir.authority().map(|file| Trust::of(&file)).transpose()?;
        let target = Target { site: site.devices, sha256: firmware.digest.hex(), trust };
        let tally = Rc::new(Tally::default());
        let mut players = JoinSet::new();
        let cast = roles.into_iter().map(|role| {
            let device = Rc::new(RefCell::new(Device::new(&role)));
            let player = Player::new(role.clone(), target.clone(), device.clone(), tally.clone());
            players.spawn_local(player.play());
            (role, device)
        });
        Ok(Self {
            cast: cast.collect(),
            progress: Progress::new(args.gateways, args.for_script()),
            rng: Rng::with_seed(args.seed ^ 1),
            args,
            site,
            firmware,
            tally,
            players,
            started,
        })
    }

    /// Watches until the rollout is at its end or gets no further, then judges. Errors are those of the run itself.
    pub async fn finish(mut self) -> anyhow::Result<Report> {
        let watched = self.watch().await;
        self.progress.clear();
        let mut report = Report {
            gateways: self.args.gateways,
            wall_seconds: (self.started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0,
            artifact_bytes: self.firmware.size,
            seed: self.args.seed,
            ..Report::default()
        };
        if let Some(why) = watched? {
            report.wrong.push(Wrong::overall(why));
        }
        let gateways: Gateways = self.ask("/v1/gateways").await?;
        self.players.shutdown().await;
        report.restarts = self.site.restarts;
        report.polls = self.tally.polls.get();
        report.served_bytes = self.tally.bytes.get();
        let devices: Vec<_> = self.cast.iter().map(|(role, device)| (role.clone(), device.borrow())).collect();
        let played: Vec<_> = devices.iter().map(|(role, device)| (role.clone(), &**device)).collect();
        report.judge(&played, &gateways.gateways);
        let oddities = self.tally.oddities.take();
        report.wrong.extend(oddities.into_iter().map(|(gateway, what)| Wrong::with(&gateway, what)));
        match self.site.stop().await {
            Ok(usage) => report.server = usage,
            Err(error) => report.wrong.push(Wrong::overall(format!("{error:#}"))),
        }
        Ok(report)
    }

    /// Until the end. `Some`: why it is not the end that it should be.
    async fn watch(&mut self) -> anyhow::Result<Option<String>> {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut kill_at = self.next_kill();
        let mut end = End::new(self.args.gateways, longest_lull(self.args.artifact_size));
        loop {
            tokio::select! {
                error = self.site.ended() => return Err(error),
                () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {
                    self.site.kill_and_restart().await?;
                    kill_at = self.next_kill();
                }
                _ = look.tick() => {
                    self.site.sample();
                    // no answer: the next look will tell
                    let Ok(status) = self.ask_once::<Status>("/v1/status").await else { continue };
                    if let Some(refused) = status.refused.first() {
                        bail!("the site refused what the simulation wrote for it: {refused}");
                    }
                    let rollout = status.rollouts.into_iter().next().unwrap_or_default();
                    self.show(&rollout);
                    match end.look(rollout, Instant::now()) {
                        Look::GoOn => {}
                        Look::End => return Ok(None),
                        Look::Stuck(why) => return Ok(Some(why)),
                    }
                }
            }
        }
    }

    fn show(&mut self, rollout: &Rollout) {
        let also = format!(
            "{} · {} served · {} polls · {} restarts",
            format_duration(Duration::from_secs(self.started.elapsed().as_secs())),
            super::amounts::format_bytes(self.tally.bytes.get()),
            self.tally.polls.get(),
            self.site.restarts,
        );
        self.progress.show(rollout, &also);
    }

    /// Not at equal intervals, so that kills meet every moment of a gateway's cycle.
    fn next_kill(&mut self) -> Option<Instant> {
        let every = self.args.kill_every?;
        Some(Instant::now() + every.mul_f64(0.5 + self.rng.f64()))
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        for _ in 0..5 {
            if let Ok(answer) = self.ask_once(path).await {
                return Ok(answer);
            }
            sleep(POLL_INTERVAL).await;
        }
        self.ask_once(path).await
    }

    async fn ask_once<T: serde::de::DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        timeout(ANSWER, control::get(&self.site.control, path)).await?
    }
}

/// Is there anything to wait for?
#[derive(Debug, PartialEq, Eq)]
enum Look {
    GoOn,
    End,
    /// It will not get to its end; why.
    Stuck(String),
}

/// Decides when a simulation is at its end.
#[derive(Debug)]
struct End {
    gateways: u32,
    lull: Duration,
    last: Rollout,
    since: Option<Instant>,
}

impl End {
    fn new(gateways: u32, lull: Duration) -> Self {
        Self { gateways, lull, last: Rollout::default(), since: None }
    }

    fn look(&mut self, rollout: Rollout, now: Instant) -> Look {
        let since = match self.since {
            Some(since) if rollout == self.last => since,
            _ => *self.since.insert(now),
        };
        self.last = rollout;
        let (Rollout { phase, reason, .. }, unchanged) = (&self.last, now - since);
        let all_ended = self.last.all_ended(self.gateways);
        let patience = match phase.as_str() {
            "Ready" | "Stalled" if all_ended => return Look::End,
            "Stalled" => STALLED,
            _ if all_ended => SOAK + SETTLE,
            _ => self.lull,
        };
        if unchanged > patience {
            return Look::Stuck(format!("the rollout got no further than {phase} ({reason})"));
        }
        Look::GoOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(phase: &str, updated: u32) -> Rollout {
        Rollout { phase: phase.into(), reason: "R".into(), steps: [("Updated".into(), updated)].into() }
    }

    #[test]
    fn the_end_is_when_all_gateways_ended_and_the_last_soak_is_over() {
        let (mut end, now) = (End::new(3, Duration::from_secs(60)), Instant::now());
        assert_eq!(end.look(rollout("Ready", 2), now), Look::GoOn);
        assert_eq!(end.look(rollout("Reconciling", 3), now), Look::GoOn);
        assert_eq!(end.look(rollout("Ready", 3), now), Look::End);
        assert_eq!(end.look(rollout("Stalled", 3), now), Look::End);
    }

    #[test]
    fn a_rollout_that_gets_no_further_ends_the_simulation_and_says_so() {
        let (mut end, now) = (End::new(3, Duration::from_secs(60)), Instant::now());
        let later = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(end.look(rollout("Reconciling", 1), now), Look::GoOn);
        assert_eq!(end.look(rollout("Reconciling", 1), later(59)), Look::GoOn);
        assert_eq!(end.look(rollout("Reconciling", 2), later(70)), Look::GoOn, "it moved");
        assert!(
            matches!(end.look(rollout("Reconciling", 2), later(131)), Look::Stuck(why) if why.contains("Reconciling (R)"))
        );
        let mut end = End::new(3, Duration::from_secs(60));
        assert_eq!(end.look(rollout("Stalled", 1), now), Look::GoOn);
        assert!(matches!(end.look(rollout("Stalled", 1), later(11)), Look::Stuck(_)));
    }
}
