//! Services of the API server: absence is not deletion, the same again restarts nothing, and what a manifest declares too
//! counts for neither.

use lamplighter::engine::{Service, ServicePhase};
use lamplighter::model::*;

use super::services::{Plant, name, spec};

fn uid(n: u8) -> Uid {
    Uid::new([n; 16])
}

fn intent() -> Intent {
    Intent::Service(name(), spec().into())
}

fn other() -> Intent {
    let spec = ServiceSpec { config: vec!["/etc/edge/other".parse().unwrap()], ..spec() };
    Intent::Service(ServiceName("other".into()), spec.into())
}

fn list(plant: &mut Plant, objects: Vec<(Uid, Intent)>) {
    let listing = ApiListing { cluster: uid(200), objects, deleted: vec![], refused: vec![], adopted: None };
    assert_eq!(plant.site.happens(Event::ApiListed(listing.into())), Verdict::Accepted);
}

fn fact(plant: &mut Plant, fact: ApiFact) {
    assert_eq!(plant.site.happens(Event::Api(uid(200), fact.into())), Verdict::Accepted);
}

fn service(plant: &Plant) -> &Service {
    &plant.site.core.state().services[&name()]
}

fn clashes(plant: &Plant) -> usize {
    plant.site.core.state().api.disputes.len()
}

/// The service is an object of the API, and was seen for the first time.
fn declared() -> Plant {
    let mut plant = Plant::declared();
    plant.site.services.clear();
    plant.site.restart_whole();
    list(&mut plant, vec![(uid(1), intent())]);
    plant.settles("A");
    assert_eq!(plant.phase(), ServicePhase::Ready);
    plant
}

#[test]
fn a_service_of_the_api_restarts_once_when_what_it_reads_changes() {
    let mut plant = declared();
    assert_eq!(service(&plant).origin, DeclaredBy::Api(uid(1)));
    plant.settles("B");
    list(&mut plant, vec![(uid(1), intent())]);
    assert!(plant.site.last.is_empty(), "{:?}", plant.site.last);
    plant.site.list();
    plant.settles("B");
    assert_eq!(plant.restarts(), 1);
}

#[test]
fn weeks_without_the_api_it_goes_on_from_the_store() {
    let mut plant = declared();
    plant.site.restart_whole();
    plant.settles("A");
    plant.settles("B");
    assert_eq!(plant.restarts(), 1);
}

#[test]
fn what_the_api_no_longer_shows_restarts_nothing_and_the_same_again_neither() {
    let mut plant = declared();
    for gone in [ApiFact::Gone(ObjectName::Service(name())), ApiFact::Deleted(uid(1), ObjectName::Service(name()))] {
        fact(&mut plant, gone);
        assert_eq!(plant.reason(), Some(ServiceReason::Unlisted));
        plant.settles("A");
        fact(&mut plant, ApiFact::Declared(uid(2), intent()));
        plant.settles("A");
        assert_eq!((plant.restarts(), plant.phase()), (0, ServicePhase::Ready));
    }
    list(&mut plant, vec![]);
    plant.settles("B");
    assert_eq!((plant.restarts(), plant.reason()), (0, Some(ServiceReason::Unlisted)));
    list(&mut plant, vec![(uid(3), intent())]);
    plant.settles("B");
    assert_eq!(plant.restarts(), 1, "it changed meanwhile");
}

#[test]
fn declared_by_a_manifest_and_by_the_api_it_counts_for_neither_until_one_of_them_goes() {
    let mut plant = declared();
    plant.site.services.insert("modbus".into(), spec());
    plant.site.list();
    assert_eq!((clashes(&plant), plant.reason()), (1, Some(ServiceReason::Unlisted)));
    plant.settles("B");
    assert_eq!(plant.restarts(), 0);
    plant.site.services.clear();
    plant.site.list();
    assert_eq!((clashes(&plant), service(&plant).origin), (0, DeclaredBy::Api(uid(1))));
    plant.settles("B");
    assert_eq!(plant.restarts(), 1);
    // the other way round
    plant.site.services.insert("modbus".into(), spec());
    plant.site.list();
    assert_eq!(clashes(&plant), 1);
    fact(&mut plant, ApiFact::Deleted(uid(1), ObjectName::Service(name())));
    assert_eq!((clashes(&plant), service(&plant).origin), (0, DeclaredBy::Manifest));
    plant.settles("B");
    assert_eq!((plant.restarts(), plant.phase()), (1, ServicePhase::Ready));
}

#[test]
fn two_services_that_restart_one_unit_clash_too() {
    let mut plant = declared();
    fact(&mut plant, ApiFact::Declared(uid(2), other()));
    let refused = plant.site.core.state().api.refused.values().next().unwrap();
    assert_eq!(refused.why, "the unit modbus.service is restarted by EdgeService/modbus already");
    let Intent::Service(ServiceName(name), spec) = other() else { unreachable!() };
    plant.site.services.insert(name, *spec);
    plant.site.list();
    assert_eq!((clashes(&plant), plant.reason()), (1, Some(ServiceReason::Unlisted)));
}
