//! Which gateways are meant.

use super::cast::Cast;
use super::typed::TypedWho;
use crate::resources::FieldError;

/// The gateways to which all of it applies, by their index; never none.
pub(super) fn chosen(
    field: &str,
    who: Option<&TypedWho>,
    among: impl Iterator<Item = usize>,
    cast: &Cast,
    random: &mut fastrand::Rng,
) -> Result<Vec<usize>, FieldError> {
    let mut found: Vec<usize> = among.collect();
    let Some(who) = who else { return Ok(found) };
    let named = |at: &usize| {
        let name = cast.name(*at);
        who.names.as_ref().is_none_or(|names| names.iter().any(|wanted| wanted == name))
    };
    let labelled = |at: &usize| {
        let labels = cast.specs.get(*at).map(|declared| &declared.spec.labels);
        who.labels.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
    };
    found.retain(|at| named(at) && labelled(at));
    if let Some(missing) = who.names.iter().flatten().find(|name| !found.iter().any(|at| cast.name(*at) == *name)) {
        return Err(FieldError::new(
            format!("{field}.names"),
            format!("{missing:?} is none of the gateways meant here"),
        ));
    }
    if let Some(count) = who.count {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count > found.len() {
            let why = format!("is {count}, and there are {} such gateways", found.len());
            return Err(FieldError::new(format!("{field}.count"), why));
        }
        random.shuffle(&mut found);
        found.truncate(count);
        found.sort_unstable();
    }
    if found.is_empty() {
        return Err(FieldError::new(field, "means no gateway"));
    }
    Ok(found)
}
