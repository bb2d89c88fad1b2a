//! Renewing the server certificate, if it comes from an authority whose key lies beside it.

use std::fs;
use std::io::Write;
use std::path::Path;

use rcgen::PublicKeyData;

use super::issue::key_pair;
use super::{Authority, AuthorityError, Facts, LIFE, names};

/// What became of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// It is good for long enough.
    NotDue,
    /// It ends soon, at this time (Unix seconds), and is not ours to renew.
    Ends(u64),
    /// It was replaced, and is good until this time.
    Renewed(u64),
}

/// Renews a certificate file if a third of [`LIFE`] or less is left and `init` made it. Its key stays, so that replacing one
/// file is enough. `now` in Unix seconds; a clock that is wrong makes no certificate that is refused when it is right.
pub fn renew(certificate: &Path, key: &Path, now: u64) -> Result<Renewal, AuthorityError> {
    let unreadable = |_| AuthorityError::Unreadable("cannot be read");
    let old = Facts::read(&fs::read(certificate).map_err(unreadable)?)?;
    let left = old.end.saturating_sub(now);
    if left > LIFE.as_secs() / 3 {
        return Ok(Renewal::NotDue);
    }
    // others renew what is theirs when a third of its life is left, and that may be weeks: only then somebody must look
    let not_ours = if left > old.end.saturating_sub(old.begin) / 5 { Renewal::NotDue } else { Renewal::Ends(old.end) };
    let Some((authority, of)) = authority(certificate, &old)? else { return Ok(not_ours) };
    let key = key_pair(&fs::read_to_string(key).map_err(unreadable)?)?;
    if key.der_bytes() != old.public_key {
        // the pair is being replaced just now
        return Ok(not_ours);
    }
    let renewed = authority.issue(&old.hosts, &key, now)?;
    let new = Facts::read(renewed.as_bytes())?;
    // gateways must find the authority that they trust
    if new.end <= old.end || !new.is_from(&of) {
        return Ok(not_ours);
    }
    replace(certificate, &renewed)?;
    Ok(Renewal::Renewed(new.end))
}

/// The authority beside a certificate, if it is the one that issued it. A link is somebody else's volume.
fn authority(certificate: &Path, of: &Facts) -> Result<Option<(Authority, Facts)>, AuthorityError> {
    let (cert, key) = (certificate.with_file_name(names::AUTHORITY), certificate.with_file_name(names::AUTHORITY_KEY));
    if certificate.is_symlink() || !cert.is_file() || !key.is_file() {
        return Ok(None);
    }
    let facts = Facts::read(&read(&cert)?)?;
    if !of.is_from(&facts) {
        return Ok(None);
    }
    let authority = Authority::read(&facts, &text(&key)?)?;
    Ok(Some((authority, facts)))
}

fn replace(file: &Path, pem: &str) -> Result<(), AuthorityError> {
    let new = file.with_extension("new");
    let write = || -> std::io::Result<()> {
        let mut out = fs::File::create(&new)?;
        out.write_all(pem.as_bytes())?;
        out.sync_all()?;
        fs::rename(&new, file)
    };
    write().map_err(|error| AuthorityError::File(format!("{} cannot be replaced: {error}", file.display())))
}

fn read(file: &Path) -> Result<Vec<u8>, AuthorityError> {
    fs::read(file).map_err(|error| AuthorityError::File(format!("{} cannot be read: {error}", file.display())))
}

fn text(file: &Path) -> Result<String, AuthorityError> {
    Ok(String::from_utf8_lossy(&read(file)?).into_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::KeyPair;
    use super::*;

    const NOW: u64 = 1_800_000_000;
    const DAY: u64 = 86_400;

    /// A directory as `init` leaves it, with a certificate that is good for so many days.
    fn made(days: u64) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let (authority, certificate, key) = Authority::make("hall-7", NOW).unwrap();
        let server = KeyPair::generate().unwrap();
        let hosts = ["updates.hall-7".to_owned(), "10.0.0.7".to_owned(), "fd00::7".to_owned()];
        let issued = authority.issue_for(&hosts, &server, NOW, Duration::from_secs(days * DAY)).unwrap();
        let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        put(names::AUTHORITY, &certificate);
        put(names::AUTHORITY_KEY, &key);
        put(names::CERTIFICATE, &issued);
        put(names::KEY, &server.serialize_pem());
        dir
    }

    fn renewed(dir: &tempfile::TempDir, now: u64) -> Result<Renewal, AuthorityError> {
        renew(&dir.path().join(names::CERTIFICATE), &dir.path().join(names::KEY), now)
    }

    fn facts(dir: &tempfile::TempDir, name: &str) -> Facts {
        Facts::read(&fs::read(dir.path().join(name)).unwrap()).unwrap()
    }

    #[test]
    fn a_certificate_is_renewed_for_the_same_hosts_and_key_once_two_thirds_of_its_life_are_over() {
        let dir = made(365);
        let old = facts(&dir, names::CERTIFICATE);
        let due = NOW + LIFE.as_secs() / 3 * 2 + 1;
        assert_eq!(renewed(&dir, due - 2 * DAY), Ok(Renewal::NotDue));
        assert_eq!(renewed(&dir, due), Ok(Renewal::Renewed(due + LIFE.as_secs())));
        let new = facts(&dir, names::CERTIFICATE);
        assert_eq!((&new.hosts, &new.public_key), (&old.hosts, &old.public_key));
        assert_eq!(new.hosts, ["updates.hall-7", "10.0.0.7", "fd00::7"]);
        assert!(new.is_from(&facts(&dir, names::AUTHORITY)));
        assert_eq!(renewed(&dir, due), Ok(Renewal::NotDue));
    }

    #[test]
    fn one_that_ran_out_while_the_site_was_off_is_renewed_too_and_a_clock_in_the_past_changes_nothing() {
        let dir = made(1);
        assert!(matches!(renewed(&dir, NOW + 400 * DAY), Ok(Renewal::Renewed(_))));
        assert_eq!(renewed(&dir, 0), Ok(Renewal::NotDue));
    }

    #[test]
    fn a_clock_far_in_the_future_makes_no_certificate_that_is_refused_today() {
        let dir = made(365);
        let authority = facts(&dir, names::AUTHORITY);
        let future = NOW + 100 * 365 * DAY;
        assert_eq!(renewed(&dir, future), Ok(Renewal::Renewed(authority.end)));
        let new = facts(&dir, names::CERTIFICATE);
        assert_eq!((new.begin, new.end), (NOW, authority.end));
        assert_eq!(renewed(&dir, future), Ok(Renewal::Ends(authority.end)), "and not again and again");
    }

    #[test]
    fn what_another_authority_issued_or_whose_key_is_kept_elsewhere_is_left_alone() {
        let (ours, other) = (made(1), made(1));
        let end = facts(&ours, names::CERTIFICATE).end;
        for name in [names::AUTHORITY, names::AUTHORITY_KEY] {
            fs::copy(other.path().join(name), ours.path().join(name)).unwrap();
        }
        assert_eq!(renewed(&ours, NOW), Ok(Renewal::NotDue), "whoever made it has most of its life to renew it");
        assert_eq!(renewed(&ours, end), Ok(Renewal::Ends(end)));

        let without = made(1);
        let end = facts(&without, names::CERTIFICATE).end;
        fs::remove_file(without.path().join(names::AUTHORITY_KEY)).unwrap();
        assert_eq!(renewed(&without, end), Ok(Renewal::Ends(end)));

        let mixed = made(1);
        fs::copy(other.path().join(names::AUTHORITY_KEY), mixed.path().join(names::AUTHORITY_KEY)).unwrap();
        assert_eq!(renewed(&mixed, NOW), Err(AuthorityError::Mismatch));
    }
}
