//! Gateways that nobody declared and that were accepted.

use lamplighter::engine::Step;
use lamplighter::model::*;

use super::site::*;

fn newcomer(name: &str) -> Newcomer {
    let labels = [("site".into(), "hall".into())].into();
    Newcomer { controller_id: id(name), token: Some(TokenHash::new([7; 32])), labels, from: "10.0.0.7".into() }
}

fn accept(site: &mut Site, name: &str) -> Verdict {
    site.happens(Event::Registered(Box::new(newcomer(name)), Some("uid 0".into())))
}

fn known(site: &Site, name: &str) -> (bool, DeclaredBy) {
    let gateway = &site.core.state().gateways[&id(name)];
    (gateway.listed, gateway.origin)
}

#[test]
fn an_accepted_gateway_is_a_member_and_stays_one_over_lists_and_restarts() {
    let mut site = Site::rolling(1, |_| {});
    assert_eq!(accept(&mut site, "new-1"), Verdict::Accepted);
    assert_eq!(site.board[&id("new-1")].token, Some(TokenHash::new([7; 32])));
    let row = site.journal.iter().find(|row| row.what == What::Ordered).unwrap();
    assert_eq!(row.detail, "accept, by uid 0, with the token it showed first, from 10.0.0.7");
    assert_eq!(row.gateway.as_deref(), Some("new-1"));
    for _ in 0..2 {
        site.list();
        assert_eq!(known(&site, "new-1"), (true, DeclaredBy::Accepted));
        site.restart();
    }
    site.list();
    site.verify();
    site.seen("g1");
    site.seen("new-1");
    site.update("g1");
    site.wait(SOAK);
    assert_eq!(site.at("new-1"), Step::Offered);
    site.update("new-1");
    assert_eq!(site.at("new-1"), Step::Updated);
}

#[test]
fn a_manifest_that_declares_it_takes_it_over() {
    let mut site = Site::rolling(1, |_| {});
    accept(&mut site, "new-1");
    let declared = GatewaySpec { token: Some(TokenHash::new([9; 32])), ..gateway("new-1") };
    site.gateways.insert("new-1".into(), declared);
    site.list();
    assert_eq!(known(&site, "new-1"), (true, DeclaredBy::Manifest));
    assert_eq!(site.board[&id("new-1")].token, Some(TokenHash::new([9; 32])), "the manifest's word counts");
    assert_eq!(accept(&mut site, "new-1"), Verdict::AlreadyClosed);
    assert_eq!(site.board[&id("new-1")].token, Some(TokenHash::new([9; 32])));
    site.gateways.remove("new-1");
    site.list();
    assert_eq!(known(&site, "new-1"), (false, DeclaredBy::Manifest), "from then on it is as any other");
}

#[test]
fn a_site_takes_in_a_thousand_and_no_more() {
    let mut site = Site::rolling(1, |_| {});
    for n in 0..1_024 {
        assert_eq!(accept(&mut site, &format!("new-{n}")), Verdict::Accepted);
    }
    assert_eq!(accept(&mut site, "one-too-many"), Verdict::OverQuota);
    assert!(site.last.is_empty());
    assert!(!site.core.state().gateways.contains_key(&id("one-too-many")));
}
