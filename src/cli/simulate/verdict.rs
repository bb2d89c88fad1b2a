//! Did every gateway end as its behaviour says it should? The figures of a simulation, and how they are printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use serde::Serialize;

use super::amounts::format_bytes;
use super::cast::{Behaviour, Role};
use super::control::Gateway;
use super::device::Device;
use super::usage::Usage;

/// What a simulation found.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// How many gateways were played.
    pub gateways: u32,
    /// How many ended updated, as the site says.
    pub updated: u32,
    /// How many failed.
    pub failed: u32,
    /// How many were skipped.
    pub skipped: u32,
    /// From the first start of the site to the end of the rollout.
    pub wall_seconds: f64,
    /// The firmware's size.
    pub artifact_bytes: u64,
    /// What all gateways together received of it.
    pub served_bytes: u64,
    /// How often a gateway wrote the same firmware once more.
    pub double_installs: u32,
    /// How often the site was killed and started again.
    pub restarts: u32,
    /// How many polls were answered.
    pub polls: u64,
    /// What the site used.
    pub server: Usage,
    /// What it takes to do the same again.
    pub seed: u64,
    /// What is not as it should be; empty for success.
    pub wrong: Vec<Wrong>,
    #[serde(skip)]
    pub(super) parts: Vec<Part>,
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Which gateway, if it is one's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// What.
    pub why: String,
}

impl Wrong {
    /// Something about a gateway.
    pub fn with(gateway: &str, why: String) -> Self {
        Self { gateway: Some(gateway.into()), why }
    }

    /// Something about the whole.
    pub fn overall(why: String) -> Self {
        Self { gateway: None, why }
    }
}

/// A line of the summary's table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    behaviour: Behaviour,
    expected: &'static str,
    gateways: u32,
    as_expected: u32,
}

impl Report {
    /// Compares what the site says, and what the devices know, with the parts they played.
    pub fn judge(&mut self, played: &[(Role, &Device)], site: &[Gateway]) {
        let site: BTreeMap<&str, String> = site.iter().map(|gateway| (gateway.name.as_str(), gateway.end())).collect();
        let mut parts: BTreeMap<(Behaviour, &'static str), (u32, u32)> = BTreeMap::new();
        for (role, device) in played {
            let ended = site.get(role.name.as_str()).map_or("not known to the site", String::as_str);
            self.count(ended);
            self.double_installs += device.installs.saturating_sub(1);
            let wrong = faults(role, device, ended);
            let part = parts.entry((role.behaviour, role.expected())).or_default();
            part.0 += 1;
            part.1 += u32::from(wrong.is_empty());
            self.wrong.extend(wrong.into_iter().map(|why| Wrong::with(&role.name, why)));
        }
        let part =
            |((behaviour, expected), (gateways, as_expected))| Part { behaviour, expected, gateways, as_expected };
        self.parts = parts.into_iter().map(part).collect();
    }

    fn count(&mut self, ended: &str) {
        match ended.split(' ').next() {
            Some("Updated") => self.updated += 1,
            Some("Failed") => self.failed += 1,
            Some("Skipped") => self.skipped += 1,
            _ => {}
        }
    }

    /// The summary for a person.
    pub fn text(&self) -> String {
        let mut text = String::from("behaviour    should end as         gateways  as it should\n");
        for part in &self.parts {
            let (name, expected) = (part.behaviour.name(), part.expected);
            let _ = writeln!(text, "{name:<12} {expected:<20} {:>9} {:>13}", part.gateways, part.as_expected);
        }
        let Self { updated, failed, skipped, double_installs, polls, restarts, server, .. } = self;
        let (size, served) = (format_bytes(self.artifact_bytes), format_bytes(self.served_bytes));
        let wall = Duration::from_secs_f64(self.wall_seconds.max(0.001));
        let _ = write!(
            text,
            "
gateways  {updated} updated, {failed} failed, {skipped} skipped; {double_installs} installed twice
firmware  {size}, {served} served in {wall:.1?}
site      {polls} polls answered, {restarts} times killed and restarted
          peak RSS {} KiB (anonymous {} KiB), CPU {:.1} s

",
            server.peak_rss_kib, server.rss_anon_kib, server.cpu_seconds,
        );
        text.push_str(&self.conclusion());
        text
    }

    fn conclusion(&self) -> String {
        /// More is for the machine-readable report.
        const SHOWN: usize = 20;
        if self.wrong.is_empty() {
            return "every gateway ended as its behaviour says it should\n".into();
        }
        let mut text = format!("WRONG, {} times (seed {}):\n", self.wrong.len(), self.seed);
        for Wrong { gateway, why } in self.wrong.iter().take(SHOWN) {
            let _ = writeln!(text, "  {}: {why}", gateway.as_deref().unwrap_or("the run"));
        }
        if self.wrong.len() > SHOWN {
            let _ = writeln!(text, "  and {} more: see `-o json`", self.wrong.len() - SHOWN);
        }
        text.push_str("run it again with --keep to read the site's log\n");
        text
    }
}

fn faults(role: &Role, device: &Device, ended: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let (expected, played) = (role.expected(), role.behaviour.name());
    if ended != expected {
        faults.push(format!("{played} ({:?}) should end as {expected}, ended as {ended}", role.client));
    }
    if !device.runs_what_it_should() {
        faults.push(format!("{played} ({:?}) runs {} at the end", role.client, device.running()));
    }
    if device.installs != role.expected_installs() {
        let should = role.expected_installs();
        faults.push(format!(
            "{played} ({:?}) wrote the firmware {} times instead of {should}",
            role.client, device.installs
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::simulate::cast::{Client, cast};
    use crate::cli::simulate::ddi::Order;
    use crate::cli::simulate::firmware::NEW_VERSION;

    fn role(behaviour: Behaviour, client: Client) -> Role {
        Role { behaviour, client, ..cast(1, 0, 1).remove(0) }
    }

    fn gateway(role: &Role, step: &str, reason: Option<&str>) -> Gateway {
        let member = serde_json::json!({"name": role.name, "member": {"step": step, "reason": reason}});
        serde_json::from_value(member).unwrap()
    }

    fn updated(role: &Role, times: u32) -> Device {
        let mut device = Device::new(role);
        for action in 0..times {
            device.install().unwrap();
            device.reboot(&Order {
                action: action.to_string(),
                version: NEW_VERSION.into(),
                sha256: String::new(),
                size: 1,
                href: String::new(),
            });
        }
        device
    }

    fn judged(role: &Role, device: &Device, ended: Gateway) -> Report {
        let mut report = Report::default();
        report.judge(&[(role.clone(), device)], &[ended]);
        report
    }

    #[test]
    fn what_ends_as_it_should_is_not_wrong() {
        let good = role(Behaviour::Good, Client::Generic);
        let report = judged(&good, &updated(&good, 1), gateway(&good, "Updated", None));
        assert!(report.wrong.is_empty(), "{:?}", report.wrong);
        assert_eq!((report.updated, report.double_installs), (1, 0));
        assert!(report.text().ends_with("every gateway ended as its behaviour says it should\n"));
        let silent = role(Behaviour::Silent, Client::Rauc);
        let report = judged(&silent, &Device::new(&silent), gateway(&silent, "Failed", Some("NoFeedback")));
        assert!(report.wrong.is_empty(), "{:?}", report.wrong);
    }

    #[test]
    fn another_end_another_reason_and_a_gateway_unknown_to_the_site_are_wrong() {
        let back = role(Behaviour::BootsBack, Client::Rauc);
        let device = updated(&back, 1);
        for (step, reason) in [("Updated", None), ("Failed", Some("NoFeedback")), ("Waiting", Some("Offline"))] {
            assert_eq!(judged(&back, &device, gateway(&back, step, reason)).wrong.len(), 1);
        }
        assert!(judged(&back, &device, gateway(&back, "Failed", Some("WrongVersion"))).wrong.is_empty());
        let mut report = Report::default();
        report.judge(&[(back, &device)], &[]);
        assert!(report.text().contains("not known to the site"));
    }

    #[test]
    fn the_device_is_the_oracle_whatever_the_site_says() {
        let good = role(Behaviour::Good, Client::Rauc);
        let twice = judged(&good, &updated(&good, 2), gateway(&good, "Updated", None));
        assert_eq!((twice.double_installs, twice.wrong.len()), (1, 1));
        let never = judged(&good, &updated(&good, 0), gateway(&good, "Updated", None));
        assert_eq!(never.wrong.len(), 2, "neither installed nor running it: {:?}", never.wrong);
    }

    #[test]
    fn the_report_has_the_promised_members() {
        let report = serde_json::to_value(Report::default()).unwrap();
        for member in [
            "gateways",
            "updated",
            "failed",
            "skipped",
            "wallSeconds",
            "artifactBytes",
            "servedBytes",
            "doubleInstalls",
            "restarts",
            "polls",
            "wrong",
            "seed",
        ] {
            assert!(report.get(member).is_some(), "{member}");
        }
        for member in ["peakRssKiB", "rssAnonKiB", "cpuSeconds"] {
            assert!(report["server"].get(member).is_some(), "{member}");
        }
    }
}
