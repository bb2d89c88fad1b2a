//! The budget of bytes: who downloads again and again is stopped.

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::site::*;

#[test]
fn a_gateway_that_is_sent_the_artifact_again_and_again_stops_at_its_budget() {
    let mut site = Site::rolling(1, |spec| spec.max_bytes = Some(2_500));
    site.fetch("g1");
    for bytes in [900, 900] {
        assert_eq!(site.request("g1", Bytes::Some), Verdict::Deploy);
        site.body_ended_after("g1", bytes);
    }
    assert_eq!(site.last.members.len(), 1, "saved once per artifact's size");
    site.restart();
    site.list();
    site.seen("g1");
    site.verify();
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Deploy);
    site.body_ended_after("g1", 700);
    assert_eq!(site.request("g1", Bytes::None), Verdict::Deploy, "a 416 costs nothing");
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Withdrawn);
    assert_eq!(site.at("g1"), Step::Failed(FailedReason::BytesSpent));
    assert_eq!(site.member("g1").message.as_deref(), Some("2.5 x the artifact was sent to it"));
}

#[test]
fn who_is_updated_and_downloads_past_its_budget_loses_its_order_and_stays_updated() {
    let mut site = Site::rolling(1, |spec| {
        spec.max_bytes = Some(1_500);
        spec.strategy.max_failures = amount("1");
    });
    site.download("g1");
    site.body_ended_after("g1", 1_000);
    site.reports("g1", "2");
    assert_eq!(site.at("g1"), Step::Updated);
    // its client forgot that it was done
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Deploy);
    site.body_ended_after("g1", 1_000);
    assert_eq!(site.request("g1", Bytes::Some), Verdict::Withdrawn);
    assert_eq!(site.at("g1"), Step::Updated);
    assert!(site.main().tripped.is_none() && !site.sees_link("g1"));
}
