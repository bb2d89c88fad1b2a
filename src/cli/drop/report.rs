//! `lamplighter drop report`: how a site stands, as a file to carry back.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use super::file;
use crate::cli::at_rest::AtRest;
use crate::cli::bundle::Bundle;
use crate::cli::control::SiteArgs;
use crate::site::report::{self, Counters, GatewayList, JournalFilter, JournalRowLine, JournalRows, Status};

/// Write how the site stands, its gateways and its journal into one file
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without a running site it is read from a copy of its store. `lamplighter report` reads such files."
)]
pub struct ReportArgs {
    #[command(flatten)]
    site: SiteArgs,
    /// Where to write it; a report that is there is replaced [default: to be printed]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ReportArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let bundle = match args.site.get_if_it_runs("/v1/status")? {
        Some(status) => of_running(&args.site, status)?,
        None => at_rest(&args.site)?,
    };
    let json = serde_json::to_string_pretty(&bundle)? + "\n";
    let Some(path) = &args.out else {
        out.write_all(json.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    file::write(path, json.as_bytes(), true)
        .map_err(|error| anyhow::anyhow!("cannot write {}: {error}", path.display()))?;
    let (rows, gateways) = (bundle.journal.len(), bundle.gateways.len());
    writeln!(out, "{} is written: {gateways} gateways, {rows} rows of the journal", path.display())?;
    Ok(ExitCode::SUCCESS)
}

fn of_running(site: &SiteArgs, status: Status) -> anyhow::Result<Bundle> {
    let list: GatewayList = site.get("/v1/gateways")?;
    let journal = pages(|filter| site.get(&format!("/v1/journal?{}", filter.to_query())))?;
    Ok(Bundle::new(true, status, list.gateways, journal))
}

fn at_rest(site: &SiteArgs) -> anyhow::Result<Bundle> {
    let rest = AtRest::open(site)?.announce();
    let status = report::status(&site.name(), rest.state(), rest.now(), |_| None, Vec::new(), Counters::default());
    let status = Status { running: false, saved_at: rest.saved_at(), ..status };
    let mut gateways = report::gateways(rest.state()).gateways;
    for member in gateways.iter_mut().filter_map(|gateway| gateway.member.as_mut()) {
        if member.step == "Waiting" {
            // it is decided by the running site
            member.reason = None;
        }
    }
    let journal = pages(|filter| rest.journal(filter))?;
    Ok(Bundle::new(false, status, gateways, journal))
}

/// All rows that are kept, a page at a time.
fn pages(mut page: impl FnMut(&JournalFilter) -> anyhow::Result<JournalRows>) -> anyhow::Result<Vec<JournalRowLine>> {
    let mut filter = JournalFilter { limit: JournalFilter::MOST, after: Some(0), ..JournalFilter::default() };
    let mut all = Vec::new();
    loop {
        let rows = page(&filter)?;
        let more = rows.rows.len() >= filter.limit;
        filter.after = Some(rows.last);
        all.extend(rows.rows);
        if !more {
            return Ok(all);
        }
    }
}
