//! Progress while a simulation runs: bars on a terminal, a line now and then elsewhere, nothing for a script.

use std::io::{IsTerminal, Write as _};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tokio::time::Instant;

use super::control::Rollout;
use crate::cli::screen::is_dumb;

/// Where members are, from left to right; each with the steps that count.
const STAGES: [(&str, &[&str], &str); 5] = [
    ("waiting", &["Waiting", "Offered"], "white"),
    ("downloading", &["Downloading"], "blue"),
    ("installing", &["Installing", "Confirming"], "yellow"),
    ("updated", &["Updated", "Skipped"], "green"),
    ("failed", &["Failed"], "red"),
];
/// Between two lines.
const PAUSE: Duration = Duration::from_secs(5);

/// How progress is shown; on standard error, so that standard output is the result alone.
pub enum Progress {
    /// A bar per stage, and a line below them.
    Bars {
        /// Draws them.
        all: MultiProgress,
        /// As in [`STAGES`].
        bars: Vec<ProgressBar>,
        /// What else there is to say.
        below: ProgressBar,
    },
    /// A line every few seconds, if anything changed.
    Lines {
        /// When the next is due.
        due: Instant,
        /// What the last one said.
        last: String,
    },
    /// Nothing.
    Silent,
}

impl Progress {
    /// Bars if standard error is a terminal, unless a script reads the result.
    pub fn new(gateways: u32, for_script: bool) -> Self {
        if for_script {
            Self::Silent
        } else if std::io::stderr().is_terminal() && !is_dumb() {
            Self::bars(gateways)
        } else {
            Self::Lines { due: Instant::now(), last: String::new() }
        }
    }

    fn bars(gateways: u32) -> Self {
        let all = MultiProgress::new();
        let bars = STAGES.map(|(name, _, colour)| {
            let style = ProgressStyle::with_template(&format!("{{prefix:>12}} {{bar:40.{colour}/dim}} {{pos:>5}}"));
            let bar = all.add(ProgressBar::new(u64::from(gateways)));
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(name);
            bar
        });
        let below = all.add(ProgressBar::no_length());
        below
            .set_style(ProgressStyle::with_template("{msg:.dim}").unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self::Bars { all, bars: bars.into(), below }
    }

    /// Shows where the members are; `also` says what else there is to say.
    pub fn show(&mut self, rollout: &Rollout, also: &str) {
        match self {
            Self::Bars { bars, below, .. } => {
                for (bar, (_, steps, _)) in bars.iter().zip(STAGES) {
                    bar.set_position(u64::from(rollout.in_steps(steps)));
                }
                below.set_message(format!("             {also}"));
            }
            Self::Lines { due, last } if Instant::now() >= *due => {
                let counts = counts(rollout);
                if *last != counts {
                    // not by `eprintln!`, which panics when nobody listens
                    let _ = writeln!(std::io::stderr(), "{counts} · {also}");
                    *last = counts;
                    *due = Instant::now() + PAUSE;
                }
            }
            Self::Lines { .. } | Self::Silent => {}
        }
    }

    /// Takes the bars away; what they said is in the summary.
    pub fn clear(&self) {
        if let Self::Bars { all, .. } = self {
            let _ = all.clear();
        }
    }
}

fn counts(rollout: &Rollout) -> String {
    STAGES.map(|(name, steps, _)| format!("{name} {}", rollout.in_steps(steps))).join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_counts_in_exactly_one_stage() {
        let steps = ["Waiting", "Offered", "Downloading", "Installing", "Confirming", "Updated", "Failed", "Skipped"];
        let rollout = Rollout { steps: steps.map(|step| (step.to_owned(), 1)).into(), ..Rollout::default() };
        assert_eq!(counts(&rollout), "waiting 2 · downloading 1 · installing 2 · updated 2 · failed 1");
    }
}
