//! What may happen, as indices that are looked up in the state of the moment.

use std::collections::BTreeMap;
use std::time::Duration;

use lamplighter::model::{
    Amount, ConfirmBy, Execution, FailureAction, Finished, GateQuestion, GateSpec, GatewaySpec, Labels, Percent,
    RolloutSpec, Selector, Spread, Strategy as Pace, Variant, Variants, WaveSpec,
};
use proptest::prelude::*;

use crate::fleet;

/// Something that happens.
#[derive(Debug, Clone)]
pub enum Op {
    /// Time passes.
    Wait(u64),
    /// Time passes until something is due, and not a millisecond more.
    UntilDue,
    /// People declare all this.
    Declare(Vec<GatewayTyped>, Vec<RolloutTyped>),
    /// Somebody drops all this.
    Drop(Vec<GatewayTyped>, Vec<RolloutTyped>),
    /// An artifact is verified, or not.
    Artifact(u8, bool),
    /// An artifact is in the way.
    Collect(u8),
    Seen(u8),
    Quiet(u8),
    Offline(u8),
    Pace(u8, u16),
    Polled(u8),
    Client(u8, u8),
    Reports(u8, u8, Option<u8>),
    Fetched(u8, Which),
    Requested(u8, u8, bool),
    Served(u8, u8),
    BodyEnded(u8),
    Says(u8, Which, Execution, Finished, bool),
    /// The gateway answers to the cancellation of an order.
    Drops(u8, Which, Execution, Finished),
    /// The gateway does the next sensible thing with its order.
    GoesOn(u8),
    /// The gateway's install ends so.
    Ends(u8, Finished),
    /// A line's permit answers: open, closed or not at all.
    Gate(u8, u8),
    StoodStill,
    StoreLost,
    Resume,
    /// A person says something on the spot about a rollout or a gateway, or takes it back.
    Ordered(u8, u8, bool),
    Restart,
    /// Several things in one step.
    Together(Vec<Op>),
}

impl Op {
    /// A fleet and two rollouts, all there and ready; together they want more than there is room for.
    pub fn start() -> Self {
        Self::start_with(0, false)
    }

    /// The same behind brakes that depend on others.
    pub fn start_with(spread: u8, gated: bool) -> Self {
        let gateways = (0..10).map(|n| GatewayTyped { n, line: n % 2, hold: false }).collect();
        let rollout = |line: u8, max_in_flight| RolloutTyped {
            name: line,
            artifact: line,
            version: 2,
            line: Some(line),
            waves: vec![5],
            max_in_flight,
            attempts: 3,
            spread,
            gated,
            ..RolloutTyped::default()
        };
        let mut ops = vec![Self::Declare(gateways, vec![rollout(0, 2), rollout(1, 0)])];
        ops.extend([1, VERSIONS + 1].map(|file| Self::Artifact(file, true)));
        ops.extend((0..10).map(Self::Seen));
        ops.extend((0..6).map(|n| Self::Reports(n, n % 2, Some(1))));
        Self::Together(ops)
    }
}

/// Whose id a gateway names.
#[derive(Debug, Clone, Copy)]
pub enum Which {
    Own,
    Alias,
    Of(u8),
    Issued(u8),
    Strange(u16),
}

#[derive(Debug, Clone)]
pub struct GatewayTyped {
    pub n: u8,
    pub line: u8,
    pub hold: bool,
}

#[derive(Debug, Clone, Default)]
pub struct RolloutTyped {
    pub name: u8,
    pub artifact: u8,
    pub version: u8,
    pub line: Option<u8>,
    pub waves: Vec<u8>,
    pub max_in_flight: u8,
    pub max_failures: u8,
    pub attempts: u8,
    pub confirm_by: u8,
    pub paused: bool,
    pub cancelled: bool,
    /// None, so many of a line at a time, one healthy other, or both.
    pub spread: u8,
    pub gated: bool,
    pub rollback: bool,
    pub allow_downgrade: bool,
    /// Gateways of line 1 get another file.
    pub two_types: bool,
    pub token: Option<u8>,
}

pub const GATEWAYS: u8 = 12;
pub const ARTIFACTS: [&str; 2] = [fleet::FIRMWARE, "plc"];
pub const VERSIONS: u8 = 4;

impl GatewayTyped {
    pub fn spec(&self) -> GatewaySpec {
        let mut spec = fleet::gateway(&fleet::id(usize::from(self.n)));
        spec.labels = Labels::from([("hall".into(), "7".into()), ("line".into(), self.line.to_string())]);
        spec.hold = self.hold;
        spec
    }
}

impl RolloutTyped {
    pub fn spec(&self) -> RolloutSpec {
        let version = format!("{}.0.0", self.version);
        let mut spec = fleet::rollout(&version);
        spec.artifact.key.name = ARTIFACTS[usize::from(self.artifact)].into();
        spec.artifact.key.digest = fleet::digest(&format!("{} {version}", self.artifact));
        let label = match self.line {
            None => ("hall".to_owned(), "7".to_owned()),
            Some(line) => ("line".to_owned(), line.to_string()),
        };
        spec.selector = Selector { match_labels: [label].into() };
        let wave = |size: &u8| WaveSpec {
            size: Amount::Count(u32::from(*size)),
            soak: Duration::from_secs(120),
            ..WaveSpec::REST
        };
        let amount = |n: u8| match n {
            0 => Amount::Percent(Percent::ALL),
            n => Amount::Count(u32::from(n)),
        };
        let waves = if self.waves.is_empty() { vec![WaveSpec::CANARY] } else { self.waves.iter().map(wave).collect() };
        let (max_in_flight, max_failures) = (amount(self.max_in_flight), amount(self.max_failures));
        let one = || Some(Amount::Count(1));
        let spread = match self.spread {
            1 => Some((one(), None)),
            2 => Some((None, one())),
            3 => Some((Some(Amount::Count(2)), one())),
            _ => None,
        };
        let spread =
            spread.map(|(max_in_flight, min_healthy)| Spread { label: "line".into(), max_in_flight, min_healthy });
        spec.strategy = Pace { waves, max_in_flight, max_failures, spread, ..Pace::default() };
        if self.gated {
            spec.gates =
                vec![GateSpec { name: None, question: GateQuestion::File("/permits/{line}".parse().unwrap()) }];
        }
        spec.attempts = self.attempts.max(1);
        spec.confirm_by =
            [ConfirmBy::Auto, ConfirmBy::ReportedVersion, ConfirmBy::Feedback][usize::from(self.confirm_by)];
        if self.rollback {
            spec.strategy.failure_action = FailureAction::Rollback;
        }
        if self.two_types {
            let line = |line: &str| Selector { match_labels: [("line".to_owned(), line.to_owned())].into() };
            let mut artifact = spec.artifact.clone();
            artifact.key.digest = fleet::digest(&format!("{} {version} b", self.artifact));
            let others = vec![Variant { matches: line("1"), artifact }];
            spec.variants = Some(Variants { first: line("0"), others });
        }
        spec.allow_downgrade = self.allow_downgrade;
        spec.retry_token = self.token.map(|token| token.to_string());
        spec.paused = self.paused;
        spec.cancelled = self.cancelled;
        spec
    }
}

fn gateway() -> impl Strategy<Value = u8> {
    0..GATEWAYS
}

/// An index of an artifact and one of its versions.
pub fn file() -> impl Strategy<Value = u8> {
    0..VERSIONS * 2
}

fn which() -> impl Strategy<Value = Which> {
    prop_oneof![
        6 => Just(Which::Own),
        2 => Just(Which::Alias),
        1 => gateway().prop_map(Which::Of),
        1 => any::<u8>().prop_map(Which::Issued),
        1 => (0_u16..4).prop_map(Which::Strange),
    ]
}

fn rollout() -> impl Strategy<Value = RolloutTyped> {
    let what = (0_u8..3, 0_u8..2, 1..VERSIONS, proptest::option::weighted(0.3, 0_u8..2));
    let stopped = prop_oneof![8 => Just((false, false)), 1 => Just((true, false)), 1 => Just((false, true))];
    let how = (proptest::collection::vec(1_u8..5, 0..3), 0_u8..5, 0_u8..4, 1_u8..4, 0_u8..3, stopped);
    let brakes = (prop_oneof![2 => Just(0_u8), 1 => 1_u8..4], proptest::bool::weighted(0.3));
    let mind = (any::<bool>(), any::<bool>(), proptest::bool::weighted(0.2), proptest::option::weighted(0.3, 0_u8..3));
    (what, how, brakes, mind).prop_map(
        |(
            (name, artifact, version, line),
            (waves, max_in_flight, max_failures, attempts, confirm_by, (paused, cancelled)),
            (spread, gated),
            (rollback, allow_downgrade, two_types, token),
        )| {
            RolloutTyped {
                name,
                artifact,
                version,
                line,
                waves,
                max_in_flight,
                max_failures,
                attempts,
                confirm_by,
                paused,
                cancelled,
                spread,
                gated,
                rollback,
                allow_downgrade,
                two_types,
                token,
            }
        },
    )
}

fn declare() -> impl Strategy<Value = Op> {
    let hold = proptest::bool::weighted(0.1);
    let one = (gateway(), 0_u8..2, hold).prop_map(|(n, line, hold)| GatewayTyped { n, line, hold });
    (proptest::collection::vec(one, 0..16), proptest::collection::vec(rollout(), 0..3)).prop_map(
        |(gateways, rollouts)| {
            // ids and names are unique in a list
            let by_id: BTreeMap<_, _> = gateways.into_iter().map(|gateway| (gateway.n, gateway)).collect();
            let by_name: BTreeMap<_, _> = rollouts.into_iter().map(|rollout| (rollout.name, rollout)).collect();
            Op::Declare(by_id.into_values().collect(), by_name.into_values().collect())
        },
    )
}

fn execution() -> impl Strategy<Value = Execution> {
    use Execution::{Canceled, Closed, Downloaded, Proceeding, Rejected};
    prop_oneof![5 => Just(Closed), 2 => Just(Rejected), 1 => Just(Proceeding), 1 => Just(Canceled), 1 => Just(Downloaded)]
}

fn finished() -> impl Strategy<Value = Finished> {
    prop_oneof![3 => Just(Finished::Success), 2 => Just(Finished::Failure), 1 => Just(Finished::None)]
}

fn simple() -> impl Strategy<Value = Op> {
    prop_oneof![
        2 => (0_u64..400_000).prop_map(Op::Wait),
        1 => (0_u64..5_000_000).prop_map(Op::Wait),
        3 => Just(Op::UntilDue),
        2 => declare(),
        2 => declare().prop_map(|declared| match declared {
            Op::Declare(gateways, rollouts) => Op::Drop(gateways, rollouts),
            other => other,
        }),
        2 => (file(), proptest::bool::weighted(0.8)).prop_map(|(file, good)| Op::Artifact(file, good)),
        1 => file().prop_map(Op::Collect),
        4 => gateway().prop_map(Op::Seen),
        2 => gateway().prop_map(Op::Quiet),
        1 => gateway().prop_map(Op::Offline),
        1 => (gateway(), 1_u16..2_000).prop_map(|(gateway, seconds)| Op::Pace(gateway, seconds)),
        2 => gateway().prop_map(Op::Polled),
        1 => (gateway(), 0_u8..4).prop_map(|(gateway, client)| Op::Client(gateway, client)),
        3 => (gateway(), 0_u8..2, proptest::option::weighted(0.9, 1..VERSIONS))
            .prop_map(|(gateway, artifact, version)| Op::Reports(gateway, artifact, version)),
        3 => (gateway(), which()).prop_map(|(gateway, which)| Op::Fetched(gateway, which)),
        1 => (gateway(), file(), any::<bool>()).prop_map(|(gateway, file, some)| Op::Requested(gateway, file, some)),
        1 => (gateway(), file()).prop_map(|(gateway, file)| Op::Served(gateway, file)),
        1 => gateway().prop_map(Op::BodyEnded),
        4 => (gateway(), which(), execution(), finished(), any::<bool>())
            .prop_map(|(gateway, which, execution, finished, excused)| Op::Says(gateway, which, execution, finished, excused)),
        8 => gateway().prop_map(Op::GoesOn),
        2 => (gateway(), which(), execution(), finished())
            .prop_map(|(gateway, which, execution, finished)| Op::Drops(gateway, which, execution, finished)),
        1 => Just(Op::Restart),
        4 => (0_u8..2, prop_oneof![3 => Just(0_u8), 1 => 1_u8..3]).prop_map(|(line, answer)| Op::Gate(line, answer)),
    ]
}

/// Anything at all.
pub fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => simple(),
        1 => Just(Op::StoreLost),
        1 => Just(Op::StoodStill),
        2 => Just(Op::Resume),
        4 => (0_u8..4, gateway(), any::<bool>()).prop_map(|(what, about, lift)| Op::Ordered(what, about, lift)),
        4 => proptest::collection::vec(simple(), 2..5).prop_map(Op::Together),
    ]
}

/// The same with brakes that depend on others: pairs, lines and permits.
pub fn braked() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => sensible(),
        2 => (0_u8..2, prop_oneof![4 => Just(0_u8), 1 => 1_u8..3]).prop_map(|(line, answer)| Op::Gate(line, answer)),
        1 => (gateway(), which()).prop_map(|(gateway, which)| Op::Fetched(gateway, which)),
    ]
}

/// Mostly what gateways do that mean well.
pub fn sensible() -> impl Strategy<Value = Op> {
    prop_oneof![
        24 => gateway().prop_map(Op::GoesOn),
        6 => (gateway(), prop_oneof![3 => Just(Finished::Success), 1 => Just(Finished::Failure)])
            .prop_map(|(gateway, finished)| Op::Ends(gateway, finished)),
        4 => (gateway(), 1..VERSIONS).prop_map(|(gateway, version)| Op::Reports(gateway, 0, Some(version))),
        4 => gateway().prop_map(Op::Polled),
        4 => gateway().prop_map(Op::Seen),
        2 => (gateway(), 0_u16..2).prop_map(|(gateway, ahead)| {
            Op::Says(gateway, Which::Strange(ahead), Execution::Closed, Finished::Success, false)
        }),
        6 => Just(Op::UntilDue),
        4 => (0_u64..200_000).prop_map(Op::Wait),
        6 => op(),
    ]
}
