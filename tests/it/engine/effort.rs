//! A step goes over all members of a rollout as seldom as it can. How long that takes is measured; how often is counted here.

use lamplighter::engine::{Draft, apply, settle};
use lamplighter::model::*;

use super::site::*;

/// How often a step over this would go over all members of a rollout.
fn walks(site: &Site, event: Event) -> u32 {
    let mut state = site.core.state().clone();
    let mut draft = Draft::new(&mut state, Now { site: site.now, wall: None });
    apply(&mut draft, event);
    settle(&mut draft);
    draft.finish().surveys
}

fn runs(gateway: &str, version: &str) -> Event {
    let data = [("os".into(), Some(version.into()))].into();
    Event::Attributes(id(gateway), Attributes { mode: AttributesMode::Merge, data, from: None })
}

/// Twenty gateways, of which two may be under way at once, and two are offered their update.
fn two_of_twenty(edit: impl FnOnce(&mut RolloutSpec)) -> (Site, Vec<String>) {
    let mut site = Site::rolling(20, |spec| {
        spec.strategy.waves = vec![WaveSpec { size: amount("100%"), ..WaveSpec::CANARY }];
        spec.strategy.max_in_flight = amount("2");
        edit(spec);
    });
    site.everybody_polls();
    let offered = site.queue().iter().map(ToString::to_string).filter(|gateway| site.sees_link(gateway)).collect();
    (site, offered)
}

fn one_walk_or_two(edit: impl FnOnce(&mut RolloutSpec)) {
    let (mut site, offered) = two_of_twenty(edit);
    let gateway = offered[0].as_str();
    assert_eq!((offered.len(), walks(&site, Event::Seen(id(gateway)))), (2, 0), "nothing new: nobody is looked at");
    let fetched = Event::Fetched(id(gateway), site.order(gateway));
    assert_eq!(walks(&site, fetched), 1);
    site.download(gateway);
    assert_eq!(walks(&site, Event::Feedback(id(gateway), site.order(gateway), success())), 1);
    site.says(gateway, success());
    // its place is given to the next, and then it is seen whether anything follows from that
    assert_eq!(walks(&site, runs(gateway, "2")), 2);
    site.reports(gateway, "2");
    assert_eq!(walks(&site, runs(gateway, "2")), 0, "it says the same again");
}

#[test]
fn a_step_goes_over_all_members_once_and_once_more_if_it_offers_something() {
    one_walk_or_two(|_| {});
}

#[test]
fn so_it_does_where_members_wait_for_others() {
    one_walk_or_two(|spec| {
        let (max_in_flight, min_healthy) = (Some(amount("2")), Some(amount("1")));
        spec.strategy.spread = Some(Spread { label: "site".into(), max_in_flight, min_healthy });
    });
}
