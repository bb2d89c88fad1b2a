//! `lamplighter token`: a gateway's derived token, to be put on that gateway.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow};

use crate::config;
use crate::model::{ControllerId, SiteSecret};

/// Print the token that a gateway signs in with, derived from the site secret
#[derive(Debug, clap::Args)]
pub struct TokenArgs {
    /// The gateway's controller id: how it names itself, not what people call it
    #[arg(value_name = "CONTROLLER_ID")]
    gateway: ControllerId,
    /// The site file
    #[arg(long, value_name = "FILE", default_value = super::SITE_FILE)]
    config: PathBuf,
}

pub(super) fn run(args: &TokenArgs, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let config = config::load(&args.config)?;
    let file = config.devices.tokens.site_secret.ok_or_else(|| {
        anyhow!(
            "{} names no devices.tokens.siteSecretFile, so tokens are not derived here; `lamplighter init` makes a secret",
            args.config.display()
        )
    })?;
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let secret = SiteSecret::new(&text).with_context(|| format!("{} cannot be used", file.display()))?;
    writeln!(out, "{}", secret.token(args.gateway.as_str()))?;
    Ok(ExitCode::SUCCESS)
}
