//! Whom `why` explains.

use lamplighter::model::GatewaySpec;
use lamplighter::site::report;

use crate::engine::site::{Site, gateway, id};

/// The controller id of whom `why` explains.
fn explained(site: &Site, who: &str) -> String {
    let why = report::why(site.core.state(), site.now, who, |_| None, |_| None, &[]);
    why.unwrap().controller_id
}

#[test]
fn why_explains_the_gateway_that_the_manifests_name_so_and_not_one_that_had_the_name() {
    let mut site = Site::new();
    site.gateways.insert("press".into(), GatewaySpec { name: "press".into(), ..gateway("m") });
    for controller in ["z", "a"] {
        site.gateways.get_mut("press").unwrap().controller_id = id(controller);
        site.list();
        assert_eq!(explained(&site, "press"), controller);
    }
    assert_eq!(explained(&site, "z"), "z", "an id says which one is meant");
    site.gateways.clear();
    site.list();
    explained(&site, "press");
}
