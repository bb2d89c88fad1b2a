//! Wrong tokens: counted for each address, and slowed for each gateway that an address names.
//!
//! Nobody is locked out. Once an address was wrong about a gateway some times, every answer to it about that gateway waits,
//! a right one too, so that no waiting tells anything; one right token ends that. Other gateways behind the same address
//! are not slowed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use tokio::time::Instant;

use crate::model::ControllerId;

/// So many are free: a person who sets up a gateway types a token wrong.
const FREE: u32 = 5;
/// The first wait; each wrong token doubles it, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// Shorter than clients wait for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// After so long without a wrong one, an address starts anew.
const FORGOTTEN: Duration = Duration::from_mins(10);
/// So many are known at once, about 100 kB; the one that was wrong longest ago goes first.
const MOST: usize = 512;

/// An address that sent wrong tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guesser {
    /// It, or the first of its network: an IPv6 customer has a whole /64.
    pub address: IpAddr,
    /// Wrong tokens since it was first known.
    pub wrong: u64,
    /// Seconds since the last.
    pub ago: u64,
}

/// Who was wrong about whom.
#[derive(Debug, Default)]
pub(super) struct Guesses {
    addresses: RefCell<HashMap<IpAddr, Wrong>>,
    /// Only of gateways that exist: nobody is ever right about the others.
    pairs: RefCell<HashMap<(IpAddr, ControllerId), Wrong>>,
}

#[derive(Debug, Clone, Copy)]
struct Wrong {
    times: u64,
    last: Instant,
}

impl Wrong {
    fn is_lately(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last) < FORGOTTEN
    }
}

impl Guesses {
    /// How long an answer to this address about this gateway has to wait.
    pub(super) fn wait(&self, now: Instant, address: IpAddr, gateway: &ControllerId) -> Duration {
        let pairs = self.pairs.borrow();
        // nothing to look for, as nearly always
        if pairs.is_empty() {
            return Duration::ZERO;
        }
        let wrong = pairs.get(&(network(address), gateway.clone()));
        wrong.filter(|wrong| wrong.is_lately(now)).map_or(Duration::ZERO, |wrong| wait(wrong.times))
    }

    /// A right token.
    pub(super) fn right(&self, address: IpAddr, gateway: &ControllerId) {
        let mut pairs = self.pairs.borrow_mut();
        if !pairs.is_empty() {
            pairs.remove(&(network(address), gateway.clone()));
        }
    }

    /// A wrong one; `gateway` is `None` if there is no such gateway.
    pub(super) fn wrong(&self, now: Instant, address: IpAddr, gateway: Option<&ControllerId>) {
        let address = network(address);
        count(&mut self.addresses.borrow_mut(), now, address);
        if let Some(gateway) = gateway {
            count(&mut self.pairs.borrow_mut(), now, (address, gateway.clone()));
        }
    }

    /// Those that were wrong lately, the worst first.
    pub(super) fn worst(&self, now: Instant, most: usize) -> Vec<Guesser> {
        let addresses = self.addresses.borrow();
        let lately = addresses.iter().filter(|(_, wrong)| wrong.is_lately(now));
        let mut worst: Vec<_> = lately
            .map(|(address, wrong)| Guesser {
                address: *address,
                wrong: wrong.times,
                ago: now.saturating_duration_since(wrong.last).as_secs(),
            })
            .collect();
        worst.sort_unstable_by_key(|guesser| (std::cmp::Reverse(guesser.wrong), guesser.address));
        worst.truncate(most);
        worst
    }
}

fn wait(times: u64) -> Duration {
    let beyond = u32::try_from(times).unwrap_or(u32::MAX).saturating_sub(FREE);
    if beyond == 0 {
        return Duration::ZERO;
    }
    FIRST_WAIT.saturating_mul(1 << (beyond - 1).min(10)).min(LONGEST_WAIT)
}

fn count<K: Clone + Eq + std::hash::Hash>(known: &mut HashMap<K, Wrong>, now: Instant, who: K) {
    if known.len() >= MOST && !known.contains_key(&who) {
        let oldest = known.iter().min_by_key(|(_, wrong)| wrong.last).map(|(who, _)| who.clone());
        oldest.map(|oldest| known.remove(&oldest));
    }
    let wrong = known.entry(who).or_insert(Wrong { times: 0, last: now });
    let times = if wrong.is_lately(now) { wrong.times + 1 } else { 1 };
    *wrong = Wrong { times, last: now };
}

/// What counts as one address.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(name: &str) -> ControllerId {
        name.parse().unwrap()
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn ten_thousand_guesses_are_slowed_and_counted_and_the_neighbours_are_not() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        let nat = address("10.0.0.9");
        let mut waits = Vec::new();
        for _ in 0..10_000 {
            waits.push(guesses.wait(now, nat, &gateway("gw-1")).as_millis());
            guesses.wrong(now, nat, Some(&gateway("gw-1")));
        }
        assert_eq!(waits[..13], [0, 0, 0, 0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 5_000]);
        assert_eq!(waits.last(), Some(&5_000));
        assert_eq!(guesses.wait(now, nat, &gateway("gw-2")), Duration::ZERO);
        assert_eq!(guesses.wait(now, address("10.0.0.10"), &gateway("gw-1")), Duration::ZERO);
        assert_eq!(guesses.worst(now, 4), [Guesser { address: nat, wrong: 10_000, ago: 0 }]);

        guesses.right(nat, &gateway("gw-1"));
        assert_eq!(guesses.wait(now, nat, &gateway("gw-1")), Duration::ZERO);
        assert_eq!(guesses.worst(now, 4)[0].wrong, 10_000, "what was counted stays");
    }

    #[test]
    fn an_address_that_was_quiet_starts_anew() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        (0..50).for_each(|_| guesses.wrong(now, address("10.0.0.9"), Some(&gateway("gw-1"))));
        let later = now + FORGOTTEN;
        assert_eq!(guesses.wait(later, address("10.0.0.9"), &gateway("gw-1")), Duration::ZERO);
        assert_eq!(guesses.worst(later, 4), []);
    }

    #[test]
    fn no_number_of_addresses_and_gateways_takes_more_room() {
        let (guesses, now) = (Guesses::default(), Instant::now());
        for n in 0..5_000_u32 {
            guesses.wrong(now, IpAddr::V4(n.into()), Some(&gateway(&format!("gw-{n}"))));
        }
        assert_eq!((guesses.addresses.borrow().len(), guesses.pairs.borrow().len()), (MOST, MOST));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_a_mapped_ipv4_is_itself() {
        assert_eq!(network(address("2001:db8:1:2:3::4")), network(address("2001:db8:1:2:ffff::1")));
        assert_ne!(network(address("2001:db8:1:2::")), network(address("2001:db8:1:3::")));
        assert_eq!(network(address("::ffff:10.0.0.9")), address("10.0.0.9"));
    }
}
