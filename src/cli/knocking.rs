//! What `status` says about those who knock: gateways that wait to be accepted, and wrong tokens.

use super::prose::{ago, paragraph};
use super::table::table;
use crate::site::report::{GuesserLine, PendingLine, Status};

/// So many are listed; a script has all of them.
const MOST: usize = 20;

/// Nothing, where nobody knocks.
pub(super) fn text(status: &Status) -> String {
    let parts = [pending(&status.pending), guessers(&status.guessers), held_back(status.counters.held_back)];
    parts.into_iter().flatten().fold(String::new(), |text, part| text + "\n" + &part)
}

fn pending(lines: &[PendingLine]) -> Option<String> {
    let row = |line: &PendingLine| {
        let token = match line.site_token.as_deref() {
            _ if line.contested => "two different ones".into(),
            Some("Derived") => "the site's, for this id".into(),
            Some(_) => "the site's, for all".into(),
            None => format!("sha256 {}…", line.token_starts.as_deref().unwrap_or_default()),
        };
        vec![line.controller_id.clone(), line.address.clone(), token, ago(line.last_seconds)]
    };
    let rows: Vec<_> = lines.iter().take(MOST).map(row).collect();
    let more = if lines.len() > MOST { "…\n" } else { "" };
    let table = table(&["CONTROLLER ID", "ADDRESS", "TOKEN", "LAST"], &rows, &[]);
    let heading = format!("not declared, waiting to be accepted: {}\n", lines.len());
    (!lines.is_empty()).then(|| heading + &table + more + &paragraph("", ACCEPT))
}

fn guessers(lines: &[GuesserLine]) -> Option<String> {
    let row = |line: &GuesserLine| vec![line.address.clone(), line.wrong.to_string(), ago(line.last_seconds)];
    let rows: Vec<_> = lines.iter().map(row).collect();
    let heading = "wrong tokens in the last ten minutes:\n";
    (!lines.is_empty()).then(|| heading.to_owned() + &table(&["ADDRESS", "COUNT", "LAST"], &rows, &[]))
}

fn held_back(connections: u64) -> Option<String> {
    let waited = format!("{connections} connections waited because their address had its share open. ");
    (connections > 0).then(|| paragraph("", &(waited + NAT)))
}

const ACCEPT: &str = "`lamplighter accept ID…` or `--all` accepts them, each with the token it showed first: compare it with the \
    gateway's own where the network is not to be trusted. Those with the site's token have it from whoever has the site's secrets.";

const NAT: &str = "If gateways share an address, raise devices.connections.perAddress.";
