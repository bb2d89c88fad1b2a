//! `windows`: checked.

use std::time::Duration;

use super::{Checked, parse};
use crate::model::{self, Bounds, NoWindow, Windows, format_duration};
use crate::resources::{Day, FieldError, OtaRolloutSpec, WhenClockUnknown, Window};

pub(super) fn windows(spec: &OtaRolloutSpec, poll_interval: Duration) -> Checked<Windows> {
    let when_clock_unknown = match spec.when_clock_unknown {
        None | Some(WhenClockUnknown::Hold) => model::WhenClockUnknown::Hold,
        Some(WhenClockUnknown::Allow) => model::WhenClockUnknown::Allow,
    };
    let Some(typed) = &spec.windows else { return Ok(Windows { list: Vec::new(), when_clock_unknown }) };
    if typed.is_empty() || typed.len() > Bounds::MOST_WINDOWS {
        let why = format!(
            "has {} windows; use 1 to {}, or leave it out to update at all times",
            typed.len(),
            Bounds::MOST_WINDOWS
        );
        return Err(FieldError::new("spec.windows", why));
    }
    let list = typed.iter().enumerate().map(|(index, typed)| window(index, typed, poll_interval));
    Ok(Windows { list: list.collect::<Checked<_>>()?, when_clock_unknown })
}

fn window(index: usize, typed: &Window, poll_interval: Duration) -> Checked<model::Window> {
    let at = |field: &str| format!("spec.windows[{index}].{field}");
    let days = typed
        .days
        .as_ref()
        .map_or_else(|| model::Day::ALL.into(), |days| days.iter().map(|day| (*day).into()).collect());
    let (start, end) = (parse(&at("start"), &typed.start)?, parse(&at("end"), &typed.end)?);
    let last_start = typed.last_start.as_deref().map(|text| parse(&at("lastStart"), text)).transpose()?;
    let zone = typed.time_zone.as_deref().map(|text| parse(&at("timeZone"), text)).transpose()?;
    let window = model::Window::new(days, (start, end), last_start, zone).map_err(|problem| {
        let field = match problem {
            NoWindow::NoDays => "days",
            NoWindow::StartAt24 => "start",
            NoWindow::Empty => "end",
            NoWindow::LastStartOutside => "lastStart",
        };
        FieldError::new(at(field), problem.to_string())
    })?;
    let least = poll_interval * Bounds::POLLS_PER_WINDOW;
    if window.room() < least {
        let why = format!(
            "lets updates start for {}, which is shorter than {} polls of {}: gateways would miss it; use at least {}",
            format_duration(window.room()),
            Bounds::POLLS_PER_WINDOW,
            format_duration(poll_interval),
            format_duration(least)
        );
        return Err(FieldError::new(at(if last_start.is_some() { "lastStart" } else { "end" }), why));
    }
    Ok(window)
}

impl From<Day> for model::Day {
    fn from(day: Day) -> Self {
        match day {
            Day::Mon => Self::Mon,
            Day::Tue => Self::Tue,
            Day::Wed => Self::Wed,
            Day::Thu => Self::Thu,
            Day::Fri => Self::Fri,
            Day::Sat => Self::Sat,
            Day::Sun => Self::Sun,
        }
    }
}
