//! Figures beside their budgets.

use std::process::ExitCode;

/// What was printed so far, as far as it matters for the end.
#[derive(Default)]
pub struct Table {
    broken: Vec<String>,
}

impl Table {
    /// A figure that must not be above its budget.
    pub fn bounded(&mut self, what: &str, figure: f64, unit: &str, budget: f64) {
        told(what, figure, unit, &format!("≤ {}", short(budget)));
        if figure > budget {
            self.broken.push(what.into());
        }
    }

    /// A figure that must not be below its goal.
    pub fn at_least(&mut self, what: &str, figure: f64, unit: &str, goal: f64) {
        told(what, figure, unit, &format!("≥ {}", short(goal)));
        if figure < goal {
            self.broken.push(what.into());
        }
    }

    /// Failure if a budget was broken.
    pub fn verdict(self) -> ExitCode {
        if self.broken.is_empty() {
            return ExitCode::SUCCESS;
        }
        eprintln!("budgets broken: {}", self.broken.join(", "));
        ExitCode::FAILURE
    }
}

/// A figure that depends on the machine: nothing follows from it here.
pub fn told(what: &str, figure: f64, unit: &str, budget: &str) {
    println!("{what:<66} {:>10} {unit:<8} {budget}", short(figure));
}

/// Three significant digits are more than a busy machine can promise; counts are shown whole.
fn short(figure: f64) -> String {
    match figure {
        whole if whole.fract() == 0.0 || whole >= 100.0 => format!("{whole:.0}"),
        small if small < 10.0 => format!("{small:.2}"),
        middle => format!("{middle:.1}"),
    }
}

/// The middle one, and the one that so many percent stay under.
pub fn quantile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100]
}
