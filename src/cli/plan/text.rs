//! Plans for people: the numbers first, then wave by wave who is when.

use crate::cli::prose::{count, last_written, paragraph, span};
use crate::cli::table::table;
use crate::model::WaveSpec;
use crate::site::report::{PlanLine, PlannedLine, PlannedWaveLine, Plans};

pub(super) fn text(plans: &Plans) -> String {
    let mut text = String::new();
    if !plans.running {
        let when = last_written(plans.saved_at.as_deref());
        text += &paragraph("", &format!("the site does not run; its store was last written {when}"));
    }
    if plans.plans.is_empty() && plans.refused.is_empty() {
        text += &paragraph("", "no rollout would do anything");
    }
    for (at, one) in plans.plans.iter().enumerate() {
        if at > 0 || !plans.running {
            text += "\n";
        }
        text += &plan(one);
    }
    if !plans.refused.is_empty() {
        text += if text.is_empty() { "would be refused:\n" } else { "\nwould be refused:\n" };
        for refusal in &plans.refused {
            text += &paragraph("  ", &refusal.what);
            text += &paragraph("    ", &refusal.why);
        }
    }
    text
}

fn gateways(number: u32) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "gateway")
}

fn plan(plan: &PlanLine) -> String {
    let waves = count(plan.waves.len(), "wave");
    let mut text =
        paragraph("", &format!("{}: {} to {} in {waves}", plan.rollout, plan.artifact, gateways(plan.gateways)));
    let (at_once, failures) = (&plan.max_in_flight, &plan.max_failures);
    let of = |says: &str, count: u32| if says == count.to_string() { String::new() } else { format!(" ({says})") };
    let now = if plan.in_flight > 0 { format!(", {} now", plan.in_flight) } else { String::new() };
    text += &paragraph("  ", &format!("at most {}{} at once{now}", at_once.count, of(&at_once.says, at_once.count)));
    text +=
        &paragraph("  ", &format!("stops at {}{} failed in total", failures.count, of(&failures.says, failures.count)));
    if let (Some(reason), Some(meaning)) = (&plan.holds, &plan.meaning) {
        text += &paragraph("  ", &format!("holds now: {reason}, {meaning}"));
    }
    for stop in &plan.stops {
        text += &paragraph("  ", &format!("{} {}; {} lifts that", stop.order, stop.whose(), stop.lift));
    }
    for taken in &plan.takes_over {
        text += &paragraph("  ", &format!("takes {} over from {}", gateways(taken.gateways), taken.rollout));
    }
    for (number, one) in (1..).zip(&plan.waves) {
        text += "\n";
        text += &wave(number, plan.waves.len(), one);
        text += &members(&one.members);
    }
    if !plan.joiners.is_empty() {
        text += "\n";
        text += &paragraph("", "after the last wave:");
        text += &members(&plan.joiners);
    }
    text
}

fn wave(number: usize, of: usize, wave: &PlannedWaveLine) -> String {
    let state = match (wave.opened, wave.proven) {
        (_, true) => "proven",
        (true, false) => "open",
        (false, false) if wave.needs_approval => "to be approved",
        (false, false) => "not open",
    };
    let own_name = wave.name != number.to_string() && wave.name != WaveSpec::REST_NAME;
    let name = if own_name { format!(" ({})", wave.name) } else { String::new() };
    let (size, soak) = (gateways(wave.size), span(wave.soak_for_seconds));
    paragraph(
        "",
        &format!(
            "wave {number} of {of}{name}, {state}: {size}, stops at {} failed, watched for {soak}",
            wave.max_failures
        ),
    )
}

fn members(members: &[PlannedLine]) -> String {
    let row = |member: &PlannedLine| {
        let step = match (&member.reason, member.step.as_str()) {
            (Some(reason), step) => format!("{step} ({reason})"),
            (None, "Waiting") => "Waiting (next)".into(),
            (None, step) => step.into(),
        };
        let then = member.then.clone().unwrap_or_else(|| "-".into());
        vec![member.gateway.clone(), member.controller_id.clone(), step, then]
    };
    let rows: Vec<_> = members.iter().map(row).collect();
    if rows.iter().all(|row| row.last().is_some_and(|then| then == "-")) {
        let rows: Vec<Vec<String>> = rows.into_iter().map(|row| row.into_iter().take(3).collect()).collect();
        return table(&["GATEWAY", "CONTROLLER ID", "STEP"], &rows, &["CONTROLLER ID"]);
    }
    table(&["GATEWAY", "CONTROLLER ID", "STEP", "THEN"], &rows, &["CONTROLLER ID", "THEN"])
}
