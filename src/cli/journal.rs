//! `lamplighter journal`: what happened at the site.

use std::io::Write;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use unicode_width::UnicodeWidthStr;

use super::Output;
use super::at_rest::AtRest;
use super::complain;
use super::control::SiteArgs;
use super::prose::paragraph;
use super::screen::Screen;
use super::style::Style;
use crate::model::{What, parse_duration};
use crate::site::report::{JournalFilter, JournalRowLine, JournalRows};

/// How often `--follow` asks for newer rows.
const EVERY: Duration = Duration::from_secs(1);

/// Show what happened at the site, the newest rows last
#[derive(Debug, clap::Args)]
#[command(after_help = "Without a running site the rows are read from a copy of its store.\n\nExamples:\n  \
    lamplighter journal --gateway press-1\n  lamplighter journal --what failed --all\n  lamplighter journal --follow -o json")]
pub struct JournalArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Only rows of this rollout
    #[arg(long, value_name = "NAME")]
    rollout: Option<String>,
    /// Only rows of this gateway, by its name or controller id
    #[arg(long, value_name = "NAME")]
    gateway: Option<String>,
    /// Only rows of this service
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only rows of this kind
    #[arg(long, value_name = "KIND", value_parser = kinds(), ignore_case = true)]
    what: Option<What>,
    /// Only rows of the last while, such as 2h, or from a time on, such as 2026-12-01T06:00:00Z; rows that were written
    /// without a clock are shown too
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<i64>,
    /// The newest so many rows, up to 1000
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// All rows that are kept
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Go on with newer rows as they come
    #[arg(short, long)]
    follow: bool,
    /// How to answer: text, json (an object per line) or yaml (a document per row)
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

fn kinds() -> impl TypedValueParser<Value = What> {
    PossibleValuesParser::new(What::ALL.iter().map(|what| what.name())).try_map(|text| text.parse::<What>())
}

/// A while before now, or a time: Unix milliseconds.
fn since(text: &str) -> Result<i64, String> {
    let now = jiff::Timestamp::now();
    if let Ok(ago) = parse_duration(text) {
        let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
        return Ok(now.as_millisecond().saturating_sub(ago));
    }
    let at = text.parse::<jiff::Timestamp>();
    at.map(jiff::Timestamp::as_millisecond)
        .map_err(|_| "write a while such as 2h, or a time such as 2026-12-01T06:00:00Z".into())
}

pub(super) fn run(args: &JournalArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let mut filter = JournalFilter {
        limit: if args.all { JournalFilter::MOST } else { args.limit.into() },
        after: args.all.then_some(0),
        rollout: args.rollout.clone(),
        gateway: args.gateway.clone(),
        service: args.service.clone(),
        what: args.what,
        since: args.since,
    };
    let mut page = Printed::new(args.output);
    let at_rest = first(args, &mut filter, &mut page, out)?;
    if args.all {
        while page.full {
            let rows = match &at_rest {
                Some(site) => site.journal(&filter)?,
                None => args.site.get(&path(&filter))?,
            };
            page.print(&rows, &mut filter, out)?;
        }
    }
    if args.follow {
        follow(args, filter, page, out)?;
    } else if page.nothing {
        complain(&"no such rows; leave a filter out to see more");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints the first page; the site, if it does not run.
fn first(
    args: &JournalArgs,
    filter: &mut JournalFilter,
    page: &mut Printed,
    out: &mut impl Write,
) -> anyhow::Result<Option<AtRest>> {
    let (rows, at_rest) = match args.site.get_if_it_runs(&path(filter))? {
        Some(rows) => (rows, None),
        None => {
            let site = AtRest::open(&args.site)?.announce();
            (site.journal(filter)?, Some(site))
        }
    };
    page.print(&rows, filter, out)?;
    Ok(at_rest)
}

/// Ends only by a signal, or when nobody reads any more.
fn follow(
    args: &JournalArgs,
    mut filter: JournalFilter,
    mut page: Printed,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    filter.limit = JournalFilter::MOST;
    let mut said = String::new();
    loop {
        if !page.full {
            sleep(EVERY);
        }
        let problem = match args.site.get_if_it_runs::<JournalRows>(&path(&filter)) {
            // the store was lost, and its numbers begin anew
            Ok(Some(rows)) if filter.after.is_some_and(|after| rows.last < after) => {
                filter.after = Some(0);
                "the journal begins anew".to_owned()
            }
            Ok(Some(rows)) => {
                page.print(&rows, &mut filter, out)?;
                String::new()
            }
            Ok(None) => "the site does not run; waiting for it".to_owned(),
            Err(error) => format!("{error:#}"),
        };
        if !problem.is_empty() && problem != said {
            complain(&problem);
        }
        said = problem;
    }
}

fn path(filter: &JournalFilter) -> String {
    format!("/v1/journal?{}", filter.to_query())
}

/// What was printed so far. Columns only grow, so that rows which come later line up as far as they can.
struct Printed {
    output: Output,
    widths: [usize; 4],
    nothing: bool,
    /// Some row did not fit in a line, so none is given columns.
    narrow: bool,
    /// The last page was: there may be more.
    full: bool,
}

const HEADINGS: [&str; 4] = ["TIME", "WHAT", "ROLLOUT", "GATEWAY"];

impl Printed {
    fn new(output: Output) -> Self {
        Self { output, widths: HEADINGS.map(str::len), nothing: true, narrow: false, full: false }
    }

    fn print(&mut self, page: &JournalRows, filter: &mut JournalFilter, out: &mut impl Write) -> anyhow::Result<()> {
        self.full = page.rows.len() >= filter.limit;
        filter.after = Some(page.last);
        if self.output == Output::Text {
            self.table(&page.rows, out)?;
        }
        for row in &page.rows {
            self.output.print_one(out, row)?;
        }
        self.nothing &= page.rows.is_empty();
        Ok(out.flush()?)
    }

    fn table(&mut self, rows: &[JournalRowLine], out: &mut impl Write) -> anyhow::Result<()> {
        for row in rows {
            for (width, cell) in self.widths.iter_mut().zip(cells(row)) {
                *width = cell.width().max(*width);
            }
        }
        let screen = Screen::now();
        let taken: usize = self.widths.iter().map(|width| width + GAP).sum();
        let fits = |row: &JournalRowLine| screen.width().is_none_or(|most| taken + row.detail.width() <= most);
        self.narrow |= !rows.iter().all(fits);
        if self.narrow {
            return rows.iter().try_for_each(|row| entry(row, screen, out));
        }
        if self.nothing && !rows.is_empty() {
            let styled = |_: usize, text: &str| screen.paint(Style::Bold, text);
            writeln!(out, "{}", self.line(HEADINGS, &styled) + &screen.paint(Style::Bold, "DETAIL"))?;
        }
        for row in rows {
            let styled = |at: usize, text: &str| if at == 1 { what(text, screen) } else { text.to_owned() };
            writeln!(out, "{}", (self.line(cells(row), &styled) + &plain(&row.detail)).trim_end())?;
        }
        Ok(())
    }

    /// All but the detail.
    fn line(&self, cells: [&str; 4], styled: &dyn Fn(usize, &str) -> String) -> String {
        let mut line = String::new();
        for (at, (cell, width)) in cells.iter().zip(self.widths).enumerate() {
            line += &styled(at, cell);
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.width()) + GAP));
        }
        line
    }
}

/// A row where there is no room for columns: it is evidence, so nothing of it is cut.
fn entry(row: &JournalRowLine, screen: Screen, out: &mut impl Write) -> anyhow::Result<()> {
    let [time, kind, ..] = cells(row);
    writeln!(out, "{time}  {}", what(kind, screen))?;
    let about: Vec<&str> =
        [&row.rollout, &row.gateway, &row.service].into_iter().flatten().map(String::as_str).collect();
    let parts = [about.join(", "), row.detail.clone()];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if !parts.is_empty() {
        out.write_all(paragraph("    ", &parts.join(": ")).as_bytes())?;
    }
    Ok(())
}

fn what(kind: &str, screen: Screen) -> String {
    screen.paint(Style::of_state(kind), kind)
}

/// What devices and files say must not steer the terminal.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// Between two columns.
const GAP: usize = 2;

fn cells(row: &JournalRowLine) -> [&str; 4] {
    [
        row.time.as_deref().unwrap_or("no clock"),
        &row.what,
        row.rollout.as_deref().unwrap_or("-"),
        row.gateway.as_ref().or(row.service.as_ref()).map_or("-", String::as_str),
    ]
}
