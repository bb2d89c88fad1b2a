//! What must hold whatever happens: any event, in any order, with any ids, over small fleets.
//!
//! A few cases each in `make check`; 10,000 in all, six tests, in `make test`.

mod brakes;
mod checks;
mod ops;
mod run;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use ops::{Op, op};
use run::Run;

/// The same cases on every machine, others in each test; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` look further.
fn config(nth: u64) -> ProptestConfig {
    let set = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = set("PROPTEST_RNG_SEED").unwrap_or(3) + 1_000_000 * nth;
    let cases = set("PROPTEST_CASES").and_then(|cases| u32::try_from(cases).ok()).unwrap_or(48);
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..ProptestConfig::default() }
}

macro_rules! properties {
    ($($anything:ident, $sensible:ident, $braked:ident: $nth:literal;)+) => { $(
        proptest! {
            #![proptest_config(config($nth))]

            /// After every step: settled, touched-only equals all, nothing due now, caps and ids kept, and, every now and
            /// then, the records say it all and late words move nobody.
            #[test]
            fn $anything(ops in proptest::collection::vec(op(), 10..90)) {
                let mut run = Run::new();
                for op in &ops {
                    run.take(op);
                }
                run.looks_closely();
            }

            /// The same with sensible gateways, so that updates get far.
            #[test]
            fn $sensible(ops in proptest::collection::vec(ops::sensible(), 20..120)) {
                let mut run = Run::new();
                run.take(&Op::start());
                for op in &ops {
                    run.take(op);
                }
                run.looks_closely();
            }

            /// Nobody gets an order while too many of its line are under way, too few others are healthy, or its permit is
            /// not known to be there.
            #[test]
            fn $braked(spread in 1_u8..4, gated: bool, ops in proptest::collection::vec(ops::braked(), 40..110)) {
                let mut run = Run::new();
                run.take(&Op::start_with(spread, gated));
                for op in &ops {
                    run.take(op);
                }
                run.looks_closely();
            }
        }
    )+ };
}

// two of each, so that two cores have about the same to do
properties! {
    whatever_happens_the_state_is_settled_and_its_records_rebuild_it, the_same_while_updates_go_on,
        no_order_is_given_against_a_line_a_pair_or_a_permit: 0;
    whatever_else_happens_too, the_same_while_other_updates_go_on, nor_in_other_cases: 1;
}
