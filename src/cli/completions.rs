//! `lamplighter completions SHELL`: what the shell completes.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

/// Print the completions of a shell
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lamplighter completions bash > /usr/share/bash-completion/completions/lamplighter\n  \
    lamplighter completions zsh > /usr/share/zsh/site-functions/_lamplighter"
)]
pub struct CompletionsArgs {
    /// Which one
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    out.write_all(&script(args.shell))?;
    Ok(ExitCode::SUCCESS)
}

/// Made in memory: the generator panics when nobody reads any more.
fn script(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "lamplighter", &mut text);
    text
}

#[cfg(test)]
mod tests {
    use clap::{Command, ValueEnum};

    use super::*;

    /// Every command, those within commands too, with the names that lead to it.
    pub fn commands(of: &Command, path: &str) -> Vec<(String, Command)> {
        let within = of.get_subcommands().filter(|command| command.get_name() != "help");
        within
            .flat_map(|command| {
                let path = format!("{path} {}", command.get_name()).trim().to_owned();
                let mut found = vec![(path.clone(), command.clone())];
                found.extend(commands(command, &path));
                found
            })
            .collect()
    }

    #[test]
    fn every_shell_completes_every_command_and_its_flags() {
        let all = commands(&super::super::Cli::command(), "");
        assert!(all.len() >= 12, "{all:?}");
        for shell in Shell::value_variants() {
            let text = String::from_utf8(script(*shell)).unwrap();
            for (path, command) in &all {
                assert!(text.contains(command.get_name()), "{shell}: {path}");
                for flag in command.get_arguments().filter_map(|arg| arg.get_long()) {
                    assert!(text.contains(flag), "{shell}: {path} --{flag}");
                }
            }
            assert!(text.contains("yaml"), "{shell}: values");
        }
    }

    #[test]
    fn a_command_is_told_in_one_short_line() {
        for (path, command) in commands(&super::super::Cli::command(), "") {
            let about = command.get_about().unwrap_or_else(|| panic!("{path} says nothing")).to_string();
            assert!(about.len() <= 80 && !about.ends_with('.') && !about.contains('\n'), "{path}: {about}");
            // a second paragraph would make every flag take three lines
            assert!(command.get_long_about().is_none(), "{path}: put it into after_help");
            for arg in command.get_arguments() {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.ends_with('.') && arg.get_long_help().is_none(), "{path}: {help}");
            }
        }
    }
}
