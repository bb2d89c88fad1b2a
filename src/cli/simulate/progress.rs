//! Progress while a simulation runs: bars on a terminal, a line now and then elsewhere, nothing for a script.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::Duration;

use tokio::time::Instant;

use super::control::Rollout;

/// Where members are, from first to last; each with the steps that count, and its colour.
const STAGES: [(&str, &[&str], &str); 5] = [
    ("waiting", &["Waiting", "Offered"], "37"),
    ("downloading", &["Downloading"], "34"),
    ("installing", &["Installing", "Confirming"], "33"),
    ("updated", &["Updated", "Skipped"], "32"),
    ("failed", &["Failed"], "31"),
];
/// A full bar.
const WIDTH: u32 = 40;
/// Between two lines.
const PAUSE: Duration = Duration::from_secs(5);

/// How progress is shown; on standard error, so that standard output is the result alone.
pub enum Progress {
    /// A bar per stage, and a line below them.
    Bars {
        /// As long as a full bar.
        gateways: u32,
        /// Some stand there already, to be drawn over.
        drawn: bool,
        /// Not if the person wants none.
        colours: bool,
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
        } else if std::io::stderr().is_terminal() {
            Self::Bars { gateways, drawn: false, colours: std::env::var_os("NO_COLOR").is_none() }
        } else {
            Self::Lines { due: Instant::now(), last: String::new() }
        }
    }

    /// Shows where the members are; `also` says what else there is to say.
    pub fn show(&mut self, rollout: &Rollout, also: &str) {
        match self {
            Self::Bars { gateways, drawn, colours } => {
                let above = if std::mem::replace(drawn, true) { erased() } else { String::new() };
                eprint!("{above}{}", bars(rollout, also, *gateways, *colours));
            }
            Self::Lines { due, last } if Instant::now() >= *due => {
                let counts = counts(rollout);
                if *last != counts {
                    eprintln!("{counts} · {also}");
                    *last = counts;
                    *due = Instant::now() + PAUSE;
                }
            }
            Self::Lines { .. } | Self::Silent => {}
        }
    }

    /// Takes the bars away; what they said is in the summary.
    pub fn clear(&self) {
        if matches!(self, Self::Bars { drawn: true, .. }) {
            eprint!("{}", erased());
        }
    }
}

/// Six lines are drawn by hand: a library for it would stay in the memory of every site.
fn bars(rollout: &Rollout, also: &str, gateways: u32, colours: bool) -> String {
    let paint = |code: &str, text: &str| if colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() };
    let part = |count: u32, of: char| of.to_string().repeat(count as usize);
    // a line that wraps could not be drawn over
    let mut text = String::from("\x1b[?7l");
    for (name, steps, colour) in STAGES {
        let count = rollout.in_steps(steps);
        let full = WIDTH.min(count.saturating_mul(WIDTH) / gateways.max(1));
        let (full, rest) = (paint(colour, &part(full, '█')), paint("2", &part(WIDTH - full, '░')));
        let _ = writeln!(text, "{name:>12} {full}{rest} {count:>5}");
    }
    let _ = writeln!(text, "{:13}{}\x1b[?7h", "", paint("2", also));
    text
}

/// Goes up to the first bar, and takes all of them away.
fn erased() -> String {
    format!("\x1b[{}F\x1b[J", STAGES.len() + 1)
}

fn counts(rollout: &Rollout) -> String {
    STAGES.map(|(name, steps, _)| format!("{name} {}", rollout.in_steps(steps))).join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_the_share_of_the_gateways_and_as_high_as_what_is_erased() {
        let rollout = Rollout { steps: [("Updated".into(), 5), ("Failed".into(), 20)].into(), ..Rollout::default() };
        let text = bars(&rollout, "1m", 20, false);
        let full: Vec<_> = text.lines().map(|line| line.matches('█').count()).collect();
        assert_eq!(full, [0, 0, 0, 10, 40, 0]);
        assert!(text.contains("     updated █") && text.contains("░     5\n"), "{text}");
        assert_eq!(erased(), format!("\x1b[{}F\x1b[J", text.lines().count()));
    }

    #[test]
    fn every_step_counts_in_exactly_one_stage() {
        let steps = ["Waiting", "Offered", "Downloading", "Installing", "Confirming", "Updated", "Failed", "Skipped"];
        let rollout = Rollout { steps: steps.map(|step| (step.to_owned(), 1)).into(), ..Rollout::default() };
        assert_eq!(counts(&rollout), "waiting 2 · downloading 1 · installing 2 · updated 2 · failed 1");
    }
}
