//! The command line: one file per subcommand. It sits on top of everything and decides nothing about gateways.
//!
//! Must never write to the store of a running site: what a person wants goes over the control socket.
//! Exit codes: 0 done, 1 refused or failed, 2 bad usage or input.

mod accept;
mod approve;
mod artifacts;
mod at_rest;
mod bundle;
mod cancel;
pub mod check;
mod completions;
mod control;
pub mod crds;
mod drop;
mod fetching;
mod hold;
mod init;
mod journal;
mod knocking;
mod logging;
mod man;
mod order;
mod output;
mod pause;
mod plan;
mod prose;
mod report;
mod restart;
mod resume;
mod retry;
mod run;
mod screen;
mod services;
pub mod simulate;
mod status;
mod style;
mod table;
mod token;
mod unhold;
mod verify;
mod watch;
mod waves;
mod why;
mod why_rollout;
mod why_service;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::config::ConfigError;
use crate::site::RunError;

pub use output::Output;

/// Where a site file lies if nobody says.
const SITE_FILE: &str = "/etc/lamplighter/site.yaml";

/// Updates edge gateways wave by wave, offline, and can prove what it did.
#[derive(Debug, Parser)]
#[command(name = "lamplighter", version, propagate_version = true, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 done, 1 refused or failed, 2 bad usage or input.\n\
    Begin with `lamplighter simulate`, or with `lamplighter check` and `lamplighter run` on a site file of yours.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// How the log is written to stderr: text or json
    #[arg(long, value_name = "FORMAT", value_enum, global = true, default_value_t, hide_possible_values = true)]
    log_format: logging::Format,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::InitArgs),
    Run(run::RunArgs),
    Status(status::StatusArgs),
    Why(why::WhyArgs),
    Plan(plan::PlanArgs),
    Journal(journal::JournalArgs),
    Artifacts(artifacts::ArtifactsArgs),
    Accept(accept::AcceptArgs),
    Drop(drop::DropArgs),
    Report(report::ReportArgs),
    Approve(approve::ApproveArgs),
    Pause(pause::PauseArgs),
    Resume(resume::ResumeArgs),
    Cancel(cancel::CancelArgs),
    Retry(retry::RetryArgs),
    Restart(restart::RestartArgs),
    Hold(hold::HoldArgs),
    Unhold(unhold::UnholdArgs),
    Check(check::Args),
    Token(token::TokenArgs),
    Verify(verify::VerifyArgs),
    Crds(crds::Args),
    Simulate(simulate::SimulateArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

/// Parses the command line and runs what it says.
pub fn main() -> ExitCode {
    // first thing: without a provider the HTTP client and the TLS server would panic
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cli = Cli::parse();
    logging::start(cli.log_format);
    let mut out = io::stdout().lock();
    let done = match cli.command {
        Command::Init(args) => init::run(&args, &mut out),
        Command::Run(args) => run::run(&args),
        Command::Status(args) => status::run(&args, &mut out),
        Command::Why(args) => why::run(&args, &mut out),
        Command::Plan(args) => plan::run(&args, &mut out),
        Command::Journal(args) => journal::run(&args, &mut out),
        Command::Artifacts(args) => artifacts::run(&args, &mut out),
        Command::Accept(args) => accept::run(&args, &mut out),
        Command::Drop(args) => drop::run(&args, &mut out),
        Command::Report(args) => report::run(&args, &mut out),
        Command::Approve(args) => approve::run(&args, &mut out),
        Command::Pause(args) => pause::run(&args, &mut out),
        Command::Resume(args) => resume::run(&args, &mut out),
        Command::Cancel(args) => cancel::run(&args, &mut out),
        Command::Retry(args) => retry::run(&args, &mut out),
        Command::Restart(args) => restart::run(&args, &mut out),
        Command::Hold(args) => hold::run(&args, &mut out),
        Command::Unhold(args) => unhold::run(&args, &mut out),
        Command::Check(args) => check::run(&args, &mut out),
        Command::Token(args) => token::run(&args, &mut out),
        Command::Verify(args) => verify::run(&args, &mut out),
        Command::Crds(args) => crds::run(&args, &mut out),
        Command::Simulate(args) => simulate::run(args),
        Command::Completions(args) => completions::run(&args, &mut out),
        Command::Man(args) => man::run(&args),
    };
    done.unwrap_or_else(|error| {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            // whoever reads has seen enough
            return ExitCode::SUCCESS;
        }
        if error.is::<ConfigError>() || matches!(error.downcast_ref(), Some(RunError::Credentials(_))) {
            return bad_input(&error);
        }
        complain(&in_words(&error));
        ExitCode::FAILURE
    })
}

/// An error and what it says of its causes, without those that it names itself.
fn in_words(error: &anyhow::Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    causes.fold(String::new(), |words, cause| match words {
        words if words.is_empty() => cause,
        words if words.contains(&cause) => words,
        words => format!("{words}: {cause}"),
    })
}

/// Says what is wrong with the input.
fn bad_input(error: &dyn std::fmt::Display) -> ExitCode {
    complain(error);
    ExitCode::from(2)
}

/// Not by `eprintln!`, which panics when nobody listens.
fn complain(error: &dyn std::fmt::Display) {
    let _ = writeln!(io::stderr(), "lamplighter: {error}");
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use clap::CommandFactory;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot listen: {0}; who else does?")]
    struct Listen(#[source] io::Error);

    #[test]
    fn a_cause_is_said_once() {
        let taken = || Listen(io::Error::other("address taken"));
        assert_eq!(in_words(&taken().into()), "cannot listen: address taken; who else does?");
        let more: anyhow::Error = Err::<(), _>(taken()).context("hall-7").unwrap_err();
        assert_eq!(in_words(&more), "hall-7: cannot listen: address taken; who else does?");
    }

    #[test]
    fn the_definition_holds_and_every_command_is_documented() {
        Cli::command().debug_assert();
        let page = include_str!("../../docs/reference/commands.md");
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(page.contains(&format!("\n| `lamplighter {name}")), "docs/reference/commands.md lacks {name}");
        }
    }
}
