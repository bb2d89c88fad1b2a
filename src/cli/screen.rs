//! What stdout leads to: how wide a terminal is, and whether it takes colours and moves its cursor.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

use super::style::Style;

/// What stdout leads to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Screen {
    /// Columns and lines, if it is a terminal that knows them; otherwise nothing is cut.
    pub size: Option<(usize, usize)>,
    /// It shows them, and nobody minds.
    pub colours: bool,
    /// It can draw over what it shows.
    pub draws: bool,
}

impl Screen {
    /// What it is now: people resize their windows.
    pub fn now() -> Self {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Self::default();
        }
        let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| (size.ws_col.into(), size.ws_row.into()));
        // a terminal that nobody told its size says zero
        let size = size.filter(|(columns, lines)| *columns > 0 && *lines > 0);
        Self { size, colours: wants_colours(), draws: !is_dumb() }
    }

    /// Columns, if there is an end to them.
    pub fn width(&self) -> Option<usize> {
        self.size.map(|(columns, _)| columns)
    }

    /// A text in a style, where styles can be seen.
    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.colours { style.paint(text) } else { text.to_owned() }
    }
}

/// Nobody asked us to leave colours out, and the terminal has some. Whether there is a terminal is another matter.
pub(super) fn wants_colours() -> bool {
    // https://no-color.org: an empty value says nothing
    !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// It only writes line after line.
pub(super) fn is_dumb() -> bool {
    std::env::var_os("TERM").as_deref() == Some(OsStr::new("dumb"))
}
