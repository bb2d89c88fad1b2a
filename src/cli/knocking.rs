//! What `status` says about those who knock: gateways that wait to be accepted, and wrong tokens.

use std::time::Duration;

use super::prose::paragraph;
use super::table::table;
use crate::model::format_duration;
use crate::site::report::Status;

/// So many are listed; a script has all of them.
const MOST: usize = 20;

/// Nothing, where nobody knocks.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    if !status.pending.is_empty() {
        text += &format!("\nnot declared, waiting to be accepted: {}\n", status.pending.len());
        let rows: Vec<_> = status
            .pending
            .iter()
            .take(MOST)
            .map(|line| {
                let token = if line.contested { "two different ones".into() } else { format!("{}…", line.token_starts) };
                vec![line.controller_id.clone(), line.address.clone(), token, ago(line.last_seconds)]
            })
            .collect();
        text += &table(&["CONTROLLER ID", "ADDRESS", "TOKEN SHA256", "LAST"], &rows);
        if status.pending.len() > MOST {
            text += "…\n";
        }
        text += &paragraph("", ACCEPT);
    }
    if !status.guessers.is_empty() {
        text += "\nwrong tokens in the last ten minutes:\n";
        let rows: Vec<_> = status
            .guessers
            .iter()
            .map(|line| vec![line.address.clone(), line.wrong.to_string(), ago(line.last_seconds)])
            .collect();
        text += &table(&["ADDRESS", "COUNT", "LAST"], &rows);
    }
    if status.counters.held_back > 0 {
        text += "\n";
        let waited = format!("{} connections waited because their address had its share open. ", status.counters.held_back);
        text += &paragraph("", &(waited + NAT));
    }
    text
}

const ACCEPT: &str = "`lamplighter accept ID…` or `--all` accepts them, each with the token it showed first: compare it with the \
    gateway's own where the network is not to be trusted.";

const NAT: &str = "If gateways share an address, raise devices.connections.perAddress.";

fn ago(seconds: u64) -> String {
    if seconds == 0 { "now".into() } else { format!("{} ago", format_duration(Duration::from_secs(seconds))) }
}
