//! Waves and their approvals, checked: each by itself, and against each other.

use std::collections::BTreeSet;

use super::{Checked, amount, duration, selector as labels};
use crate::model::{self, Amount, Bounds, Selector, WaveSpec};
use crate::resources::{Approval, FieldError, IntOrPercent, OtaRolloutSpec, Wave};

/// The longest name of a wave.
const LONGEST_NAME: usize = 63;

/// Checks the waves of a strategy. `rollout`: whom the rollout as a whole means.
pub(super) fn waves(typed: &[Wave], rollout: &Selector) -> Checked<Vec<WaveSpec>> {
    if typed.is_empty() || typed.len() > Bounds::MOST_WAVES {
        let why = format!("has {} waves; use 1 to {}, or leave it out", typed.len(), Bounds::MOST_WAVES);
        return Err(FieldError::new("spec.strategy.waves", why));
    }
    let waves = typed.iter().enumerate().map(|(index, typed)| wave(index, typed)).collect::<Checked<Vec<_>>>()?;
    check_names(&waves)?;
    for (index, wave) in waves.iter().enumerate() {
        check_min_updated(index, wave)?;
        check_reach(index, wave, waves.get(..index).unwrap_or_default(), rollout)?;
    }
    check_sum(&waves)?;
    Ok(waves)
}

fn at(index: usize, field: &str) -> String {
    format!("spec.strategy.waves[{index}].{field}")
}

fn wave(index: usize, typed: &Wave) -> Checked<WaveSpec> {
    let default = WaveSpec::REST;
    let amount = |field: &str, typed: Option<&IntOrPercent>, default: Amount| {
        typed.map_or(Ok(default), |typed| amount(&at(index, field), typed))
    };
    let soak = typed.soak.as_deref().map(|text| duration(&at(index, "soak"), text)).transpose()?;
    Ok(WaveSpec {
        name: typed.name.as_deref().map(|name| checked_name(index, name)).transpose()?,
        size: amount("size", typed.size.as_ref(), default.size)?,
        selector: typed.selector.as_ref().map(|typed| selector(index, typed)).transpose()?,
        soak: soak.unwrap_or(default.soak),
        approval: match typed.approval {
            None | Some(Approval::Automatic) => model::Approval::Automatic,
            Some(Approval::Manual) => model::Approval::Manual,
        },
        min_updated: amount("minUpdated", typed.min_updated.as_ref(), default.min_updated)?,
    })
}

fn checked_name(index: usize, name: &str) -> Checked<String> {
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let bytes = name.as_bytes();
    if bytes.len() <= LONGEST_NAME
        && ends(bytes.first().copied())
        && ends(bytes.last().copied())
        && name.bytes().all(inside)
    {
        return Ok(name.to_owned());
    }
    let why = "should have 1 to 63 letters, digits, '-', '.' and '_', beginning and ending with a letter or digit";
    Err(FieldError::new(at(index, "name"), why))
}

fn selector(index: usize, typed: &crate::resources::MatchLabels) -> Checked<Selector> {
    let field = at(index, "selector");
    let selector = Selector { match_labels: labels(&field, typed.match_labels.as_ref())? };
    if selector.match_labels.is_empty() {
        let why = "is empty and selects nothing; name a label under matchLabels, or leave the selector out";
        return Err(FieldError::new(field, why));
    }
    Ok(selector)
}

/// A wave without a name is called by its place, and who is left by `rest`: an approval must mean one of them.
fn check_names(waves: &[WaveSpec]) -> Checked<()> {
    let mut names = BTreeSet::new();
    for (index, wave) in waves.iter().enumerate() {
        let name = wave.name_at(index);
        if name == WaveSpec::REST_NAME && (index + 1 < waves.len() || !takes_rest(wave)) {
            let why = "is \"rest\", which is what the wave is called that takes who is left; give it another name, or make it the last, without size and selector";
            return Err(FieldError::new(at(index, "name"), why));
        }
        if !names.insert(name.clone()) {
            let why = format!(
                "is {name:?}, as another wave is called (one without a name by its place, from 1); give each its own"
            );
            return Err(FieldError::new(at(index, "name"), why));
        }
    }
    Ok(())
}

fn check_min_updated(index: usize, wave: &WaveSpec) -> Checked<()> {
    match (wave.size, wave.min_updated) {
        (Amount::Count(size), Amount::Count(least)) if least > size => {
            let why = format!(
                "is {least}, but the wave has at most {size}, so that it could never be proven; use at most {size}"
            );
            Err(FieldError::new(at(index, "minUpdated"), why))
        }
        _ => Ok(()),
    }
}

/// Takes whoever is left when its turn comes.
fn takes_rest(wave: &WaveSpec) -> bool {
    wave.takes_all() && wave.selector.is_none()
}

/// Refuses a wave for which the waves before it never leave a member, or that means nobody of the rollout.
fn check_reach(index: usize, wave: &WaveSpec, before: &[WaveSpec], rollout: &Selector) -> Checked<()> {
    if let Some(selector) = &wave.selector
        && let Some(key) = selector.contradicts(rollout)
    {
        let why = format!(
            "asks for another {key:?} than spec.selector, so that it can never get a member; correct one of the two"
        );
        return Err(FieldError::new(at(index, "selector.matchLabels"), why));
    }
    let takes_ours = |earlier: &WaveSpec| match (&earlier.selector, &wave.selector) {
        (None, _) => earlier.takes_all(),
        (Some(theirs), Some(ours)) => earlier.takes_all() && theirs.covers(ours),
        (Some(_), None) => false,
    };
    let shares: u32 = before.iter().filter(|wave| !takes_rest(wave)).map(share).sum();
    let taker = before.iter().position(takes_ours);
    let why = match taker {
        Some(earlier) => format!(
            "can never get a member: waves[{earlier}] takes all of them; put it before, or give that one a size"
        ),
        None if shares == 100 => {
            "can never get a member: the waves before it take 100% together; make them smaller".into()
        }
        None => return Ok(()),
    };
    Err(FieldError::new(format!("spec.strategy.waves[{index}]"), why))
}

/// A wave's share of all members; one with a selector may find fewer, and then takes nothing from the others.
fn share(wave: &WaveSpec) -> u32 {
    match wave.size {
        Amount::Percent(percent) if wave.selector.is_none() => percent.get(),
        _ => 0,
    }
}

/// `"100%"` in the last place means who is left.
fn check_sum(waves: &[WaveSpec]) -> Checked<()> {
    let sum: u32 = waves.iter().filter(|wave| !takes_rest(wave)).map(share).sum();
    if sum <= 100 {
        return Ok(());
    }
    let why = format!(
        "have {sum}% of the members in sum; use at most 100%, or leave the size of the last wave out: it takes who is left"
    );
    Err(FieldError::new("spec.strategy.waves", why))
}

/// Checks the approvals, and returns the names of the waves that are approved for the rollout's version. Approvals of other
/// versions may stay in a manifest: they count for nothing.
pub(super) fn approved(spec: &OtaRolloutSpec, waves: &[WaveSpec]) -> Checked<BTreeSet<String>> {
    let mut names: Vec<_> = waves.iter().enumerate().map(|(index, wave)| wave.name_at(index)).collect();
    if !waves.last().is_some_and(takes_rest) {
        names.push(WaveSpec::REST_NAME.into());
    }
    let mut approved = BTreeSet::new();
    for (index, typed) in spec.approved_waves.iter().flatten().enumerate() {
        let refuse = |why: String| Err(FieldError::new(format!("spec.approvedWaves[{index}]"), why));
        let Some((name, version)) = typed.split_once('@') else {
            let example = format!("{}@{}", names.first().map_or("", |name| name), spec.artifact.version);
            return refuse(format!("{typed:?} names no version; write WAVE@VERSION, such as {example}"));
        };
        if version != spec.artifact.version {
            continue;
        }
        if !names.iter().any(|known| known == name) {
            return refuse(format!("names a wave {name:?} that there is not; the waves are {}", names.join(", ")));
        }
        approved.insert(name.to_owned());
    }
    Ok(approved)
}
