//! An order to the running site, and what it says became of it.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::prose::sentence;
use crate::site::report::{Ordered, Wanted};

/// Gives an order, and prints what it means once it is on disk. That it was so already is no failure.
pub(super) fn give(site: &SiteArgs, output: Output, wanted: &Wanted, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let done: Ordered = site.post_json("/v1/orders", wanted)?;
    output.print(out, &done, |done| done.says.iter().map(|line| sentence(line)).collect())?;
    Ok(ExitCode::SUCCESS)
}
