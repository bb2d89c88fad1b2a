//! A rollout's progress on a terminal: a bar, and its waves.

use super::prose::{paragraph, span};
use super::screen::Screen;
use super::style::Style;
use crate::site::report::{RolloutLine, WaveLine};

/// Columns of a bar, if the terminal has them.
const LONGEST_BAR: usize = 40;
const SHORTEST_BAR: usize = 10;

/// The bar and the waves of a rollout that is not done; nothing before its first wave opened.
pub(super) fn text(rollout: &RolloutLine) -> String {
    if rollout.waves.is_empty() || rollout.phase == "Ready" {
        return String::new();
    }
    let screen = Screen::now();
    let mut text = format!("  [{}] {}\n", bar(rollout, screen), done(rollout));
    let width = rollout.waves.iter().map(|wave| wave.name.chars().count()).max().unwrap_or(0).min(24);
    for wave in &rollout.waves {
        let done = format!("{}/{}", wave.updated, wave.size);
        text += &paragraph(&format!("  {:width$}  {done:>7}  ", wave.name), &standing(wave));
    }
    text
}

fn done(rollout: &RolloutLine) -> String {
    let summary = &rollout.summary;
    let percent = (u64::from(summary.updated + summary.skipped) * 100).checked_div(u64::from(summary.total));
    format!("{}%", percent.unwrap_or(0))
}

/// `#` stands for what is done, `x` for what failed, `>` for what is under way.
fn bar(rollout: &RolloutLine, screen: Screen) -> String {
    let room = screen.width().map_or(LONGEST_BAR, |width| width.saturating_sub(10).clamp(SHORTEST_BAR, LONGEST_BAR));
    let summary = &rollout.summary;
    let total = usize::try_from(summary.total).unwrap_or(usize::MAX).max(1);
    let columns = |count: u32| usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(room) / total;
    let parts = [
        ("#", Style::Good, columns(summary.updated + summary.skipped)),
        ("x", Style::Bad, columns(summary.failed).max(usize::from(summary.failed > 0))),
        (">", Style::Mind, columns(summary.updating).max(usize::from(summary.updating > 0))),
    ];
    let (mut bar, mut left) = (String::new(), room);
    for (mark, style, columns) in parts {
        let columns = columns.min(left);
        if columns > 0 {
            bar += &screen.paint(style, &mark.repeat(columns));
        }
        left -= columns;
    }
    bar + &".".repeat(left)
}

fn standing(wave: &WaveLine) -> String {
    let failed = if wave.failed > 0 { format!(", {} failed", wave.failed) } else { String::new() };
    let words = match wave.state.as_str() {
        "Proven" => "proven".into(),
        "Open" => "open".into(),
        "Soaking" => format!("watched for {}", span(wave.soak_seconds.unwrap_or(0))),
        "ApprovalNeeded" => "needs approval".into(),
        "Unproven" => "not proven".into(),
        _ => "not open yet".into(),
    };
    words + &failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Steps, Summary};

    fn rollout(updated: u32, failed: u32, updating: u32, total: u32) -> RolloutLine {
        let summary = Summary { total, updating, updated, failed, ..Summary::default() };
        let artifact = serde_json::json!({"name": "os", "version": "2", "digest": "", "size": 1, "state": "Verified"});
        let line = serde_json::json!({
            "name": "main", "artifact": artifact, "phase": "Reconciling", "reason": "WaveOpen", "message": "",
            "waves": [], "steps": Steps::default(), "summary": summary,
        });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn a_bar_is_as_long_as_there_is_room_and_shows_even_one_failure() {
        let screen = Screen { size: Some((30, 24)), ..Screen::default() };
        assert_eq!(bar(&rollout(5, 1, 2, 10), screen), "##########xx>>>>....");
        assert_eq!(bar(&rollout(0, 1, 0, 500), screen), "x...................");
        assert_eq!(bar(&rollout(499, 1, 0, 500), screen), "###################x");
        assert_eq!(bar(&rollout(0, 0, 0, 0), Screen::default()), ".".repeat(40));
    }
}
