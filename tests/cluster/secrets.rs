//! Tokens of gateways in Secrets that their objects name, read under the Role that we ship.

use base64::Engine;

use crate::hall::{Hall, press};
use crate::site::TOKEN;
use crate::{device::Device, eventually};

/// A gateway whose token is in a Secret.
fn gateway(name: &str, secret: &str) -> String {
    let typed = press(name);
    let at = typed.find("  auth:").unwrap();
    format!("{}  auth: {{tokenSecretRef: {secret}}}\n", &typed[..at])
}

fn secret(name: &str, key: &str, token: &str) -> String {
    let data = base64::engine::general_purpose::STANDARD.encode(token);
    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\ndata: {{{key}: {data}}}\n")
}

#[test]
fn a_gateway_signs_in_with_the_token_of_its_secret_which_is_followed_and_never_kept() {
    let hall = Hall::new();
    hall.cluster.apply(
        &[secret("press-1", "token", "another-token-of-before"), gateway("press-1", "{name: press-1}")].join("---\n"),
    );
    hall.cluster.until("egw/press-1", "Ready", "True NoRollout");
    let device = Device::new(&hall.site, "press-1");
    assert!(!device.may_sign_in());
    // it is rotated: noticed at the end of a pair of watches
    hall.cluster.apply(&secret("press-1", "token", &format!("{TOKEN}\n")));
    eventually("the new token counts", || device.may_sign_in().then_some(()));
    // that it is gone is no word
    hall.cluster.kubectl(&["delete", "secret/press-1"]);
    hall.kill_and_restart();
    assert!(device.may_sign_in());
    hall.until_linked();
    hall.cluster.until("egw/press-1", "Stalled", "True NotAccepted");
    assert!(device.may_sign_in());
    hall.cluster.apply(&secret("press-1", "token", TOKEN));
    hall.cluster.until("egw/press-1", "Stalled", "False NoRollout");
    for file in walk(&hall.state()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        assert!(!bytes.windows(TOKEN.len()).any(|text| text == TOKEN.as_bytes()), "{}", file.display());
    }
    assert!(!hall.log().contains(TOKEN));
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_secret_that_is_missing_or_holds_no_token_is_said_in_the_object_and_hides_no_other() {
    let hall = Hall::new();
    let short = secret("short", "pin", "1234");
    let objects = [
        short.clone(),
        gateway("press-1", "{name: short, key: pin}"),
        gateway("press-2", "{name: none}"),
        press("press-3"),
    ];
    hall.cluster.apply(&objects.join("---\n"));
    hall.device("press-3");
    for (name, says) in [("press-1", "has 4 characters"), ("press-2", "there is no Secret")] {
        hall.cluster.until(&format!("egw/{name}"), "Stalled", "True NotAccepted");
        let object = hall.cluster.get(&format!("egw/{name}")).unwrap();
        let message = object["status"]["conditions"][0]["message"].as_str().unwrap();
        assert!(message.contains(says) && !message.contains("1234"), "{message}");
    }
    hall.cluster.apply(&short.replace("MTIzNA==", &base64::engine::general_purpose::STANDARD.encode(TOKEN)));
    hall.device("press-1");
}
