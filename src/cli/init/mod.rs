//! `lamplighter init`: everything that a new site needs, without overwriting anything.

mod site_file;

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};

use crate::authority::{Authority, AuthorityError, Facts, KeyPair, LIFE, names};
use crate::model::parse_duration;
use crate::resources::is_object_name;

/// The usual place of a site's files.
const DIRECTORY: &str = "/etc/lamplighter";
/// The secret from which tokens are derived.
const SECRET: &str = "site.secret";
/// Certificates and keys, below the site's directory.
const TLS: &str = "tls";

/// Make what a new site needs: authority, certificate, secret and site file
#[derive(Debug, clap::Args)]
pub struct InitArgs {
    /// Put it here; what is there already stays as it is
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    dir: PathBuf,
    /// What people call the site; default: this machine's name
    #[arg(long, value_name = "NAME")]
    site: Option<String>,
    /// A name or address under which gateways reach the site; may be repeated; default: this machine's name, localhost
    /// and 127.0.0.1
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// Leave the site file to whoever writes it, such as a ConfigMap
    #[arg(long)]
    without_site_file: bool,
    /// How long the first server certificate is good for
    #[arg(long, value_name = "DURATION", hide = true, value_parser = lifetime)]
    lifetime: Option<Duration>,
}

fn lifetime(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.0)
}

pub(super) fn run(args: &InitArgs, out: &mut impl io::Write) -> anyhow::Result<ExitCode> {
    let made = match Site::of(args) {
        Ok(site) => site.make(args.lifetime.unwrap_or(LIFE)),
        Err(why) => return Ok(super::bad_input(&why)),
    };
    out.write_all(made?.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// A site that is to be made.
pub(super) struct Site {
    dir: PathBuf,
    name: String,
    hosts: Vec<String>,
    writes_site_file: bool,
}

impl Site {
    fn of(args: &InitArgs) -> Result<Self, String> {
        let machine = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
        let machine = if is_object_name(&machine) { machine } else { "site".into() };
        let name = args.site.clone().unwrap_or_else(|| machine.clone());
        if !is_object_name(&name) {
            return Err(format!(
                "--site: {name:?} should have lower-case letters, digits, '-' and '.', such as hall-7"
            ));
        }
        let hosts = match args.host.as_slice() {
            [] => vec![machine, "localhost".into(), "127.0.0.1".into()],
            given => given.to_vec(),
        };
        if let Some(host) = hosts.iter().find(|host| !is_host(host)) {
            return Err(format!(
                "--host: {host:?} is neither a host name nor an address; write it without port or scheme"
            ));
        }
        let dir = std::path::absolute(&args.dir).map_err(|error| format!("--dir: {error}"))?;
        Ok(Self { dir, name, hosts, writes_site_file: !args.without_site_file })
    }

    /// Makes what is missing; tells what it made and what comes next.
    fn make(&self, life: Duration) -> anyhow::Result<String> {
        let mut report = Report::default();
        fs::create_dir_all(&self.dir).with_context(|| format!("cannot make {}", self.dir.display()))?;
        let tls = self.dir.join(TLS);
        directory(&tls, 0o700)?;
        make_tls(&tls, &self.name, &self.hosts, life, &mut report)?;
        report.note(&self.dir.join(SECRET), put(&self.dir.join(SECRET), 0o600, &(random()? + "\n"))?);
        directory(&self.dir.join("manifests"), 0o755)?;
        let (file, state) = (self.dir.join("site.yaml"), if self.is_usual() { site_file::STATE } else { "state" });
        if self.writes_site_file {
            report.note(&file, put(&file, 0o644, &site_file::text(&self.name, state))?);
        }
        Ok(report.text + &self.what_next(&file, &tls.join(names::AUTHORITY)))
    }

    fn is_usual(&self) -> bool {
        self.dir == Path::new(DIRECTORY)
    }

    fn what_next(&self, file: &Path, authority: &Path) -> String {
        let config = if self.is_usual() || !self.writes_site_file {
            String::new()
        } else {
            format!(" --config {}", file.display())
        };
        let (authority, host) = (authority.display(), self.hosts.first().map_or("localhost", String::as_str));
        format!(
            "\nWhat comes next:\n\
             \x20 1. Give each gateway the authority's certificate, {authority}: it is no secret, and\n\
             \x20    gateways trust the site by it. SWUpdate: cafile in the suricatta section of its configuration;\n\
             \x20    rauc-hawkbit-updater: the system's store of authorities (update-ca-certificates).\n\
             \x20 2. Give each gateway its token as target token: lamplighter token CONTROLLER_ID{config}\n\
             \x20    and the site's address: https://{host}:8443\n\
             \x20 3. Declare the gateways in {}/manifests, then: lamplighter run{config}\n",
            self.dir.display()
        )
    }
}

/// Makes what is missing of an authority and a server certificate for `hosts`. Also for `simulate`.
pub(super) fn make_tls(
    dir: &Path,
    site: &str,
    hosts: &[String],
    life: Duration,
    report: &mut Report,
) -> anyhow::Result<()> {
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    let (authority_file, key_file) = (dir.join(names::AUTHORITY), dir.join(names::AUTHORITY_KEY));
    let (certificate, server_key) = (dir.join(names::CERTIFICATE), dir.join(names::KEY));
    let authority = if there(&authority_file, &key_file)? {
        report.note(&authority_file, false);
        report.note(&key_file, false);
        read_authority(&authority_file, &key_file)?
    } else {
        let (authority, pem, key) = Authority::make(site, now)?;
        // the key first: a certificate without its key would be of no use to anybody
        report.note(&key_file, put(&key_file, 0o600, &key)?);
        report.note(&authority_file, put(&authority_file, 0o644, &pem)?);
        authority
    };
    if there(&certificate, &server_key)? {
        report.note(&certificate, false);
        report.note(&server_key, false);
        return Ok(());
    }
    let key = KeyPair::generate().map_err(AuthorityError::from)?;
    let pem = authority.issue_for(hosts, &key, now, life)?;
    report.note(&server_key, put(&server_key, 0o600, &key.serialize_pem())?);
    report.note(&certificate, put(&certificate, 0o644, &pem)?);
    Ok(())
}

/// Is the pair there? Half of one is not ours to complete.
fn there(certificate: &Path, key: &Path) -> anyhow::Result<bool> {
    match (certificate.exists(), key.exists()) {
        (true, true) => Ok(true),
        (false, false) => Ok(false),
        (true, false) => {
            bail!(
                "{} is there without {}: put the key back, or move the certificate away",
                certificate.display(),
                key.display()
            )
        }
        (false, true) => {
            bail!(
                "{} is there without {}: put the certificate back, or move the key away",
                key.display(),
                certificate.display()
            )
        }
    }
}

fn read_authority(certificate: &Path, key: &Path) -> anyhow::Result<Authority> {
    let read = |file: &Path| fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    let facts =
        Facts::read(read(certificate)?.as_bytes()).map_err(|error| anyhow!("{} {error}", certificate.display()))?;
    Authority::read(&facts, &read(key)?).map_err(|error| anyhow!("{}: {error}", key.display()))
}

/// What was made and what was there.
#[derive(Default)]
pub(super) struct Report {
    text: String,
}

impl Report {
    fn note(&mut self, file: &Path, made: bool) {
        let verb = if made { "made" } else { "kept" };
        let _ = writeln!(self.text, "{verb}  {}", file.display());
    }
}

/// Writes a file unless there is one; true if it did. Never readable by others for a moment.
fn put(file: &Path, mode: u32, text: &str) -> anyhow::Result<bool> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(file);
    let cannot = || format!("cannot make {}", file.display());
    match opened {
        Ok(mut out) => out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).with_context(cannot).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(cannot),
    }
}

fn directory(dir: &Path, mode: u32) -> anyhow::Result<()> {
    match fs::DirBuilder::new().mode(mode).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot make {}", dir.display()))
        }
        _ => Ok(()),
    }
}

fn random() -> anyhow::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("no randomness for the site secret: {error}"))?;
    Ok(crate::model::Digest::new(bytes).hex())
}

/// Could it stand in a certificate? No port, no scheme, no blanks.
fn is_host(host: &str) -> bool {
    let name = |host: &str| {
        let labels = host.strip_prefix("*.").unwrap_or(host).split('.');
        let label = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        host.len() <= 253 && labels.into_iter().all(label)
    };
    host.parse::<std::net::IpAddr>().is_ok() || name(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_and_addresses_and_nothing_else() {
        for good in ["hall-7", "updates.hall-7.example", "10.0.0.7", "fd00::7", "*.hall-7"] {
            assert!(is_host(good), "{good}");
        }
        for bad in ["", "https://hall-7", "hall-7:8443", "a b", "hall..7", "[fd00::7]", "a/b"] {
            assert!(!is_host(bad), "{bad}");
        }
    }

    #[test]
    fn the_site_file_that_is_written_is_one_that_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("site.yaml");
        fs::write(&file, site_file::text("hall-7", "state")).unwrap();
        let config = crate::config::load(&file).unwrap();
        assert_eq!(config.site, "hall-7");
        assert_eq!(config.devices.tokens.site_secret, Some(dir.path().join(SECRET)));
        assert_eq!(config.devices.tls.unwrap().key, dir.path().join(TLS).join(names::KEY));
    }
}
