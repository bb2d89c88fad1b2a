//! A week of a site in virtual time: 500 gateways, ten rollouts one after the other.

use std::time::Instant;

use lamplighter::world::scenario::Scenario;

use crate::GATEWAYS;
use crate::process::own_cpu_seconds;
use crate::table::told;

const ROLLOUTS: u32 = 10;

pub fn measure() {
    let scenario = Scenario::read(&text(), 1).unwrap_or_else(|refused| panic!("{refused}"));
    let (started, before) = (Instant::now(), own_cpu_seconds());
    let played = scenario.play(1);
    let (real, cpu) = (started.elapsed().as_secs_f64(), own_cpu_seconds() - before);
    assert!(played.holds(), "{:#?} {:#?}", played.expectations, played.wrong);
    let what =
        format!("{GATEWAYS} gateways x {ROLLOUTS} rollouts over {} h of virtual time", played.virtual_seconds / 3_600);
    told(&what, real, "s", "");
    told("the same: processor time", cpu, "s", "");
    told("the same: steps of the heart", played.steps as f64, "", "");
    told("the same: commits", played.commits as f64, "", "");
    told("the same: polls", played.polls as f64, "", "");
}

fn text() -> String {
    let rollout = |n: u32| {
        format!(
            r#"{{apiVersion: lamplighter.dev/v1alpha1, kind: OtaRollout, metadata: {{name: weekly}}, spec: {{
        artifact: {{name: gateway-os, version: 2.0.{n}, sources: ["file:os.swu"], digest: "sha256:{n:064}", sizeBytes: 16777216}},
        selector: {{matchLabels: {{hall: "7"}}}},
        strategy: {{waves: [{{size: 1, soak: 10m}}, {{size: "10%", soak: 30m}}, {{size: "100%", soak: 30m}}]}}}}}}"#
        )
    };
    let mut text = format!(
        r#"scenario: week
about: ten rollouts, one every 16 hours
lasts: 7d
gateways: [{{name: "gw-{{n:3}}", count: {GATEWAYS}, labels: {{hall: "7"}}, client: swupdate}}]
manifests: [{}]
events:
"#,
        rollout(0)
    );
    let events = (1..ROLLOUTS).map(|n| format!("  - {{at: {}h, declare: [{}]}}\n", 16 * n, rollout(n)));
    text.extend(events);
    // a last look at the end of the week
    text + &format!(
        "  - {{at: 167h, link: up}}\nexpect: [{{rollout: weekly, phase: Ready, rows: {{RolloutReady: {ROLLOUTS}}}, run: 2.0.{}}}]\n",
        ROLLOUTS - 1
    )
}
