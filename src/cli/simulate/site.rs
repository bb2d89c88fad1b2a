//! The site as a child process: started, killed, restarted, watched, and never left behind.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use super::files::Directory;
use super::usage::{self, Usage};

/// A site that has not bound its addresses by then never will.
const START: Duration = Duration::from_secs(30);
/// A site that was asked to stop and has not by then is killed.
const STOP: Duration = Duration::from_secs(10);
/// How much of the log is shown when the site ended by itself.
const TAIL: u64 = 4 * 1024;

/// The running site.
#[derive(Debug)]
pub struct Site {
    binary: PathBuf,
    config: PathBuf,
    endpoints: PathBuf,
    log: PathBuf,
    child: Child,
    /// Where gateways reach it.
    pub devices: SocketAddr,
    /// Where people reach it.
    pub control: PathBuf,
    /// How often it was started again.
    pub restarts: u32,
    usage: Usage,
    now: Usage,
}

#[derive(Deserialize)]
struct Endpoints {
    pid: u32,
    devices: String,
    control: PathBuf,
}

impl Site {
    /// Starts `binary` on the site file and waits until it serves. From then on its port stays the same.
    pub async fn start(binary: PathBuf, dir: &Directory) -> anyhow::Result<Self> {
        let (site_file, log) = (dir.site_file(), dir.log());
        let mut site = Self {
            child: spawn(&binary, &site_file, &log)?,
            endpoints: dir.state().join("endpoints.json"),
            devices: SocketAddr::from(([127, 0, 0, 1], 0)),
            control: PathBuf::new(),
            restarts: 0,
            usage: Usage::default(),
            now: Usage::default(),
            binary,
            config: site_file,
            log,
        };
        site.wait_until_it_serves().await?;
        dir.write_site_file(Some(site.devices))?;
        Ok(site)
    }

    /// Kills it with SIGKILL, as a power cut would, and starts it again at once.
    pub async fn kill_and_restart(&mut self) -> anyhow::Result<()> {
        self.sample();
        self.child.kill().await.context("cannot kill the site")?;
        self.usage.end_of(self.now);
        self.now = Usage::default();
        self.child = spawn(&self.binary, &self.config, &self.log)?;
        self.restarts += 1;
        let before = self.devices;
        self.wait_until_it_serves().await?;
        if self.devices != before {
            bail!("the site came back on {} instead of {before}", self.devices);
        }
        Ok(())
    }

    /// Waits until the site ends by itself, which it must not.
    pub async fn ended(&mut self) -> anyhow::Error {
        match self.child.wait().await {
            Ok(status) => self.epitaph(status),
            Err(error) => anyhow!(error).context("cannot watch the site"),
        }
    }

    /// Stops it gracefully and tells what it used, all its lives together.
    pub async fn stop(mut self) -> anyhow::Result<Usage> {
        self.sample();
        self.usage.end_of(self.now);
        if let Some(pid) = self.child.id().and_then(|pid| rustix::process::Pid::from_raw(pid.cast_signed())) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        match timeout(STOP, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(self.usage),
            Ok(Ok(status)) => Err(self.epitaph(status).context("the site did not stop cleanly")),
            Ok(Err(error)) => Err(error).context("cannot watch the site"),
            Err(_) => {
                let _ = self.child.kill().await;
                Err(anyhow!("the site did not stop within {STOP:?} of SIGTERM and was killed"))
            }
        }
    }

    /// Looks at what it uses.
    pub fn sample(&mut self) {
        if let Some(pid) = self.child.id() {
            self.now.at_least(usage::of(pid));
        }
    }

    async fn wait_until_it_serves(&mut self) -> anyhow::Result<()> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(endpoints) = self.read_endpoints() {
                let address = endpoints.devices.rsplit('/').next().unwrap_or_default();
                self.devices = address.parse().with_context(|| {
                    format!("{} names the device address {:?}", self.endpoints.display(), endpoints.devices)
                })?;
                self.control = endpoints.control;
                return Ok(());
            }
            if let Some(status) = self.child.try_wait().context("cannot watch the site")? {
                return Err(self.epitaph(status));
            }
            if Instant::now() > deadline {
                bail!("the site wrote no {} within {START:?}{}", self.endpoints.display(), self.last_lines());
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// The endpoints, once they are those of the present process.
    fn read_endpoints(&self) -> Option<Endpoints> {
        let bytes = std::fs::read(&self.endpoints).ok()?;
        let endpoints: Endpoints = serde_json::from_slice(&bytes).ok()?;
        (Some(endpoints.pid) == self.child.id()).then_some(endpoints)
    }

    fn epitaph(&self, status: ExitStatus) -> anyhow::Error {
        anyhow!("the site ended by itself with {status}{}", self.last_lines())
    }

    fn last_lines(&self) -> String {
        match tail(&self.log) {
            Some(lines) if !lines.trim().is_empty() => format!("; the end of its log:\n{}", lines.trim_end()),
            _ => "; its log is empty".into(),
        }
    }
}

fn spawn(binary: &Path, site_file: &Path, log: &Path) -> anyhow::Result<Child> {
    let open = || File::options().create(true).append(true).open(log);
    let (out, err) =
        open().and_then(|out| Ok((out, open()?))).with_context(|| format!("cannot write {}", log.display()))?;
    Command::new(binary)
        .arg("run")
        .arg("--config")
        .arg(site_file)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        // its own process group: Ctrl-C in the terminal is ours to handle
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))
}

fn tail(log: &Path) -> Option<String> {
    let mut file = File::open(log).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_site_that_ends_at_once_is_an_error_with_the_end_of_its_log() {
        let dir = Directory::create(false).unwrap();
        dir.fill(&[], 10, 1).unwrap();
        std::fs::write(dir.log(), "port in use\n").unwrap();
        let error = Site::start("/bin/false".into(), &dir).await.unwrap_err().to_string();
        assert!(error.contains("exit status: 1") && error.contains("port in use"), "{error}");
    }

    #[tokio::test]
    async fn a_binary_that_is_not_there_is_an_error_that_names_it() {
        let dir = Directory::create(false).unwrap();
        dir.fill(&[], 10, 1).unwrap();
        let error = Site::start("/no/such/binary".into(), &dir).await.unwrap_err().to_string();
        assert!(error.contains("/no/such/binary"), "{error}");
    }
}
