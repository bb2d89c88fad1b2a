//! `devices.tokens` of the site file: what gateways without a token of their own sign in with.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

/// Files with secrets, checked. Each has one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    /// From its line every gateway's own token is derived.
    pub site_secret: Option<PathBuf>,
    /// Its line is one token for all of them.
    pub gateway_token: Option<PathBuf>,
}

/// `devices.tokens` as typed.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the checked struct says what they mean")]
pub struct TypedTokens {
    #[schemars(length(min = 1, max = 4096))]
    pub site_secret_file: Option<String>,
    #[schemars(length(min = 1, max = 4096))]
    pub gateway_token_file: Option<String>,
}

impl TypedTokens {
    /// Relative paths start from `base`.
    pub(super) fn check(self, base: &Path) -> Tokens {
        let file = |typed: Option<String>| typed.map(|file| base.join(file));
        Tokens { site_secret: file(self.site_secret_file), gateway_token: file(self.gateway_token_file) }
    }
}
