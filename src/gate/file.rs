//! Gates that are files: open while the file is there. `touch` opens one, `rm` closes it; what is in it does not matter.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use crate::model::{Event, GateAllowance, GateAnswer, GateKey, SiteTime};

/// Looking again is cheap, needs no watch, and works on every file system.
pub(super) const EVERY: Duration = Duration::from_secs(2);

/// Looks at all files in one go, on one thread. A file system that hangs keeps that thread and no other, and what was
/// answered before runs out meanwhile.
pub(super) async fn ask(
    keys: Vec<GateKey>,
    allowance: &GateAllowance,
    now: &impl Fn() -> SiteTime,
    say: &impl AsyncFn(Event),
) {
    let (asked, allowance) = (now(), allowance.clone());
    let looking = tokio::task::spawn_blocking(move || {
        let answer = |key: GateKey| (look(&key, &allowance), key);
        keys.into_iter().map(answer).collect::<Vec<_>>()
    });
    // only a runtime that is shutting down drops the task
    for (answer, key) in looking.await.unwrap_or_default() {
        say(Event::Gate(key, answer, asked)).await;
    }
}

fn look(key: &GateKey, allowance: &GateAllowance) -> GateAnswer {
    let GateKey::File(path) = key else { return GateAnswer::Unknown("it is no file".into()) };
    let Some(rule) = allowance.path(path) else {
        return GateAnswer::Unknown("gates.allowPaths of the site file does not allow it".into());
    };
    match is_there(Path::new(path), rule.base()) {
        Ok(()) => GateAnswer::Open,
        Err(answer) => answer,
    }
}

/// Links are followed, as ConfigMap volumes are made of them, but not out of the directory that is allowed.
fn is_there(path: &Path, base: &Path) -> Result<(), GateAnswer> {
    let real = path.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => GateAnswer::Closed("the file was not there".into()),
        _ => GateAnswer::Unknown(error.to_string()),
    })?;
    let unknown = |error: std::io::Error| GateAnswer::Unknown(error.to_string());
    if !real.starts_with(base.canonicalize().map_err(unknown)?) {
        return Err(GateAnswer::Unknown("it led out of the directory that gates.allowPaths allows".into()));
    }
    if real.metadata().map_err(unknown)?.is_file() {
        Ok(())
    } else {
        Err(GateAnswer::Closed("it was no plain file".into()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_gate_is_open_while_its_file_is_there_and_no_link_leads_out() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let permits = real.join("permits");
        fs::create_dir_all(permits.join("sub")).unwrap();
        fs::write(real.join("secret"), "x").unwrap();
        fs::write(permits.join("3"), "").unwrap();
        symlink("3", permits.join("link")).unwrap();
        symlink("../secret", permits.join("out")).unwrap();
        symlink("nothing", permits.join("dangling")).unwrap();
        let allowance =
            GateAllowance { paths: vec![format!("{}/**", permits.display()).parse().unwrap()], hosts: vec![] };
        let look = |name: &str| look(&GateKey::File(permits.join(name).display().to_string()), &allowance);
        assert_eq!((look("3"), look("link")), (GateAnswer::Open, GateAnswer::Open));
        for closed in ["4", "sub", "dangling", "none/3"] {
            assert!(matches!(look(closed), GateAnswer::Closed(_)), "{closed}");
        }
        assert!(matches!(look("out"), GateAnswer::Unknown(_)));
        assert!(matches!(look("3/4"), GateAnswer::Unknown(_)), "a file as a directory");
        let secret = GateKey::File(real.join("secret").display().to_string());
        assert!(matches!(super::look(&secret, &allowance), GateAnswer::Unknown(why) if why.contains("allowPaths")));
    }

    #[test]
    fn a_directory_that_is_reached_by_a_link_is_itself_no_way_out() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("run")).unwrap();
        fs::write(dir.path().join("run/3"), "").unwrap();
        symlink("run", dir.path().join("permits")).unwrap();
        let permits = dir.path().join("permits");
        let allowance =
            GateAllowance { paths: vec![format!("{}/*", permits.display()).parse().unwrap()], hosts: vec![] };
        assert_eq!(look(&GateKey::File(permits.join("3").display().to_string()), &allowance), GateAnswer::Open);
    }
}
