//! What a simulated gateway keeps over its own reboots, and what it decides from that. The device is the oracle: it
//! counts how often it wrote the firmware, whatever the site believes.

use sha2::{Digest as _, Sha256};

use super::cast::{Behaviour, Client, Role};
use super::ddi::{Order, Word};
use super::firmware::{NEW_VERSION, OLD_VERSION};

/// A gateway's memory.
#[derive(Debug)]
pub struct Device {
    behaviour: Behaviour,
    client: Client,
    running: String,
    file: Option<Partial>,
    last_action: Option<String>,
    /// What it must still say about an order since its reboot.
    due: Option<(String, Word)>,
    attributes_due: bool,
    /// How often it wrote the new firmware.
    pub installs: u32,
}

/// A download, whole or not.
#[derive(Debug)]
pub struct Partial {
    sha256: String,
    hash: Sha256,
    /// So many bytes are here.
    pub received: u64,
}

impl Partial {
    fn new(sha256: &str) -> Self {
        Self { sha256: sha256.into(), hash: Sha256::new(), received: 0 }
    }

    /// More bytes, in order.
    pub fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.received += bytes.len() as u64;
    }
}

/// What to do with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Download and install it.
    Work,
    /// It is the one that was worked off last.
    Ignore,
    /// Never speak again.
    FallSilent,
}

impl Device {
    /// A gateway on the old version that never heard of the site.
    pub fn new(role: &Role) -> Self {
        Self {
            behaviour: role.behaviour,
            client: role.client,
            running: OLD_VERSION.into(),
            file: None,
            last_action: None,
            due: None,
            attributes_due: false,
            installs: 0,
        }
    }

    /// The version it runs.
    pub fn running(&self) -> &str {
        &self.running
    }

    /// Should it report its version at this poll? `asked`: the site wants it.
    pub fn reports_version(&self, asked: bool) -> bool {
        self.client != Client::SwUpdate && (asked || self.attributes_due)
    }

    /// The version was reported.
    pub fn version_reported(&mut self) {
        self.attributes_due = false;
    }

    /// What it says after its reboot. SWUpdate says it only while the order is still `offered`.
    pub fn report_due(&self, offered: bool) -> Option<(String, Word)> {
        let may = offered || self.client != Client::SwUpdate;
        self.due.clone().filter(|_| may)
    }

    /// The report arrived.
    pub fn reported(&mut self) {
        self.due = None;
    }

    /// What to do with an order that was just fetched.
    pub fn consider(&self, order: &Order) -> Answer {
        match self.behaviour {
            Behaviour::Silent => Answer::FallSilent,
            // rauc-hawkbit-updater has no such memory and installs whatever is offered
            _ if self.client != Client::Rauc && self.last_action.as_ref() == Some(&order.action) => Answer::Ignore,
            _ => Answer::Work,
        }
    }

    /// The download for an order, resumed if it is the same file.
    pub fn file(&mut self, order: &Order) -> &mut Partial {
        let same = self.file.take().filter(|file| file.sha256 == order.sha256);
        self.file.insert(same.unwrap_or_else(|| Partial::new(&order.sha256)))
    }

    /// Throws the download away.
    pub fn discard(&mut self) {
        self.file = None;
    }

    /// The sha256 of the complete download, in hex; the file is used up.
    pub fn checksum(&mut self) -> String {
        let hash = self.file.take().map(|file| file.hash.finalize()).unwrap_or_default();
        crate::model::Digest::new(hash.into()).hex()
    }

    /// Writes the firmware, unless that fails; then it says why.
    pub fn install(&mut self) -> Result<(), Word> {
        if self.behaviour == Behaviour::Failing {
            return Err(Word::Failure("cannot write to /dev/mmcblk0p2: I/O error"));
        }
        self.installs += 1;
        Ok(())
    }

    /// What it says after the installation and before its reboot.
    pub fn word_before_reboot(&self) -> Word {
        match self.client {
            Client::SwUpdate => Word::Proceeding("All Chunks Installed."),
            Client::Rauc => Word::Success("Software bundle installed successfully."),
            Client::Generic => Word::Proceeding("reboot"),
        }
    }

    /// Comes up again: on the new version, or not.
    pub fn reboot(&mut self, order: &Order) {
        let up = self.behaviour != Behaviour::BootsBack;
        if up {
            self.running.clone_from(&order.version);
        }
        self.last_action = Some(order.action.clone());
        self.attributes_due = self.client == Client::Generic;
        let word = match self.client {
            Client::SwUpdate if up => Word::Success("Update Installed."),
            Client::SwUpdate => Word::Failure("the boot loader fell back to the old system"),
            Client::Generic => Word::Success("installed"),
            Client::Rauc => return,
        };
        self.due = Some((order.action.clone(), word));
    }

    /// Is what it runs at the end what its behaviour leads to?
    pub fn runs_what_it_should(&self) -> bool {
        let new = matches!(self.behaviour, Behaviour::Good | Behaviour::Slow);
        self.running == if new { NEW_VERSION } else { OLD_VERSION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(behaviour: Behaviour, client: Client) -> Device {
        let role = super::super::cast::cast(1, 0, 1).remove(0);
        Device::new(&Role { behaviour, client, ..role })
    }

    fn order(action: &str, sha256: &str) -> Order {
        Order {
            action: action.into(),
            version: NEW_VERSION.into(),
            sha256: sha256.into(),
            size: 4,
            href: String::new(),
        }
    }

    #[test]
    fn a_cut_download_goes_on_where_it_was_and_another_file_starts_over() {
        let mut device = device(Behaviour::Good, Client::Generic);
        device.file(&order("11", "a")).add(b"ab");
        assert_eq!(device.file(&order("12", "a")).received, 2);
        device.file(&order("12", "a")).add(b"cd");
        assert_eq!(device.checksum(), crate::model::Digest::new(Sha256::digest(b"abcd").into()).hex());
        device.file(&order("13", "a")).add(b"ab");
        assert_eq!(device.file(&order("13", "b")).received, 0);
    }

    #[test]
    fn swupdate_reports_after_its_reboot_only_while_the_order_is_offered() {
        let mut device = device(Behaviour::Good, Client::SwUpdate);
        device.install().unwrap();
        device.reboot(&order("11", "a"));
        assert_eq!(device.report_due(false), None);
        assert_eq!(device.report_due(true), Some(("11".into(), Word::Success("Update Installed."))));
        assert!(!device.reports_version(true));
        device.reported();
        assert_eq!(device.report_due(true), None);
        assert_eq!(device.consider(&order("11", "a")), Answer::Ignore);
        assert_eq!(device.consider(&order("12", "a")), Answer::Work);
    }

    #[test]
    fn a_generic_client_reports_its_version_unasked_and_then_the_end() {
        let mut device = device(Behaviour::BootsBack, Client::Generic);
        assert!(!device.reports_version(false) && device.reports_version(true));
        device.install().unwrap();
        device.reboot(&order("11", "a"));
        assert!(device.reports_version(false));
        assert_eq!((device.running(), device.installs), (OLD_VERSION, 1));
        assert!(device.runs_what_it_should());
        assert!(device.report_due(false).is_some());
    }

    #[test]
    fn a_rauc_client_installs_whatever_is_offered_as_the_real_one_does() {
        let mut device = device(Behaviour::Good, Client::Rauc);
        for _ in 0..2 {
            assert_eq!(device.consider(&order("11", "a")), Answer::Work);
            device.install().unwrap();
            device.reboot(&order("11", "a"));
        }
        assert_eq!((device.installs, device.report_due(true)), (2, None));
    }

    #[test]
    fn a_failing_gateway_never_installs_and_a_silent_one_never_answers() {
        let mut failing = device(Behaviour::Failing, Client::Rauc);
        assert!(matches!(failing.install(), Err(Word::Failure(_))));
        assert_eq!((failing.installs, failing.runs_what_it_should()), (0, true));
        assert_eq!(device(Behaviour::Silent, Client::Rauc).consider(&order("11", "a")), Answer::FallSilent);
    }
}
