//! What a person sees of waves: names, approvals, and edits that come too late.

use super::device::Device;
use super::eventually;
use super::site::{Site, firmware, rollout};

#[test]
fn a_manual_wave_says_what_it_waits_for_and_opens_when_that_stands_in_the_manifest() {
    let firmware = firmware(90, 10_000);
    let site = Site::new();
    site.declare(&["press-1", "press-2"], &firmware);
    let waves = |waves: &str, more: &str| {
        let typed = rollout("2.0.0", &firmware, more);
        let (before, after) = typed.split_once("waves: [").unwrap();
        let (_, after) = after.split_once(']').unwrap();
        format!("{before}waves: [{waves}]{after}")
    };
    let two = "{name: first, size: 1, soak: 1s}, {name: others, approval: Manual, soak: 1s}";
    site.put("press-fw.yaml", waves(two, ""));
    site.start();
    let devices = ["press-1", "press-2"].map(|name| Device::new(&site, name));
    for device in &devices {
        device.report("1.0.0");
    }
    let first = eventually("an order", || devices.iter().find(|device| device.poll().is_some()));
    first.update("2.0.0");
    site.until_reason("WaitingForApproval");
    let status = site.cli(&["status"]).good();
    for words in ["`lamplighter approve press-fw`", "first       1/1  proven", "needs approval"] {
        assert!(status.contains(words), "{status}");
    }

    site.put("press-fw.yaml", waves(&two.replace("size: 1", "size: 2"), "  approvedWaves: [\"others@2.0.0\"]\n"));
    site.until_reason("WaveOpen");
    let ignored = "wave first has opened, too late for another size";
    let status = site.cli(&["status"]).good();
    assert!(status.contains(&format!("press-fw: change ignored: {ignored}")), "{status}");
    assert!(site.cli(&["why", "press-1"]).good().contains(ignored));
    let other = devices.iter().find(|device| device.poll().is_some()).unwrap();
    other.update("2.0.0");
    site.until_reason("Done");
}

#[test]
fn check_says_what_is_wrong_with_waves() {
    let site = Site::new();
    let firmware = firmware(91, 1_000);
    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  approvedWaves: [\"third@2.0.0\"]\n"));
    let manifest = site.path("manifests/press-fw.yaml").display().to_string();
    let output = super::site::binary().args(["check", &manifest]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("spec.approvedWaves[0]: names a wave \"third\" that there is not"), "{text}");
}
