//! `lamplighter man --dir DIR`: the manual pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::CommandFactory;

/// Write the manual pages, one for each command
#[derive(Debug, clap::Args)]
pub struct ManArgs {
    /// Into this directory, such as /usr/share/man/man1; it is made if it is missing
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
    use super::*;

    #[test]
    fn there_is_a_page_for_every_command_and_the_first_names_them_all() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("man1");
        write(&inner).unwrap();
        let page = |name: &str| std::fs::read_to_string(inner.join(name)).unwrap();
        let first = page("lamplighter.1");
        let mut pages = 1;
        for command in super::super::Cli::command().get_subcommands() {
            let name = command.get_name();
            assert!(first.contains(&format!("lamplighter\\-{name}(1)")), "{name}: {first}");
            assert!(page(&format!("lamplighter-{name}.1")).contains(".SH OPTIONS"), "{name}");
            pages += 1 + command.get_subcommands().count();
        }
        assert_eq!(std::fs::read_dir(&inner).unwrap().count(), pages);
        assert!(!first.contains("AUTHORS"), "{first}");
    }
}
