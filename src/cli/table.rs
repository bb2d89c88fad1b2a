//! Plain tables: columns as wide as their longest cell, two spaces apart, nothing at the end of a line.

/// Lays rows out under their headings.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        cells.chain(headings.get(at).map(|heading| heading.chars().count())).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded: Vec<String> = cells.zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&mut headings.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_without_spaces() {
        let rows = [vec!["a".into(), "longer".into()], vec!["gateway".into(), String::new()]];
        assert_eq!(table(&["NAME", "STEP"], &rows), "NAME     STEP\na        longer\ngateway\n");
    }
}
