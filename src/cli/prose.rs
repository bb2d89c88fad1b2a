//! Running text for a terminal: broken at spaces, so that no line is longer than people like to read.

/// Columns. Scripts have `-o json`.
const WIDTH: usize = 110;

/// A paragraph behind `lead`; the lines that follow are indented as far as `lead` is wide.
pub(super) fn paragraph(lead: &str, text: &str) -> String {
    let indent = " ".repeat(lead.chars().count());
    let (mut done, mut line, mut is_empty) = (String::new(), lead.to_owned(), true);
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_before_the_edge_and_a_word_that_does_not_fit_stays_whole() {
        assert_eq!(paragraph("  why  ", "short"), "  why  short\n");
        let (word, path) = ("word ".repeat(30), "/".repeat(WIDTH + 9));
        let text = paragraph("  why  ", &format!("{word}{path} end"));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].chars().count() <= WIDTH && lines[1].starts_with("       word"), "{text}");
        assert_eq!((lines[2].trim(), lines[3]), (path.as_str(), "       end"));
    }
}
