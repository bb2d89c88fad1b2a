//! What must hold whatever happens: any event, in any order, with any ids, over small fleets.

mod brakes;
mod checks;
mod ops;
mod run;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use ops::{Op, op};
use run::Run;

fn config(cases: u32) -> ProptestConfig {
    // the same cases on every machine; PROPTEST_CASES and PROPTEST_RNG_SEED look further
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(3);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(96))]

    /// After every step: settled, touched-only equals all, nothing due now, caps and ids kept, and the records say it all.
    #[test]
    fn whatever_happens_the_state_is_settled_and_its_records_rebuild_it(
        ops in proptest::collection::vec(op(), 10..90)
    ) {
        let mut run = Run::new();
        for op in &ops {
            run.take(op);
        }
    }

    /// The same with sensible gateways, so that updates get far.
    #[test]
    fn the_same_while_updates_go_on(ops in proptest::collection::vec(ops::sensible(), 20..120)) {
        let mut run = Run::new();
        run.take(&Op::start());
        for op in &ops {
            run.take(op);
        }
    }

    /// Nobody gets an order while too many of its line are under way, too few others are healthy, or its permit is not
    /// known to be there.
    #[test]
    fn no_order_is_given_against_a_line_a_pair_or_a_permit(
        spread in 1_u8..4, gated: bool, ops in proptest::collection::vec(ops::braked(), 40..110)
    ) {
        let mut run = Run::new();
        run.take(&Op::start_with(spread, gated));
        for op in &ops {
            run.take(op);
        }
    }
}
