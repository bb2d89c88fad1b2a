//! How often a gateway is told to poll: the site's interval, spread so that gateways that started together part.

use std::time::Duration;

/// From this on gateways with work may be told to come sooner; a site with shorter intervals is quick enough.
const SHORTEST_AT_WORK: Duration = Duration::from_secs(30);

/// Clients take whole seconds, and of less than this a tenth is none.
const SHORTEST_SPREAD: Duration = Duration::from_secs(10);

/// What a gateway is told: `interval`, up to a tenth more or less, in whole seconds of at least one. Always the same for
/// the same gateway, so that its silence can be measured by it.
pub fn told(interval: Duration, gateway: &str) -> Duration {
    if interval < SHORTEST_SPREAD {
        return interval.max(Duration::from_secs(1));
    }
    let spread = 900 + fnv(gateway) % 201;
    let seconds = (interval.as_secs().saturating_mul(spread) + 500) / 1000;
    Duration::from_secs(seconds)
}

/// What a gateway is told while it has work in hand: a third, so that it hears soon of what changes, but never under half
/// a minute, which would only cost the device. Its silence is still measured by [`told`].
pub fn told_at_work(told: Duration) -> Duration {
    told.min(SHORTEST_AT_WORK.max(Duration::from_secs(told.as_secs().div_ceil(3))))
}

/// FNV-1a, folded: small, and the same in every version, unlike the standard library's.
fn fnv(text: &str) -> u64 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn each_gateway_has_its_own_interval_within_a_tenth_and_keeps_it() {
        let intervals: Vec<_> = (0..500).map(|n| told(MINUTE, &format!("gw-{n}")).as_secs()).collect();
        assert!(intervals.iter().all(|seconds| (54..=66).contains(seconds)), "{intervals:?}");
        for seconds in 54..=66 {
            let many = intervals.iter().filter(|known| **known == seconds).count();
            assert!((10..=80).contains(&many), "{many} of 500 gateways poll every {seconds} s");
        }
        assert_eq!(told(MINUTE, "gw-7"), told(MINUTE, "gw-7"));
        for seconds in 1..10 {
            assert!((0..500).all(|n| told(Duration::from_secs(seconds), &format!("gw-{n}")).as_secs() == seconds));
        }
        assert_eq!(told(Duration::ZERO, "gw-7"), Duration::from_secs(1));
    }

    #[test]
    fn work_brings_a_gateway_sooner_but_not_more_often_than_twice_a_minute() {
        for (told, at_work) in [(1, 1), (20, 20), (30, 30), (60, 30), (89, 30), (90, 30), (300, 100), (86_399, 28_800)]
        {
            assert_eq!(told_at_work(Duration::from_secs(told)), Duration::from_secs(at_work), "{told} s");
        }
    }
}
