//! One gateway at work: polls, follows links, downloads, installs, reboots, reports; and tries again when the line breaks.

#[cfg(test)]
mod fake_site;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::sleep;

use super::cast::{Behaviour, Client, Role};
use super::ddi::{self, Order, Root, Word};
use super::device::{Answer, Device};
use super::line::{Line, Trouble};
use super::trust::Trust;

/// Where the site is and what it should serve.
#[derive(Debug, Clone)]
pub struct Target {
    /// The device server.
    pub site: SocketAddr,
    /// What the artifact's sha256 is, in hex.
    pub sha256: String,
    /// Whom to trust; none: plain HTTP.
    pub trust: Option<Trust>,
}

/// What all players did together.
#[derive(Debug, Default)]
pub struct Tally {
    /// Answered polls.
    pub polls: Cell<u64>,
    /// Artifact bytes that arrived.
    pub bytes: Cell<u64>,
    /// What was wrong with the site's answers, gateway by gateway; bounded.
    pub oddities: RefCell<Vec<(String, String)>>,
}

impl Tally {
    /// More than a person reads is not kept.
    const MOST: usize = 50;

    fn note(&self, gateway: &str, what: String) {
        let mut oddities = self.oddities.borrow_mut();
        if oddities.len() < Self::MOST {
            oddities.push((gateway.into(), what));
        }
    }
}

/// A gateway that is played.
pub struct Player {
    role: Role,
    target: Target,
    device: Rc<RefCell<Device>>,
    tally: Rc<Tally>,
    line: Line,
    rng: Rng,
    dropped: bool,
}

/// When to poll again.
enum Next {
    After(Duration),
    AtOnce,
    Never,
}

impl Player {
    /// A gateway that plays `role`; `device` stays with the judge.
    pub fn new(role: Role, target: Target, device: Rc<RefCell<Device>>, tally: Rc<Tally>) -> Self {
        let (line, rng) = (Line::new(&role, target.site, target.trust.clone()), Rng::with_seed(role.seed));
        Self { role, target, device, tally, line, rng, dropped: false }
    }

    /// Plays until it falls silent, or for ever.
    pub async fn play(mut self) {
        self.pause(0..1000).await;
        loop {
            match self.visit().await {
                Ok(Next::Never) => return self.line.hang_up(),
                Ok(Next::AtOnce) => {}
                Ok(Next::After(interval)) => {
                    self.line.hang_up();
                    sleep(interval.mul_f64(0.9 + 0.1 * self.rng.f64())).await;
                }
                Err(trouble) => self.recover(trouble).await,
            }
        }
    }

    /// After a broken line or a busy site: soon again. After nonsense: note it.
    async fn recover(&mut self, trouble: Trouble) {
        self.line.hang_up();
        if let Trouble::Odd(what) = trouble {
            self.tally.note(&self.role.name, what);
            self.pause(1000..2000).await;
        } else {
            self.pause(100..500).await;
        }
    }

    /// One poll and what follows from it.
    async fn visit(&mut self) -> Result<Next, Trouble> {
        let root: Root = self.line.root().await?;
        self.tally.polls.set(self.tally.polls.get() + 1);
        let interval = root.sleep().ok_or_else(|| Trouble::Odd("polling.sleep is not HH:mm:ss".into()))?;
        self.report_version(&root).await?;
        self.report_end(&root).await?;
        let Some(href) = root.order() else { return Ok(Next::After(interval)) };
        let Some(order) = self.line.order(href).await? else { return Ok(Next::After(interval)) };
        let answer = self.device.borrow().consider(&order);
        match answer {
            Answer::FallSilent => Ok(Next::Never),
            Answer::Ignore => Ok(Next::After(interval)),
            Answer::Work => {
                let rebooted = self.work(&order).await?;
                Ok(if rebooted { Next::AtOnce } else { Next::After(interval) })
            }
        }
    }

    async fn report_version(&mut self, root: &Root) -> Result<(), Trouble> {
        let (due, running) = {
            let device = self.device.borrow();
            (device.reports_version(root.attributes().is_some()), device.running().to_owned())
        };
        if due {
            self.line.put_attributes(root.attributes(), &ddi::attributes(self.role.client, &running)).await?;
            self.device.borrow_mut().version_reported();
        }
        Ok(())
    }

    async fn report_end(&mut self, root: &Root) -> Result<(), Trouble> {
        let due = self.device.borrow().report_due(root.order().is_some());
        if let Some((action, word)) = due {
            self.line.feedback(&action, &word).await?;
            self.device.borrow_mut().reported();
        }
        Ok(())
    }

    /// Works an order off. True once it has rebooted; false if the order went away or ended before that.
    async fn work(&mut self, order: &Order) -> Result<bool, Trouble> {
        if self.role.client == Client::SwUpdate {
            self.say(order, &Word::Proceeding("Installing Update Chunk Artifacts.")).await;
            if let Some(size) = self.line.artifact_size(order).await?
                && size != order.size
            {
                return Err(Trouble::Odd(format!("HEAD says {size} bytes, the order {}", order.size)));
            }
        }
        if !self.download(order).await? {
            return Ok(false);
        }
        let checksum = self.device.borrow_mut().checksum();
        if checksum != order.sha256 || checksum != self.target.sha256 {
            self.tally.note(&self.role.name, format!("the artifact arrived with sha256 {checksum}"));
            self.insist(order, &Word::Failure("checksum mismatch")).await;
            return Ok(false);
        }
        self.say(order, &Word::Proceeding("File checksum OK.")).await;
        Ok(self.install(order).await)
    }

    async fn install(&mut self, order: &Order) -> bool {
        self.line.hang_up();
        let slow = self.role.behaviour == Behaviour::Slow;
        self.pause(if slow { 1500..2500 } else { 200..800 }).await;
        let installed = self.device.borrow_mut().install();
        if let Err(word) = installed {
            self.insist(order, &word).await;
            return false;
        }
        let word = self.device.borrow().word_before_reboot();
        // the real rauc-hawkbit-updater does not repeat its last word after a broken line: the version must tell.
        // Where the version is to be the old one, its word is what the expected end depends on
        if self.role.client == Client::Rauc && self.role.behaviour != Behaviour::BootsBack {
            self.say(order, &word).await;
        } else {
            self.insist(order, &word).await;
        }
        self.line.hang_up();
        self.pause(if slow { 1000..1500 } else { 300..1000 }).await;
        self.device.borrow_mut().reboot(order);
        true
    }

    /// Gets the artifact, over as many connections as it takes. False if the site no longer has it for this gateway.
    async fn download(&mut self, order: &Order) -> Result<bool, Trouble> {
        loop {
            match self.receive(order).await {
                Ok(there) => return Ok(there),
                Err(Trouble::Odd(what)) => {
                    self.device.borrow_mut().discard();
                    return Err(Trouble::Odd(what));
                }
                Err(Trouble::Cut | Trouble::Busy) => {
                    self.line.hang_up();
                    self.pause(300..700).await;
                }
            }
        }
    }

    /// One artifact request, from where the last one ended.
    async fn receive(&mut self, order: &Order) -> Result<bool, Trouble> {
        let from = self.device.borrow_mut().file(order).received;
        if from == order.size {
            return Ok(true);
        }
        let Some(mut body) = self.line.artifact(order, from).await? else { return Ok(false) };
        let slow = self.role.behaviour == Behaviour::Slow;
        let mut received = from;
        while let Some(bytes) = body.chunk().await? {
            received += bytes.len() as u64;
            self.tally.bytes.set(self.tally.bytes.get() + bytes.len() as u64);
            self.device.borrow_mut().file(order).add(&bytes);
            if slow {
                self.thin_line(order, bytes.len(), received).await?;
            }
        }
        match received {
            all if all == order.size => Ok(true),
            more if more > order.size => Err(Trouble::Odd(format!("{more} bytes arrived instead of {}", order.size))),
            _ => Err(Trouble::Cut),
        }
    }

    /// Takes about three seconds for the whole artifact, and drops once half-way.
    async fn thin_line(&mut self, order: &Order, bytes: usize, received: u64) -> Result<(), Trouble> {
        #[expect(clippy::cast_precision_loss, reason = "a share of three seconds")]
        let share = bytes as f64 / order.size as f64;
        sleep(Duration::from_secs(3).mul_f64(share.min(1.0))).await;
        if !self.dropped && received >= order.size / 2 && received < order.size {
            self.dropped = true;
            return Err(Trouble::Cut);
        }
        Ok(())
    }

    /// Says it once; whether it arrives is not important.
    async fn say(&mut self, order: &Order, word: &Word) {
        if let Err(trouble) = self.line.feedback(&order.action, word).await {
            self.line.hang_up();
            if let Trouble::Odd(what) = trouble {
                self.tally.note(&self.role.name, what);
            }
        }
    }

    /// Says it until it was heard.
    async fn insist(&mut self, order: &Order, word: &Word) {
        while let Err(trouble) = self.line.feedback(&order.action, word).await {
            self.recover(trouble).await;
        }
    }

    async fn pause(&mut self, ms: std::ops::Range<u64>) {
        sleep(Duration::from_millis(self.rng.u64(ms))).await;
    }
}
