//! Objects of the API server: absence is not deletion, another cluster is nobody, and what a manifest declares too counts
//! for neither.

use lamplighter::engine::{Phase, Step};
use lamplighter::model::*;

use super::site::*;

const UNLISTED: Step = Step::Waiting(WaitingReason::Unlisted);

fn uid(n: u8) -> Uid {
    Uid::new([n; 16])
}

const CLUSTER: u8 = 200;

/// What the API server has; uids count from 1.
fn listing(site: &Site, cluster: u8) -> ApiListing {
    let gateways = site.gateways.values().cloned().map(Intent::Gateway);
    let rollouts =
        site.rollouts.iter().map(|(name, spec)| Intent::Rollout(Identity(name.clone()), spec.clone().into()));
    let objects = (1..).map(uid).zip(gateways.chain(rollouts)).collect();
    ApiListing { cluster: uid(cluster), objects, deleted: vec![], refused: vec![], adopted: None }
}

fn api_list(site: &mut Site) -> Verdict {
    let listing = listing(site, CLUSTER);
    site.happens(Event::ApiListed(listing.into()))
}

fn fact(site: &mut Site, fact: ApiFact) -> Verdict {
    site.happens(Event::Api(uid(CLUSTER), fact.into()))
}

fn name() -> ObjectName {
    ObjectName::Rollout(Identity("main".into()))
}

fn intent(name: &str, spec: RolloutSpec) -> Intent {
    Intent::Rollout(Identity(name.into()), spec.into())
}

fn no_manifests(site: &mut Site) {
    site.happens(Event::Listed(Listing::default()));
}

/// A site whose gateways and whose rollout `main` are objects of the API; the first wave is offered.
fn rolling(gateways: usize) -> Site {
    let mut site = Site::new();
    no_manifests(&mut site);
    site.happens(Event::ApiAwaited(None));
    site.declare_gateways(gateways);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    assert_eq!(api_list(&mut site), Verdict::Accepted);
    site.everybody_polls();
    site.verify();
    site
}

/// The same with the first wave proven.
fn rolling_on(gateways: usize) -> Site {
    let mut site = rolling(gateways);
    let canary = site.canary();
    site.update(&canary);
    site.wait(SOAK);
    site
}

#[test]
fn what_the_api_declares_is_offered_and_the_same_list_again_writes_nothing() {
    let mut site = rolling_on(4);
    assert_eq!(site.count(Step::Offered), 3);
    assert_eq!(site.main().origin, DeclaredBy::Api(uid(5)));
    api_list(&mut site);
    assert!(site.last.is_empty(), "{:?}", site.last);
    site.restart();
    no_manifests(&mut site);
    assert_eq!(site.count(Step::Offered), 3, "weeks without the API: it goes on from the store");
}

#[test]
fn a_list_of_manifests_never_unlists_objects_of_the_api_and_the_other_way_round() {
    let mut site = rolling_on(3);
    no_manifests(&mut site);
    assert_eq!(site.count(Step::Offered), 2);
    let mut site = Site::rolling_on(3, |_| {});
    let nothing =
        ApiListing { cluster: uid(CLUSTER), objects: vec![], deleted: vec![], refused: vec![], adopted: None };
    site.happens(Event::ApiListed(nothing.into()));
    assert_eq!(site.count(Step::Offered), 2);
}

#[test]
fn no_rollout_is_frozen_before_an_api_that_never_answered_gave_its_list() {
    let mut site = Site::new();
    site.happens(Event::ApiAwaited(None));
    site.declare_gateways(1);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.list();
    site.everybody_polls();
    site.verify();
    assert!(site.main().frozen.is_none());
    assert!(matches!(site.phase(), Phase::Reconciling(ReconcilingReason::AwaitingApi, _)), "{:?}", site.phase());
    let more = vec![(uid(1), Intent::Gateway(gateway("g2")))];
    let list = ApiListing { cluster: uid(CLUSTER), objects: more, deleted: vec![], refused: vec![], adopted: None };
    site.happens(Event::ApiListed(list.into()));
    assert_eq!(site.main().frozen.as_ref().unwrap().total, 2);
    // the next start knows what it had
    site.rollouts.insert("newer".into(), rollout("app", "1"));
    site.restart();
    site.happens(Event::ApiAwaited(None));
    site.list();
    site.verify();
    assert_eq!(site.rollout("newer").frozen.as_ref().unwrap().total, 2);
}

#[test]
fn an_empty_list_undoes_nothing_and_starts_nothing() {
    let mut site = rolling_on(4);
    let rest = site.rest();
    site.download(&rest[0]);
    let empty = ApiListing { cluster: uid(CLUSTER), objects: vec![], deleted: vec![], refused: vec![], adopted: None };
    site.happens(Event::ApiListed(empty.into()));
    assert_eq!((site.at(&rest[0]), site.count(UNLISTED)), (Step::Installing, 2));
    assert_eq!(site.says(&rest[0], success()), Verdict::Accepted);
    site.reports(&rest[0], "2");
    assert_eq!(site.at(&rest[0]), Step::Updated);
    api_list(&mut site);
    assert_eq!((site.count(Step::Offered), site.main().arrival), (2, 1), "it is the same intent");
}

#[test]
fn another_cluster_behind_the_address_is_not_believed() {
    let mut site = rolling_on(3);
    let mut other = listing(&site, 201);
    other.objects.clear();
    assert_eq!(site.happens(Event::ApiListed(other.clone().into())), Verdict::AnotherCluster(uid(CLUSTER)));
    assert_eq!(site.noted(What::AnotherCluster), 1);
    let gone = ApiFact::Deleted(uid(4), name());
    assert_eq!(site.happens(Event::Api(uid(201), gone.into())), Verdict::AnotherCluster(uid(CLUSTER)));
    other.objects.push((uid(9), intent("newer", rollout("os", "3"))));
    site.happens(Event::ApiListed(other.into()));
    assert_eq!((site.count(Step::Offered), site.noted(What::AnotherCluster)), (2, 1), "and it is said once");
    assert_eq!(site.core.state().rollouts.len(), 1);
    assert_eq!(site.core.state().api.other_cluster, Some(uid(201)));
    api_list(&mut site);
    assert_eq!((site.core.state().api.other_cluster, site.noted(What::AnotherCluster)), (None, 2));
}

#[test]
fn a_deletion_takes_offers_back_lets_whoever_installs_finish_and_is_then_forgotten() {
    let mut site = rolling_on(5);
    let rest = site.rest();
    site.fetch(&rest[0]);
    site.download(&rest[1]);
    assert_eq!(fact(&mut site, ApiFact::Deleted(uid(6), name())), Verdict::Accepted);
    let cancelled = Step::Skipped(SkippedReason::Cancelled);
    assert_eq!((site.at(&rest[2]), site.sees_link(&rest[2])), (cancelled, false));
    assert_eq!(site.at(&rest[0]), Step::Waiting(WaitingReason::Cancelling));
    assert_eq!(site.at(&rest[1]), Step::Installing);
    assert_eq!((site.noted(What::RolloutDeleted), site.noted(What::RolloutCancelled)), (1, 0));
    site.says(&rest[1], success());
    site.reports(&rest[1], "2");
    assert_eq!(site.core.state().rollouts.len(), 1);
    site.wait(Deadlines::default().cancel);
    assert!(site.core.state().rollouts.is_empty(), "one dead gateway keeps nobody for ever");
    site.restart();
    assert!(site.core.state().rollouts.is_empty());
}

#[test]
fn a_deletion_that_is_seen_twice_is_one() {
    let mut site = rolling_on(3);
    let rest = site.rest();
    site.download(&rest[0]);
    for _ in 0..2 {
        fact(&mut site, ApiFact::Deleted(uid(4), name()));
    }
    let mut list = listing(&site, CLUSTER);
    list.objects.pop();
    list.deleted.push((uid(4), name()));
    site.happens(Event::ApiListed(list.into()));
    assert_eq!(site.noted(What::RolloutDeleted), 1);
}

#[test]
fn what_is_declared_again_after_its_deletion_is_another_intent() {
    let mut site = rolling_on(3);
    let rest = site.rest();
    site.download(&rest[0]);
    fact(&mut site, ApiFact::Deleted(uid(4), name()));
    fact(&mut site, ApiFact::Declared(uid(40), intent("main", rollout("os", "2"))));
    assert_eq!((site.main().arrival, site.main().cancelled), (2, false));
    site.verify();
    assert!(matches!(site.at(&rest[0]), Step::Waiting(_)), "it finishes first");
    site.says(&rest[0], success());
    site.reports(&rest[0], "2");
    site.wait(SOAK);
    assert_eq!(site.at(&rest[0]), Step::Skipped(SkippedReason::AlreadyInstalled), "and nothing runs twice");
    assert_eq!(site.at(&rest[1]), Step::Offered);
}

#[test]
fn recreated_unseen_with_a_new_uid_it_is_the_same_intent() {
    let mut site = rolling_on(3);
    let rest = site.rest();
    site.download(&rest[0]);
    let mut list = listing(&site, CLUSTER);
    list.objects.last_mut().unwrap().0 = uid(77);
    site.happens(Event::ApiListed(list.into()));
    assert_eq!((site.main().arrival, site.main().origin), (1, DeclaredBy::Api(uid(77))));
    assert_eq!((site.at(&rest[0]), site.count(Step::Offered)), (Step::Installing, 1), "nothing runs twice");
}

#[test]
fn an_edit_that_cannot_be_accepted_starts_nothing_new() {
    let mut site = rolling_on(3);
    let refusal = Refusal { what: "OtaRollout/main".into(), why: "spec.attempts: is 99".into() };
    fact(&mut site, ApiFact::Refused(name(), refusal));
    assert_eq!((site.count(UNLISTED), site.core.state().api.refused.len()), (2, 1));
    fact(&mut site, ApiFact::Declared(uid(4), intent("main", rollout("os", "2"))));
    assert_eq!((site.count(Step::Offered), site.core.state().api.refused.len()), (2, 0));
}

#[test]
fn what_is_no_longer_this_sites_is_not_deleted() {
    let mut site = rolling_on(3);
    fact(&mut site, ApiFact::Gone(name()));
    assert_eq!((site.count(UNLISTED), site.noted(What::RolloutDeleted)), (2, 0));
}

#[test]
fn declared_by_a_manifest_and_by_the_api_it_counts_for_neither_until_one_of_them_goes() {
    let mut site = rolling_on(3);
    let both = || Listing { intents: vec![intent("main", rollout("os", "2"))], refused: vec![] };
    site.happens(Event::Listed(both()));
    assert_eq!((site.count(UNLISTED), site.core.state().api.disputes.len()), (2, 1));
    site.happens(Event::Listed(both()));
    api_list(&mut site);
    assert_eq!((site.count(UNLISTED), site.core.state().api.disputes.len()), (2, 1), "said again it is the same");
    no_manifests(&mut site);
    assert_eq!((site.count(Step::Offered), site.core.state().api.disputes.len()), (2, 0));
    assert!(site.main().origin.is_api());
    // and the other way round
    site.happens(Event::Listed(both()));
    fact(&mut site, ApiFact::Gone(name()));
    assert_eq!((site.count(Step::Offered), site.main().origin), (2, DeclaredBy::Manifest));
    assert_eq!(site.main().arrival, 1, "it is the same intent all the way");
}

#[test]
fn a_deletion_in_a_dispute_withdraws_nothing_that_the_manifest_declares() {
    let mut site = Site::rolling_on(3, |_| {});
    fact(&mut site, ApiFact::Declared(uid(4), intent("main", rollout("os", "2"))));
    assert_eq!(site.count(UNLISTED), 2);
    fact(&mut site, ApiFact::Deleted(uid(4), name()));
    assert_eq!((site.count(Step::Offered), site.noted(What::RolloutDeleted)), (2, 0));
}

#[test]
fn two_gateways_with_one_controller_id_clash_too() {
    let mut site = Site::rolling_on(3, |_| {});
    let rest = site.rest();
    let twin = GatewaySpec { name: "twin".into(), ..gateway(&rest[0]) };
    fact(&mut site, ApiFact::Declared(uid(9), Intent::Gateway(twin)));
    assert_eq!((site.at(&rest[0]), site.at(&rest[1])), (UNLISTED, Step::Offered));
    fact(&mut site, ApiFact::Gone(ObjectName::Gateway("twin".into())));
    assert_eq!(site.at(&rest[0]), Step::Offered);
    // within the API the one that has it keeps it
    let mut site = rolling_on(3);
    let rest = site.rest();
    let twin = GatewaySpec { name: "twin".into(), ..gateway(&rest[0]) };
    fact(&mut site, ApiFact::Declared(uid(9), Intent::Gateway(twin)));
    assert_eq!((site.at(&rest[0]), site.core.state().api.refused.len()), (Step::Offered, 1));
}

#[test]
fn a_gateway_that_gets_another_controller_id_is_another_machine() {
    let mut site = rolling_on(3);
    let rest = site.rest();
    let edited = GatewaySpec { controller_id: id("other"), ..gateway(&rest[0]) };
    fact(&mut site, ApiFact::Declared(uid(2), Intent::Gateway(edited)));
    assert_eq!(site.at(&rest[0]), UNLISTED);
    assert!(site.member("other").joiner);
}

#[test]
fn the_api_takes_over_what_came_by_a_drop_and_a_drop_does_not_contradict_the_api() {
    let mut site = Site::new();
    no_manifests(&mut site);
    let dropped = |n: &str, version: &str| {
        let mut spec = rollout("os", version);
        spec.artifact.sources = vec![Source::Http { url: "https://h/f".parse().unwrap() }];
        Event::Dropped(Dropped {
            file: "a.yaml".into(),
            digest: Some(digest(n)),
            content: Ok(vec![intent("main", spec)]),
        })
    };
    assert_eq!(site.happens(dropped("1", "2")), Verdict::Accepted);
    fact(&mut site, ApiFact::Declared(uid(4), intent("main", rollout("os", "2"))));
    assert_eq!((site.main().origin, site.noted(What::TakenOver)), (DeclaredBy::Api(uid(4)), 1));
    let verdict = site.happens(dropped("2", "3"));
    let expected = Contradiction { object: 0, why: Against::Declared };
    assert_eq!(verdict, Verdict::Contradicts(expected));
}

#[test]
fn a_store_that_knows_nothing_of_what_the_site_adopted_before_offers_nothing_until_a_person_says_so() {
    let mut site = Site::new();
    no_manifests(&mut site);
    site.happens(Event::ApiAwaited(None));
    site.declare_gateways(2);
    site.rollouts.insert("main".into(), rollout("os", "2"));
    let list = ApiListing { adopted: Some(name()), ..listing(&site, CLUSTER) };
    site.happens(Event::ApiListed(list.clone().into()));
    site.everybody_polls();
    site.verify();
    assert!(matches!(site.phase(), Phase::Stalled(StalledReason::StoreLost, _)), "{:?}", site.phase());
    let row = site.journal.iter().find(|row| row.what == What::StoreLost).unwrap();
    assert!(row.detail.contains("OtaRollout/main"), "{row:?}");
    site.happens(Event::Order(Order::Resume, "uid 1000".into()));
    assert_eq!(site.count(Step::Waiting(WaitingReason::UnknownVersion)), 2);
    site.reports("g1", "2");
    site.reports("g2", "1");
    assert_eq!((site.at("g1"), site.at("g2")), (Step::Skipped(SkippedReason::AlreadyInstalled), Step::Offered));
    // from now on it knows them
    site.happens(Event::ApiListed(list.into()));
    assert!(!site.core.state().site.lost);
}

/// A site to which a drop brought `main`, and what the API calls that.
fn dropped() -> (Site, Identity) {
    let mut site = Site::new();
    no_manifests(&mut site);
    site.happens(Event::ApiAwaited(None));
    site.declare_gateways(3);
    api_list(&mut site);
    site.everybody_polls();
    drop_brings(&mut site, "7", "2");
    site.rollouts.insert("main".into(), rollout("os", "2"));
    site.verify();
    site.rollouts.clear();
    let object = site.main().object.clone().unwrap();
    (site, object)
}

fn drop_brings(site: &mut Site, manifest: &str, version: &str) {
    let mut spec = rollout("os", version);
    spec.artifact.sources = vec![Source::Http { url: "https://h/f".parse().unwrap() }];
    let content = Ok(vec![intent("main", spec)]);
    let dropped = Dropped { file: "a.yaml".into(), digest: Some(digest(manifest)), content };
    assert_eq!(site.happens(Event::Dropped(dropped)), Verdict::Accepted);
}

#[test]
fn what_came_by_a_drop_is_edited_and_called_off_by_the_object_that_shows_it() {
    let (mut site, object) = dropped();
    assert!(object.0.starts_with("drop-main-"), "{object}");
    let unshown = |site: &Site| lamplighter::engine::unshown(site.core.state()).count();
    assert_eq!(unshown(&site), 1);
    let mut spec = (*site.main().spec).clone();
    fact(&mut site, ApiFact::Declared(uid(50), Intent::Rollout(object.clone(), spec.clone().into())));
    assert_eq!((unshown(&site), site.main().origin, site.main().arrival), (0, DeclaredBy::Api(uid(50)), 1));
    assert_eq!((site.noted(What::TakenOver), site.count(Step::Offered)), (0, 1), "nothing but who declares it changed");
    spec.paused = true;
    fact(&mut site, ApiFact::Declared(uid(50), Intent::Rollout(object.clone(), spec.into())));
    assert_eq!(site.count(Step::Waiting(WaitingReason::Paused)), 3);
    site.restart();
    no_manifests(&mut site);
    assert_eq!(site.main().object.as_ref(), Some(&object));
    fact(&mut site, ApiFact::Deleted(uid(50), ObjectName::Rollout(object.clone())));
    assert_eq!((unshown(&site), site.noted(What::RolloutDeleted)), (0, 1), "and it is not made again");
    assert!(site.core.state().rollouts.is_empty());
}

#[test]
fn a_deletion_that_comes_before_the_store_knows_of_the_object_counts_too() {
    let (mut site, object) = dropped();
    fact(&mut site, ApiFact::Deleted(uid(50), ObjectName::Rollout(object)));
    assert_eq!((site.noted(What::RolloutDeleted), site.core.state().rollouts.len()), (1, 0));
}

#[test]
fn an_object_that_shows_a_drop_that_something_newer_took_over_declares_nothing() {
    let (mut site, object) = dropped();
    let spec = (*site.main().spec).clone();
    let old = |fact: fn(Uid, Intent) -> ApiFact| fact(uid(50), Intent::Rollout(object.clone(), spec.clone().into()));
    fact(&mut site, old(ApiFact::Declared));
    drop_brings(&mut site, "8", "3");
    let newer = site.main().object.clone().unwrap();
    assert_ne!(newer, object);
    let name = ObjectName::Rollout(object.clone());
    assert!(site.core.state().api.refused.contains_key(&name));
    fact(&mut site, old(ApiFact::Declared));
    assert_eq!((site.main().spec.artifact.key.version.as_str(), site.main().origin), ("3", DeclaredBy::Drop));
    fact(&mut site, ApiFact::Deleted(uid(50), name));
    assert_eq!(site.noted(What::RolloutDeleted), 0, "that is the end of the object alone");
    assert!(site.core.state().api.refused.is_empty());
    // the hub's word on the name counts from now on
    fact(&mut site, ApiFact::Declared(uid(51), intent("main", rollout("os", "4"))));
    assert_eq!((&site.main().object, site.main().origin), (&None, DeclaredBy::Api(uid(51))));
}

#[test]
fn a_drop_that_the_api_shows_already_of_an_earlier_store_is_the_same_order() {
    let (before, object) = dropped();
    let spec = (*before.main().spec).clone();
    let mut site = Site::new();
    no_manifests(&mut site);
    site.declare_gateways(1);
    let mut list = listing(&site, CLUSTER);
    list.objects.push((uid(50), Intent::Rollout(object.clone(), spec.into())));
    site.happens(Event::ApiListed(list.into()));
    drop_brings(&mut site, "7", "2");
    let names: Vec<_> = site.core.state().rollouts.values().map(|rollout| rollout.identity.clone()).collect();
    assert_eq!(names, [object]);
}
