//! The few colours that there are, and what they are for.

/// How a text looks on a terminal that has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// Headings.
    Bold,
    /// What is beside the point.
    Dim,
    /// As it should be.
    Good,
    /// Under way, or to be kept in mind.
    Mind,
    /// Needs a person.
    Bad,
}

impl Style {
    pub fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Plain => return text.to_owned(),
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Mind => "33",
            Self::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// Of a cell whose column says how something stands; its first word decides.
    pub fn of_state(cell: &str) -> Self {
        match cell.split(' ').next().unwrap_or_default() {
            "Ready" | "Updated" | "Verified" | "Polling" => Self::Good,
            "Stalled" | "Failed" | "Damaged" | "Missing" | "AttemptFailed" | "LimitReached" | "StoreLost" => Self::Bad,
            "Reconciling" | "Offline" | "Quiet" | "Wanted" | "Strange" => Self::Mind,
            _ => Self::Plain,
        }
    }
}
