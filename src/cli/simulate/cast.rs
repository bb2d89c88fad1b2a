//! Who plays what: seeded behaviours for the gateways, and how each must end.

use std::net::Ipv4Addr;

use fastrand::Rng;

use super::firmware::{ARTIFACT, NEW_VERSION};
use crate::engine::order_key;

/// How a gateway behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// Does what it is told.
    Good,
    /// Does too, on a thin line that drops once half-way, and takes its time to install.
    Slow,
    /// Takes the order and is never heard of again.
    Silent,
    /// Downloads, and reports that the installation failed.
    Failing,
    /// Installs, and boots back into the old version.
    BootsBack,
}

impl Behaviour {
    const FAULTS: [Self; 3] = [Self::Silent, Self::Failing, Self::BootsBack];

    /// Its name in the summary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Slow => "slow",
            Self::Silent => "silent",
            Self::Failing => "failing",
            Self::BootsBack => "boots back",
        }
    }
}

/// Which update client a gateway runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Like SWUpdate's suricatta: never reports a version, tells the end after its reboot if the order is still offered.
    SwUpdate,
    /// Like rauc-hawkbit-updater: tells the end before its reboot, reports its version when asked.
    Rauc,
    /// Reports its version after each boot, then the end.
    Generic,
}

/// One gateway's part.
#[derive(Debug, Clone)]
pub struct Role {
    /// Its name, also its controller id.
    pub name: String,
    /// Its target token.
    pub token: String,
    /// How it behaves.
    pub behaviour: Behaviour,
    /// What it runs.
    pub client: Client,
    /// An address of its own, as a real gateway has.
    pub address: Ipv4Addr,
    /// For its own small choices.
    pub seed: u64,
}

impl Role {
    /// The step, and for a failure the reason, in which its membership must end.
    pub fn expected(&self) -> &'static str {
        match (self.behaviour, self.client) {
            (Behaviour::Good | Behaviour::Slow, _) => "Updated",
            (Behaviour::Silent, _) => "Failed NoFeedback",
            // SWUpdate learns from its boot loader that the new system did not come up, and says so
            (Behaviour::Failing, _) | (Behaviour::BootsBack, Client::SwUpdate) => "Failed Reported",
            (Behaviour::BootsBack, _) => "Failed WrongVersion",
        }
    }

    /// Does its membership end as a failure?
    pub fn fails(&self) -> bool {
        Behaviour::FAULTS.contains(&self.behaviour)
    }

    /// How often it must have written the new firmware.
    pub fn expected_installs(&self) -> u32 {
        u32::from(!matches!(self.behaviour, Behaviour::Silent | Behaviour::Failing))
    }
}

/// Gives `gateways` their parts: `faults` percent are silent, failing or booting back, as many again are slow.
pub fn cast(gateways: u32, faults: u32, seed: u64) -> Vec<Role> {
    let mut rng = Rng::with_seed(seed);
    let mut roles: Vec<Role> = (0..gateways).map(|number| role(number, &mut rng)).collect();
    let canary = roles.iter().map(|role| order_key(ARTIFACT, NEW_VERSION, &role.name)).min();
    // a bad canary ends the rollout at its first wave, which is right and shows nothing
    let mut others: Vec<&mut Role> =
        roles.iter_mut().filter(|role| Some(order_key(ARTIFACT, NEW_VERSION, &role.name)) != canary).collect();
    rng.shuffle(&mut others);
    let share = (gateways as usize * faults as usize).div_ceil(100);
    let bad = Behaviour::FAULTS.into_iter().cycle().take(share);
    let slow = std::iter::repeat_n(Behaviour::Slow, share);
    for (role, behaviour) in others.into_iter().zip(bad.chain(slow)) {
        role.behaviour = behaviour;
    }
    roles
}

fn role(number: u32, rng: &mut Rng) -> Role {
    let [_, high, middle, low] = (number + 1).to_be_bytes();
    Role {
        name: format!("gw-{:04}", number + 1),
        token: format!("{:032x}", rng.u128(..)),
        behaviour: Behaviour::Good,
        client: match rng.u8(0..3) {
            0 => Client::SwUpdate,
            1 => Client::Rauc,
            _ => Client::Generic,
        },
        // beside 127.0.0.1, where the site listens: so a port that it left for a moment is never taken from it
        address: Ipv4Addr::new(127, 1 + high, middle, low),
        seed: rng.u64(..),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(roles: &[Role], behaviour: Behaviour) -> usize {
        roles.iter().filter(|role| role.behaviour == behaviour).count()
    }

    #[test]
    fn the_default_cast_has_every_behaviour_and_every_client() {
        let roles = cast(500, 5, 1);
        let all = [Behaviour::Good, Behaviour::Slow, Behaviour::Silent, Behaviour::Failing, Behaviour::BootsBack];
        assert_eq!(all.map(|behaviour| count(&roles, behaviour)), [450, 25, 9, 8, 8]);
        for client in [Client::SwUpdate, Client::Rauc, Client::Generic] {
            assert!(roles.iter().filter(|role| role.client == client).count() > 100);
        }
    }

    #[test]
    fn the_canary_is_good_whatever_the_seed_and_however_many_faults() {
        for seed in 0..20 {
            let roles = cast(40, 100, seed);
            let canary = roles.iter().min_by_key(|role| order_key(ARTIFACT, NEW_VERSION, &role.name)).unwrap();
            assert_eq!(canary.behaviour, Behaviour::Good);
            assert_eq!(count(&roles, Behaviour::Good), 1);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_cast() {
        let of = |seed| format!("{:?}", cast(30, 20, seed));
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
    }

    #[test]
    fn every_gateway_has_an_address_of_its_own_beside_the_sites() {
        let roles = cast(1000, 0, 1);
        let addresses: std::collections::BTreeSet<_> = roles.iter().map(|role| role.address).collect();
        assert_eq!(addresses.len(), 1000);
        assert!(!addresses.contains(&Ipv4Addr::LOCALHOST));
    }

    #[test]
    fn one_gateway_alone_is_the_canary() {
        assert_eq!(cast(1, 100, 3).first().map(|role| role.behaviour), Some(Behaviour::Good));
        assert!(cast(0, 5, 3).is_empty());
    }
}
