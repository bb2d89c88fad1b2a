//! Who is at the control socket.

use std::fs;

use tokio::net::UnixStream;

/// `alice (uid 1000)`, or what is known of that.
pub(super) async fn name(uid: Option<u32>) -> String {
    let Some(uid) = uid else { return "unknown".into() };
    let users = tokio::task::spawn_blocking(|| fs::read_to_string("/etc/passwd").unwrap_or_default()).await;
    match called(&users.unwrap_or_default(), uid) {
        Some(name) => format!("{name} (uid {uid})"),
        None => format!("uid {uid}"),
    }
}

/// The user of a connection; the kernel says so.
pub(super) fn uid(stream: &UnixStream) -> Option<u32> {
    stream.peer_cred().ok().map(|peer| peer.uid())
}

/// A user's name, by the lines of `/etc/passwd`.
fn called(users: &str, uid: u32) -> Option<&str> {
    let line = |line: &&str| line.split(':').nth(2).is_some_and(|field| field.parse() == Ok(uid));
    let name = users.lines().find(line)?.split(':').next()?;
    let plain = |c: char| c.is_ascii_graphic();
    (!name.is_empty() && name.len() <= 32 && name.chars().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_called_by_the_name_that_the_machine_knows() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n:x:7:7\n\u{1b}[2J:x:8:8\nbad";
        assert_eq!([0, 1000].map(|uid| called(users, uid)), [Some("root"), Some("alice")]);
        assert_eq!([7, 8, 9].map(|uid| called(users, uid)), [None; 3]);
    }
}
