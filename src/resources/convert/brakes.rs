//! `strategy.spread` and `gates`, checked.

use super::{Checked, amount, parse};
use crate::model::{self, Amount, GateQuestion, GateSpec, Percent};
use crate::resources::labels::is_label_key;
use crate::resources::{FieldError, Gate, Spread};

/// What can be known to be impossible without the site's gateways is refused here; the rest is `SpreadImpossible` there.
pub(super) fn spread(typed: Option<&Spread>) -> Checked<Option<model::Spread>> {
    let Some(typed) = typed else { return Ok(None) };
    let at = |field: &str| format!("spec.strategy.spread.{field}");
    if !is_label_key(&typed.label) {
        let why = "is not a label's name, such as line or example.com/line";
        return Err(FieldError::new(at("label"), why));
    }
    let max_in_flight = typed.max_in_flight.as_ref().map(|typed| amount(&at("maxInFlight"), typed)).transpose()?;
    let min_healthy = typed.min_healthy.as_ref().map(|typed| amount(&at("minHealthy"), typed)).transpose()?;
    if max_in_flight.is_none() && min_healthy.is_none() {
        let why = "says neither maxInFlight nor minHealthy, and so nothing; say at least one of them";
        return Err(FieldError::new("spec.strategy.spread", why));
    }
    if min_healthy == Some(Amount::Percent(Percent::ALL)) {
        let why = "is 100%: the one that is updated is not healthy meanwhile, so nobody could be; use less";
        return Err(FieldError::new(at("minHealthy"), why));
    }
    Ok(Some(model::Spread { label: typed.label.clone(), max_in_flight, min_healthy }))
}

pub(super) fn gates(typed: Option<&Vec<Gate>>) -> Checked<Vec<GateSpec>> {
    let typed = typed.map_or(&[][..], Vec::as_slice);
    if typed.len() > GateSpec::MOST {
        let why = format!("has {} gates; use at most {}", typed.len(), GateSpec::MOST);
        return Err(FieldError::new("spec.gates", why));
    }
    typed.iter().enumerate().map(|(index, typed)| gate(index, typed)).collect()
}

fn gate(index: usize, typed: &Gate) -> Checked<GateSpec> {
    let at = |field: &str| format!("spec.gates[{index}]{field}");
    if typed.name.as_ref().is_some_and(|name| name.is_empty() || name.chars().any(char::is_control)) {
        return Err(FieldError::new(at(".name"), "is empty or has a control character"));
    }
    let question = match (&typed.file, &typed.http) {
        (Some(file), None) => GateQuestion::File(parse(&at(".file"), file)?),
        (None, Some(http)) => GateQuestion::Http(parse(&at(".http"), http)?),
        (Some(_), Some(_)) => {
            return Err(FieldError::new(
                at(""),
                "has both file and http; make two gates of it, which must both be open",
            ));
        }
        (None, None) => {
            return Err(FieldError::new(at(""), "asks nothing; write file: /permits/{line} or http: http://HOST/PATH"));
        }
    };
    Ok(GateSpec { name: typed.name.clone(), question })
}
