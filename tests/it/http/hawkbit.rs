//! A real client, the `hawkbit` crate: a whole update, a resumed download, a cancelled order (b.13).

use hawkbit::ddi::{Client, ClientAuthorization, Execution, Finished, Mode};
use lamplighter::device::{Caps, Offer};
use lamplighter::model::{AttributesMode, Event, Execution as Executed, Finished as Ended};
use serde::Serialize;

use super::{ID, Site, action, gateway, run};

#[derive(Serialize)]
struct Attributes {
    os_version: &'static str,
}

fn client(site: &Site, token: &str) -> Client {
    let url = format!("http://{}", site.at);
    let token = ClientAuthorization::TargetToken(token.into());
    Client::new(&url, "DEFAULT", "gw-1", token, None, None, None).unwrap()
}

#[test]
fn the_hawkbit_crate_is_updated_end_to_end() {
    run(async {
        let site = Site::start(200_000, Caps::default()).await;
        let client = client(&site, "s3cret");

        let reply = client.poll().await.unwrap();
        assert_eq!(reply.polling_sleep().unwrap().as_secs(), 1);
        let request = reply.config_data_request().expect("attributes are asked for");
        let attributes = Attributes { os_version: "2.0.0" };
        request.upload(Execution::Closed, Finished::Success, Some(Mode::Merge), attributes, vec![]).await.unwrap();

        let reply = client.poll().await.unwrap();
        assert!(reply.config_data_request().is_none(), "they were sent");
        let update = reply.update().expect("an order").fetch().await.unwrap();
        assert_eq!(update.action_id(), ID.to_string());
        update.send_feedback(Execution::Proceeding, Finished::None, vec!["Downloading"]).await.unwrap();

        let dir = tempfile::tempdir().unwrap();
        let artifacts = update.download(dir.path()).await.unwrap();
        assert_eq!(artifacts.len(), 1);
        artifacts[0].check_sha256().await.unwrap();
        assert!(std::fs::read(artifacts[0].file()).unwrap() == site.bytes);

        update.send_feedback(Execution::Closed, Finished::Success, vec!["Installed"]).await.unwrap();
        assert!(client.poll().await.unwrap().update().is_none(), "the order is closed");

        let events = site.events.borrow();
        let attributes = events.iter().find_map(|event| match event {
            Event::Attributes(_, attributes) => Some(attributes),
            _ => None,
        });
        assert_eq!(attributes.unwrap().mode, AttributesMode::Merge);
        assert_eq!(attributes.unwrap().data["os_version"].as_deref(), Some("2.0.0"));
        let feedback: Vec<_> = events.iter().filter(|event| matches!(event, Event::Feedback(..))).collect();
        let [Event::Feedback(_, id, said)] = feedback[..] else { panic!("{feedback:?}") };
        assert_eq!((*id, said.execution, said.finished), (action(), Executed::Closed, Ended::Success));
    });
}

#[test]
fn the_hawkbit_crate_resumes_a_download() {
    run(async {
        let site = Site::start(200_000, Caps::default()).await;
        let update = client(&site, "s3cret").poll().await.unwrap().update().unwrap().fetch().await.unwrap();
        let dir = tempfile::tempdir().unwrap();
        let kept = dir.path().join("gateway-os");
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("gw.swu.part"), &site.bytes[..150_000]).unwrap();
        let artifacts = update.download(dir.path()).await.unwrap();
        artifacts[0].check_sha256().await.unwrap();
        assert!(std::fs::read(artifacts[0].file()).unwrap() == site.bytes);
        assert_eq!(site.context.stats.now().served_bytes, 50_000, "only the rest was sent");
    });
}

#[test]
fn the_hawkbit_crate_drops_a_cancelled_order() {
    run(async {
        let site = Site::start(1_000, Caps::default()).await;
        let client = client(&site, "s3cret");
        client.poll().await.unwrap().update().unwrap().fetch().await.unwrap();
        let mut entry = site.context.board.borrow().get("gw-1").unwrap().1.clone();
        entry.offer = entry.offer.map(|offer| Offer { link: false, cancel: true, fetched: false, ..offer });
        site.context.board.borrow_mut().put(gateway(), entry);
        let reply = client.poll().await.unwrap();
        assert!(reply.update().is_none());
        let cancel = reply.cancel_action().expect("a cancelled order");
        assert_eq!(cancel.id().await.unwrap(), ID.to_string());
        cancel.send_feedback(Execution::Closed, Finished::Success, vec!["dropped"]).await.unwrap();
        let is_answer = |event: &Event| matches!(event, Event::CancelFeedback(_, id, _) if *id == action());
        assert!(site.events.borrow().iter().any(is_answer));
    });
}

#[test]
fn the_hawkbit_crate_is_refused_with_a_wrong_token() {
    run(async {
        let site = Site::start(10, Caps::default()).await;
        let error = client(&site, "wrong").poll().await.unwrap_err();
        assert!(error.to_string().contains("401"), "{error}");
    });
}
