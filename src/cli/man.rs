//! `lamplighter man --dir DIR`: the manual pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

/// Write the manual pages, one for each command
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Into this directory, such as /usr/share/man/man1; made if it is missing
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

pub(super) fn run(args: &ManArgs) -> anyhow::Result<ExitCode> {
    write(&args.dir).with_context(|| format!("cannot write manual pages into {}", args.dir.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn write(dir: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let command = super::Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, dir)
}

#[cfg(test)]
mod tests {
    use clap::Command;

    use super::*;

    /// The page of a command and of those within it, each of which names the next.
    fn pages(dir: &Path, command: &Command, name: &str) -> usize {
        let page = std::fs::read_to_string(dir.join(format!("{name}.1"))).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(page.contains(".SH OPTIONS") && !page.contains("AUTHORS"), "{page}");
        let within = command.get_subcommands().filter(|command| command.get_name() != "help");
        let pages = within.map(|command| {
            let name = format!("{name}-{}", command.get_name());
            assert!(page.contains(&format!("{}(1)", name.replace('-', "\\-"))), "{name}: {page}");
            pages(dir, command, &name)
        });
        1 + pages.sum::<usize>()
    }

    #[test]
    fn there_is_a_page_for_every_command_and_the_one_above_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("man1");
        write(&inner).unwrap();
        let pages = pages(&inner, &super::super::Cli::command(), "lamplighter");
        assert!(pages >= 13, "{pages}");
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), pages, "and there is no other");
    }
}
