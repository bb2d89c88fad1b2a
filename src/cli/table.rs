//! Plain tables: columns as wide as their longest cell, two spaces apart, nothing at the end of a line.
//!
//! On a terminal no line is longer than it is wide: the longest columns are cut, then those that can be done without are
//! left out.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::screen::Screen;
use super::style::Style;

const GAP: usize = 2;
/// A column is not cut to less than this, as long as there is another way; the first, which says what a row is about, even
/// less.
const LEAST: usize = 10;
const LEAST_FIRST: usize = 18;
/// And how something stands goes on behind the word, with why.
const LEAST_STATE: usize = 24;
/// Where nothing else helps.
const SHORTEST: usize = 3;
/// The columns that say how something stands.
const STATES: [&str; 4] = ["STATE", "STEP", "PRESENCE", "WHAT"];

/// Lays rows out under their headings. A narrow terminal may leave the columns `may_lack` out, the first of them first.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>], may_lack: &[&str]) -> String {
    lay_out(headings, rows, may_lack, Screen::now())
}

fn lay_out(headings: &[&str], rows: &[Vec<String>], may_lack: &[&str], screen: Screen) -> String {
    // what devices and files say must not steer the terminal
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| cell.replace(char::is_control, " ")).collect()).collect();
    let (columns, left_out) = columns(headings, &rows, may_lack, screen.width());
    let line = |cell: &dyn Fn(usize) -> String, style: &dyn Fn(usize, &str) -> Style| {
        let mut text = String::new();
        for (nth, column) in columns.iter().enumerate() {
            let cell = cut(&cell(column.at), column.width, column.at == 0);
            let fill = if nth + 1 == columns.len() { 0 } else { column.width.saturating_sub(cell.width()) + GAP };
            text += &screen.paint(style(column.at, &cell), &cell);
            text.extend(std::iter::repeat_n(' ', fill));
        }
        text.trim_end().to_owned() + "\n"
    };
    let heading = |at: usize| headings.get(at).copied().unwrap_or_default();
    let mut text = line(&|at| heading(at).to_owned(), &|_, _| Style::Bold);
    for row in &rows {
        let style =
            |at: usize, cell: &str| if STATES.contains(&heading(at)) { Style::of_state(cell) } else { Style::Plain };
        text += &line(&|at| row.get(at).cloned().unwrap_or_default(), &style);
    }
    if !left_out.is_empty() {
        let note = format!("not shown here: {}", left_out.join(", ").to_lowercase());
        text += &(screen.paint(Style::Dim, &cut(&note, screen.width().unwrap_or(usize::MAX), false)) + "\n");
    }
    text
}

/// A column that is shown.
struct Column {
    at: usize,
    width: usize,
    least: usize,
}

/// The columns that fit, and the headings of those that do not.
fn columns<'h>(
    headings: &[&'h str],
    rows: &[Vec<String>],
    may_lack: &[&str],
    most: Option<usize>,
) -> (Vec<Column>, Vec<&'h str>) {
    let column = |(at, heading): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width());
        let width = cells.chain([heading.width()]).max().unwrap_or(0);
        let least = match at {
            0 => LEAST_FIRST,
            _ if STATES.contains(heading) => LEAST_STATE,
            _ => LEAST,
        };
        Column { at, width, least }
    };
    let all = || headings.iter().enumerate().map(column).collect::<Vec<_>>();
    let Some(most) = most else { return (all(), Vec::new()) };
    let mut left_out = Vec::new();
    for lacking in std::iter::once(&"").chain(may_lack) {
        left_out.extend(headings.iter().copied().filter(|heading| heading == lacking));
        let mut shown = all();
        shown.retain(|column| headings.get(column.at).is_none_or(|heading| !left_out.contains(heading)));
        if shrink(&mut shown, most, |column| column.least) {
            return (shown, left_out);
        }
    }
    let mut shown = all();
    shown.retain(|column| headings.get(column.at).is_none_or(|heading| !left_out.contains(heading)));
    shrink(&mut shown, most, |_| SHORTEST);
    (shown, left_out)
}

/// Takes from the widest column until all fit; false if they cannot.
fn shrink(columns: &mut [Column], most: usize, least: impl Fn(&Column) -> usize) -> bool {
    let gaps = GAP * columns.len().saturating_sub(1);
    let mut over = (columns.iter().map(|column| column.width).sum::<usize>() + gaps).saturating_sub(most);
    while over > 0 {
        let widest = columns.iter_mut().filter(|column| column.width > least(column)).max_by_key(|column| column.width);
        let Some(widest) = widest else { return false };
        widest.width -= 1;
        over -= 1;
    }
    true
}

/// At most so many columns of a text; `…` stands for the rest. What rows are about often differs at the end only, so there
/// the `middle` goes.
pub(super) fn cut(text: &str, width: usize, middle: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let end = if middle { room / 2 } else { 0 };
    let head = taking(text.chars(), room - end);
    let tail: String = taking(text.chars().rev(), end).chars().rev().collect();
    format!("{head}…{tail}")
}

fn taking(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut left = width;
    chars
        .take_while(|c| {
            let fits = left.checked_sub(c.width().unwrap_or(0));
            left = fits.unwrap_or(0);
            fits.is_some()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    fn wide(columns: usize) -> Screen {
        Screen { size: Some((columns, 24)), ..Screen::default() }
    }

    #[test]
    fn columns_line_up_and_lines_end_without_spaces() {
        let rows = rows(&[&["a", "longer"], &["gateway", ""]]);
        assert_eq!(
            lay_out(&["NAME", "STEP"], &rows, &[], Screen::default()),
            "NAME     STEP\na        longer\ngateway\n"
        );
    }

    #[test]
    fn a_wide_character_takes_two_columns_and_a_control_character_steers_nothing() {
        let rows = rows(&[&["日本", "x"], &["a\u{1b}[2J", "y"]]);
        assert_eq!(lay_out(&["N", "S"], &rows, &[], Screen::default()), "N      S\n日本   x\na [2J  y\n");
    }

    #[test]
    fn on_a_terminal_the_longest_column_is_cut_and_then_the_next_goes() {
        let rows = rows(&[&["press-hall-7-line-3-0001", "sn-0001", "no gateway has the labels"]]);
        let headings = ["GATEWAY", "SERIAL", "MESSAGE"];
        let at = |columns| lay_out(&headings, &rows, &["SERIAL"], wide(columns));
        for columns in [12, 20, 30, 40, 50, 60, 61, 80] {
            assert!(at(columns).lines().all(|line| line.width() <= columns), "{columns}: {}", at(columns));
        }
        assert_eq!(at(60).lines().nth(1), Some("press-hall-7-line-3-0001  sn-0001  no gateway has the labels"));
        assert_eq!(at(34), "GATEWAY             MESSAGE\npress-hal…e-3-0001  no gateway ha…\nnot shown here: serial\n");
    }

    #[test]
    fn only_the_columns_of_states_are_coloured() {
        let screen = Screen { size: Some((80, 24)), colours: true, draws: true };
        let text = lay_out(&["NAME", "STATE"], &rows(&[&["Failed", "Stalled (NoMembers)"]]), &[], screen);
        assert_eq!(
            text,
            "\u{1b}[1mNAME\u{1b}[0m    \u{1b}[1mSTATE\u{1b}[0m\nFailed  \u{1b}[31mStalled (NoMembers)\u{1b}[0m\n"
        );
    }
}
