//! How a command answers: for people, or for scripts.

use std::io::Write;

use serde::Serialize;

/// How a command answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// For people
    #[default]
    Text,
    /// For scripts
    Json,
    /// The same as YAML
    Yaml,
}

impl Output {
    /// Prints an answer that a command gives once.
    pub fn print<T: Serialize>(
        self,
        out: &mut impl Write,
        answer: &T,
        text: impl Fn(&T) -> String,
    ) -> anyhow::Result<()> {
        match self {
            Self::Text => out.write_all(text(answer).as_bytes())?,
            Self::Json => writeln!(out, "{}", serde_json::to_string_pretty(answer)?)?,
            Self::Yaml => out.write_all(yaml(answer)?.as_bytes())?,
        }
        Ok(out.flush()?)
    }

    /// Prints one of many for scripts: a JSON object per line, or a YAML document. False for people, who get another form.
    pub fn print_one(self, out: &mut impl Write, one: &impl Serialize) -> anyhow::Result<bool> {
        match self {
            Self::Text => return Ok(false),
            Self::Json => writeln!(out, "{}", serde_json::to_string(one)?)?,
            Self::Yaml => write!(out, "---\n{}", yaml(one)?)?,
        }
        Ok(true)
    }
}

fn yaml(answer: &impl Serialize) -> anyhow::Result<String> {
    // what devices and files say stays on its line, whatever it is
    let options = serde_yaml::ser_options! { prefer_block_scalars: false };
    let mut text = String::new();
    serde_yaml::to_fmt_writer_with_options(&mut text, answer, options)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_printed_as_yaml_reads_back_whatever_it_is() {
        let texts = [
            "",
            "yes",
            "no",
            "on",
            "null",
            "~",
            "1.0",
            "1e3",
            "0x1f",
            "0o7",
            "012",
            "2026-12-01",
            "- a",
            "a: b",
            "#x",
            "a #b",
            " a ",
            "\ttab",
            "two\nlines\n",
            "\u{1b}[31m",
            "\u{85}",
            "ü",
            "%a",
            "@a",
            "`",
            "'",
            "\"",
            "{",
            "[",
            "!t",
            "&a",
            "*a",
            "|",
            ">",
            "---",
            "...",
            "\\",
            "a:",
            "\u{202e}",
            "1_000",
            ".inf",
            "=",
            "<<",
            "?",
            ": ",
        ];
        let long = "word ".repeat(60);
        let answer = json!({
            "texts": &texts[..], "long": long, "none": null, "empty": [], "nothing": {}, "numbers": [0, -1, 1_u64 << 40],
            "deep": [{"a": {"b": [[1], []]}}],
        });
        for answer in [&answer, &json!([]), &json!({}), &json!("x")] {
            let text = yaml(answer).unwrap();
            assert_eq!(&serde_yaml::from_str::<Value>(&text).unwrap(), answer, "{text}");
        }
    }
}
