//! A rollout that came by a drop, written as a person could have written it.

use lamplighter::resources::typed;

use super::{DIGEST, accepted, rollout};

/// What it is once it was written down and read again.
fn again(text: &str) {
    let spec = accepted(text);
    let written = serde_json::to_value(typed(&spec)).unwrap();
    let object = serde_json::json!({
        "apiVersion": "lamplighter.dev/v1alpha1", "kind": "OtaRollout", "metadata": {"name": "r"}, "spec": written,
    });
    assert_eq!(accepted(&object.to_string()), spec, "{written:#}");
}

#[test]
fn a_rollout_that_is_written_down_and_read_again_is_the_same() {
    again(&rollout("r", ""));
    again(&rollout(
        "r",
        "  strategy:
    waves: [{name: bench, selector: {matchLabels: {bench: b}}, approval: Manual, minUpdated: 1}, {size: 2, soak: 90s}, {size: \"10%\", minUpdated: \"80%\"}]
    maxInFlight: 7
    maxFailures: \"3%\"
    failureAction: Rollback
    spread: {label: line, maxInFlight: 1, minHealthy: \"50%\"}
  gates: [{name: permit, file: \"/permits/{line}\"}, {http: \"http://plc/ready/{name}\"}]
  deadlines: {download: 1h30m, install: 5m, confirm: 6m, cancel: 7m}
  attempts: 5
  maxBytes: 1Gi
  confirmBy: Feedback
  windows: [{days: [Sat, Sun], start: \"22:00\", end: \"06:00\", lastStart: \"04:30\", timeZone: Europe/Berlin}, {start: \"12:00\", end: \"13:00\"}]
  whenClockUnknown: Allow
  allowDowngrade: true
  paused: true
  retryToken: again
  approvedWaves: [\"bench@2.0\", \"bench@1.0\"]
",
    ));
    again(&rollout("r", "  cancelled: true\n  confirmBy: ReportedVersion\n  maxBytes: 12345\n"));
    let one = format!("sources: [\"file:os-2.swu\"], digest: \"{DIGEST}\", sizeBytes: 4");
    let file = |label: &str, source: &str| {
        format!("{{match: {{matchLabels: {{{label}}}}}, sources: [\"{source}\"], digest: \"{DIGEST}\", sizeBytes: 4}}")
    };
    let variants =
        [file("soc: a", "https://h/f"), file("attr.lamplighter.dev/soc: b", "oci://r.example/os:2")].join(", ");
    let text = rollout("r", "");
    assert!(text.contains(&one), "{text}");
    again(&text.replace(&one, &format!("variants: [{variants}]")));
}
