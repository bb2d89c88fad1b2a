//! `ControllerBase`, what a poll is answered with (b.2).

use std::time::Duration;

use serde::Serialize;

use super::deployment::Href;
use super::links::Links;
use super::response::{Response, json};
use crate::device::Offer;

#[derive(Serialize)]
struct ControllerBase {
    config: Config,
    #[serde(rename = "_links", skip_serializing_if = "Shown::is_empty")]
    links: Shown,
}

#[derive(Serialize)]
struct Config {
    polling: Polling,
}

#[derive(Serialize)]
struct Polling {
    sleep: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment_base: Option<Href>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_action: Option<Href>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config_data: Option<Href>,
}

impl Shown {
    fn is_empty(&self) -> bool {
        self.deployment_base.is_none() && self.cancel_action.is_none() && self.config_data.is_none()
    }
}

/// What a gateway sees: how often to ask, its order or that it is cancelled, and whether we want its attributes.
pub(super) fn controller_base(interval: Duration, offer: Option<&Offer>, asks: bool, links: &Links) -> Response {
    json(&ControllerBase {
        config: Config { polling: Polling { sleep: sleep(interval) } },
        links: Shown {
            deployment_base: offer
                .filter(|offer| !offer.cancel)
                .map(|offer| Href::new(links.deployment(offer.action, &offer.artifact))),
            cancel_action: offer.filter(|offer| offer.cancel).map(|offer| Href::new(links.cancel(offer.action))),
            config_data: asks.then(|| Href::new(links.attributes())),
        },
    })
}

/// Always eight characters (b.10.5), and never zero (b.11).
fn sleep(interval: Duration) -> String {
    let seconds = interval.as_millis().div_ceil(1000).clamp(1, 86_399);
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b_2_sleep_has_eight_characters_and_is_never_zero() {
        for (ms, text) in [
            (0, "00:00:01"),
            (1, "00:00:01"),
            (60_000, "00:01:00"),
            (3_661_000, "01:01:01"),
            (86_400_000, "23:59:59"),
            (u64::MAX, "23:59:59"),
        ] {
            assert_eq!(sleep(Duration::from_millis(ms)), text);
        }
    }
}
