//! `lamplighter completions SHELL`: what the shell completes.

use std::io::Write;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

/// Print the completions of a shell
///
/// For bash: `lamplighter completions bash > /usr/share/bash-completion/completions/lamplighter`
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// The shell
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
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in Shell::value_variants() {
            let text = String::from_utf8(script(*shell)).unwrap();
            for command in super::super::Cli::command().get_subcommands() {
                assert!(text.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(text.contains("follow"), "{shell}: flags");
        }
    }
}
