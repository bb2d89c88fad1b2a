//! An order to the running site, and what it says became of it.

use std::io::Write;
use std::process::ExitCode;

use super::Output;
use super::control::SiteArgs;
use super::prose::sentence;
use crate::site::report::{Ordered, Wanted};

/// Which site takes an order, and how it answers.
#[derive(Debug, clap::Args)]
pub(super) struct Addressee {
    #[command(flatten)]
    site: SiteArgs,
    /// How to answer: text, json or yaml
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t, hide_possible_values = true)]
    output: Output,
}

/// Why an order is given.
#[derive(Debug, clap::Args)]
pub(super) struct Reason {
    /// Why, for whoever asks later: at most 200 characters
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Reason {
    /// What was said, if anything was.
    pub(super) fn given(&self) -> Option<String> {
        self.reason.clone()
    }
}

impl Addressee {
    /// Gives an order, and prints what it means once it is on disk. That it was so already is no failure.
    pub(super) fn give(&self, wanted: &Wanted, out: &mut impl Write) -> anyhow::Result<ExitCode> {
        let done: Ordered = self.site.post_json("/v1/orders", wanted)?;
        self.output.print(out, &done, |done| done.says.iter().map(|line| sentence(line)).collect())?;
        Ok(ExitCode::SUCCESS)
    }
}
