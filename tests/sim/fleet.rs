//! What people declare: gateways, rollouts, and the site's settings.

use std::time::Duration;

use lamplighter::engine::{Settings, order_key};
use lamplighter::model::{
    Amount, ArtifactKey, ArtifactSpec, ConfirmBy, ControllerId, Deadlines, Digest, GatewaySpec, Identity, Intent,
    Listing, RolloutSpec, Selector, Source, Strategy, Sums, WaveSpec, Windows, Zone,
};
use lamplighter::world::{Character, Role, Setting};

/// The artifact's name, and so the attribute under which gateways report its version.
pub const FIRMWARE: &str = "gateway-os";
/// What gateways run at first.
pub const OLD: &str = "1.0.0";
/// What they should run.
pub const NEW: &str = "2.0.0";
/// The interval that gateways are told.
pub const POLL: Duration = Duration::from_secs(60);
/// When silence means offline.
pub const OFFLINE_AFTER: Duration = Duration::from_secs(600);
/// How many gateways may download at once.
pub const SLOTS: u32 = 24;
/// An artifact's size, in bytes.
pub const SIZE: u64 = 1_000_000;

pub fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

pub fn id(n: usize) -> ControllerId {
    format!("gw-{n:03}").parse().unwrap()
}

pub fn digest(version: &str) -> Digest {
    let mut bytes = [7; 32];
    bytes[..version.len()].copy_from_slice(version.as_bytes());
    Digest::new(bytes)
}

pub fn sums() -> Sums {
    Sums { sha1: "1".repeat(40), md5: "2".repeat(32) }
}

pub fn artifact(version: &str) -> ArtifactSpec {
    ArtifactSpec {
        key: ArtifactKey { name: FIRMWARE.into(), version: version.parse().unwrap(), digest: digest(version) },
        size: SIZE,
        sources: vec![Source::File { dir: "/manifests".into(), name: "firmware.swu".into() }],
    }
}

pub fn gateway(id: &ControllerId) -> GatewaySpec {
    GatewaySpec {
        name: id.to_string(),
        controller_id: id.clone(),
        labels: [("hall".to_owned(), "7".to_owned())].into(),
        token: Some(lamplighter::world::token_hash(id)),
        hold: false,
    }
}

/// One gateway first, then the rest; failures do not stop it, and nothing takes longer than it must.
pub fn rollout(version: &str) -> RolloutSpec {
    let first = WaveSpec { soak: minutes(3), ..WaveSpec::CANARY };
    RolloutSpec {
        artifact: artifact(version),
        variants: None,
        selector: Selector { match_labels: [("hall".to_owned(), "7".to_owned())].into() },
        strategy: Strategy {
            waves: vec![first, WaveSpec { soak: minutes(3), ..WaveSpec::REST }],
            max_in_flight: "40%".parse().unwrap(),
            max_failures: Amount::Count(1_000_000),
            ..Strategy::default()
        },
        gates: Vec::new(),
        deadlines: Deadlines { download: minutes(5), install: minutes(4), confirm: minutes(5), cancel: minutes(4) },
        attempts: 3,
        max_bytes: None,
        confirm_by: ConfirmBy::Auto,
        windows: Windows::default(),
        allow_downgrade: false,
        paused: false,
        cancelled: false,
        retry_token: None,
        approved_waves: [].into(),
    }
}

pub fn settings(slots: u32) -> Settings {
    Settings {
        site: "hall-7".into(),
        poll_interval: POLL,
        offline_after: OFFLINE_AFTER,
        download_slots: slots,
        max_in_flight: 1_000,
        version_keys: [].into(),
        node: None,
        services: Default::default(),
        time_zone: Zone::utc(),
    }
}

pub fn setting(slots: u32) -> Setting {
    Setting { engine: settings(slots), starts: 0 }
}

/// A gateway of the old version.
pub fn role(id: &ControllerId, character: Character) -> Role {
    let (runs, key) = (OLD.to_owned(), FIRMWARE.to_owned());
    Role { id: id.clone(), character, runs, key, attributes: [].into(), only: None, files: Vec::new() }
}

pub fn listing(gateways: &[GatewaySpec], rollouts: &[(&str, RolloutSpec)]) -> Listing {
    let gateways = gateways.iter().cloned().map(Intent::Gateway);
    let rollouts = rollouts.iter().map(|(name, spec)| Intent::Rollout(Identity((*name).into()), spec.clone().into()));
    Listing { intents: gateways.chain(rollouts).collect(), refused: Vec::new() }
}

/// The gateways in the order in which a rollout takes them.
pub fn in_order(count: usize, version: &str) -> Vec<ControllerId> {
    let mut ids: Vec<_> = (0..count).map(id).collect();
    ids.sort_by_key(|id| order_key(FIRMWARE, version, id.as_str()));
    ids
}
