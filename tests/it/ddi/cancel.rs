//! Cancelled orders on the wire.

use super::*;

fn cancelled() -> Offer {
    Offer { link: false, cancel: true, ..offer() }
}

fn answers(id: impl std::fmt::Display, body: &str) -> Request {
    Request::new(Method::POST, &format!("/cancelAction/{id}/feedback")).body(body)
}

#[test]
fn b_0_6_the_cancel_link_carries_one_leading_zero_and_no_query() {
    let mut world = World::new(Some(cancelled()));
    let links = world.json(&poll())["_links"].clone();
    let href = format!("http://updates:8080/DEFAULT/controller/v1/gw-1/cancelAction/0{ID}");
    assert_eq!(links, json!({"cancelAction": {"href": href}}), "and no deploymentBase beside it (b.2)");
}

#[test]
fn b_0_6_ids_of_cancelled_orders_are_read_leniently() {
    let mut world = World::new(Some(cancelled()));
    for id in [format!("{ID}"), format!("0{ID}"), format!("000{ID}")] {
        let expected = json!({"id": ID.to_string(), "cancelAction": {"stopId": ID.to_string()}});
        assert_eq!(world.json(&get(&format!("/cancelAction/{id}"))), expected);
        let (event, response) = world.asked(&answers(&id, &says("closed", "success")), Some(Verdict::Accepted));
        assert!(matches!(event, Event::CancelFeedback(_, of, _) if of == action(ID)), "{event:?}");
        assert_eq!(response.status, StatusCode::OK);
    }
}

#[test]
fn b_1_what_is_not_cancelled_is_404_and_a_cancelled_order_is_not_deployed() {
    for other in [None, Some(offer()), Some(fetched())] {
        let mut world = World::new(other);
        assert_eq!(world.status(&get(&format!("/cancelAction/{ID}"))), 404);
    }
    let mut world = World::new(Some(cancelled()));
    assert_eq!(world.status(&get("/cancelAction/1")), 404);
    assert_eq!(world.status(&deployment()), 404);
    assert_eq!(world.status(&file()), 404);
    assert_eq!(world.status(&Request::new(Method::POST, &format!("/cancelAction/{ID}"))), 405);
}

#[test]
fn b_0_2_the_cancel_link_is_shown_to_rhu_also_after_bytes_were_served() {
    let mut world = World::new(Some(Offer { served: true, ..cancelled() }));
    let links = world.json(&poll().header("user-agent", "rauc-hawkbit-c-agent/1.4"))["_links"].clone();
    assert!(links["cancelAction"].is_object());
}

#[test]
fn b_4_words_that_do_not_end_a_cancellation_are_heard_at_once() {
    let mut world = World::new(Some(cancelled()));
    for execution in ["canceled", "proceeding", "scheduled", "resumed", "downloaded", "download"] {
        assert_eq!(world.status(&answers(ID, &says(execution, "success"))), 200);
    }
    for (execution, finished) in [("closed", "none"), ("closed", "failure"), ("rejected", "success")] {
        let (event, _) = world.asked(&answers(ID, &says(execution, finished)), Some(Verdict::Accepted));
        assert!(matches!(event, Event::CancelFeedback(..)));
    }
    assert_eq!(world.status(&answers(ID, "{")), 400);
}

#[test]
fn b_0_1_words_on_any_cancellation_are_200() {
    let mut world = World::new(None);
    for verdict in [Verdict::Accepted, Verdict::AlreadyClosed, Verdict::Unknown] {
        assert_eq!(world.asked(&answers(7, &says("closed", "success")), Some(verdict)).1.status, StatusCode::OK);
    }
    assert_eq!(world.asked(&answers(7, &says("closed", "success")), None).1.status, StatusCode::TOO_MANY_REQUESTS);
    for id in ["0", "x", "99999999999"] {
        assert_eq!(world.status(&answers(id, &says("closed", "success"))), 200);
    }
}
