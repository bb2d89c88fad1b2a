//! Running text for a terminal: broken at spaces, so that no line is longer than people like to read.

use std::time::Duration;

use unicode_width::UnicodeWidthStr;

use super::screen::Screen;
use crate::model::format_duration;

/// Columns at most, however wide the terminal is. Scripts have `-o json`.
const WIDTH: usize = 110;

/// A paragraph behind `lead`; the lines that follow are indented as far as `lead` is wide.
pub(super) fn paragraph(lead: &str, text: &str) -> String {
    broken(lead, text, Screen::now().width().unwrap_or(WIDTH).min(WIDTH))
}

/// A line, broken only where a terminal has no room for it: scripts read lines.
pub(super) fn sentence(text: &str) -> String {
    match Screen::now().width() {
        Some(width) => broken("", text, width),
        None => text.replace(char::is_control, "?") + "\n",
    }
}

fn broken(lead: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(lead.width());
    let (mut done, mut line, mut is_empty) = (String::new(), lead.to_owned(), true);
    // what devices and files say must not steer the terminal
    let text = text.replace(char::is_control, " ");
    for word in text.split_whitespace() {
        if !is_empty && line.width() + 1 + word.width() > width {
            done += &(line + "\n");
            (line, is_empty) = (indent.clone(), true);
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    done + &line + "\n"
}

/// How long ago something was, in one unit: what a person wants to know first.
pub(super) fn ago(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "s"),
        60..3_600 => (seconds / 60, "m"),
        3_600..172_800 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "d"),
    };
    format!("{count}{unit} ago")
}

/// How long something lasts, in its two largest units: the seconds of a week are noise.
pub(super) fn span(seconds: u64) -> String {
    let unit = match seconds {
        0..3_600 => 1,
        3_600..172_800 => 60,
        _ => 3_600,
    };
    format_duration(Duration::from_secs(seconds - seconds % unit))
}

/// How long ago a time in RFC 3339 was; one that is still to come was just now.
pub(super) fn ago_since(time: &str) -> Option<String> {
    let seconds = jiff::Timestamp::now().as_second().saturating_sub(time.parse::<jiff::Timestamp>().ok()?.as_second());
    Some(ago(u64::try_from(seconds).unwrap_or(0)))
}

/// Of when the store of a site that does not run is, after `its store was last written`.
pub(super) fn last_written(saved_at: Option<&str>) -> String {
    let when = saved_at.and_then(|at| Some(format!("{}, at {at}", ago_since(at)?)));
    when.unwrap_or_else(|| "at a time that the disk does not tell".into())
}

/// `1 gateway`, `3 gateways`.
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_before_the_edge_and_a_word_that_does_not_fit_stays_whole() {
        assert_eq!(broken("  why  ", "short", WIDTH), "  why  short\n");
        let (word, path) = ("word ".repeat(30), "/".repeat(WIDTH + 9));
        let text = broken("  why  ", &format!("{word}{path} end"), WIDTH);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].chars().count() <= WIDTH && lines[1].starts_with("       word"), "{text}");
        assert_eq!((lines[2].trim(), lines[3]), (path.as_str(), "       end"));
    }

    #[test]
    fn times_and_counts_read_as_people_say_them() {
        for (seconds, text) in [
            (0, "0s ago"),
            (59, "59s ago"),
            (60, "1m ago"),
            (7_199, "1h ago"),
            (172_799, "47h ago"),
            (172_800, "2d ago"),
        ] {
            assert_eq!(ago(seconds), text);
        }
        for (seconds, text) in [(0, "0s"), (104, "1m44s"), (3_599, "59m59s"), (11_144, "3h5m"), (183_600, "2d3h")] {
            assert_eq!(span(seconds), text);
        }
        assert_eq!(ago_since("2200-01-01T00:00:00Z").as_deref(), Some("0s ago"));
        assert_eq!(ago_since("yesterday"), None);
        assert_eq!([count(0, "gateway"), count(1, "gateway")], ["0 gateways", "1 gateway"]);
    }
}
