//! A cached artifact that rots while its gateways want it, and whose source is away.

use std::fs;
use std::net::TcpStream;
use std::thread;

use super::device::Device;
use super::eventually;
use super::site::{Site, TOKEN, digest, firmware, gateway, rollout};
use super::wire::{ALL, PATIENCE, Request, exchange};

#[test]
fn a_damaged_artifact_holds_up_its_own_gateways_only_and_costs_them_no_attempt() {
    let (bytes, other) = (firmware(30, 300_000), firmware(31, 300_000));
    let site = Site::new();
    site.declare(&["press-1"], &bytes);
    let elsewhere = |manifest: String| {
        manifest
            .replace("line: \"3\"", "line: \"4\"")
            .replace("press-fw", "cell-fw")
            .replace("name: fw\n", "name: cell\n")
    };
    site.put("cell.bin", &other);
    site.put("cell-fw.yaml", elsewhere(rollout("2.0.0", &other, "").replace("fw.bin", "cell.bin")));
    site.put("cell-1.yaml", elsewhere(gateway("cell-1", "")));
    site.start();
    let (press, cell) = (Device::new(&site, "press-1"), Device::new(&site, "cell-1"));
    press.report("1.0.0");
    cell.report("1.0.0");
    let (order, its) = (press.fetch(), cell.fetch());

    site.remove("fw.bin");
    let cached = site.state().join("artifacts/sha256").join(digest(&bytes));
    let mut rotten = bytes.clone();
    rotten[200_000] ^= 1;
    fs::write(&cached, &rotten).unwrap();
    let (address, target) = (site.address(), order.artifact.clone());
    let waiting = thread::spawn(move || {
        let target = target.strip_prefix(&format!("http://{address}")).unwrap().to_owned();
        let (host, token) = (address.to_string(), format!("TargetToken {TOKEN}"));
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(PATIENCE.map(|patience| patience * 2)).unwrap();
        exchange(stream, &Request("GET", &target, &[("Host", &host), ("Authorization", &token)], b""), ALL).unwrap()
    });
    eventually("it is set aside", || cached.with_extension("damaged-1").exists().then_some(()));
    assert!(fs::read(cached.with_extension("damaged-1")).unwrap() == rotten, "its bytes are kept");
    assert!(cell.download(&its, ALL) == other, "the other one is served meanwhile");
    assert_eq!(press.poll().as_ref(), Some(&order.href), "its order stays");
    let held = waiting.join().unwrap();
    assert_eq!((held.status, held.headers.contains_key("retry-after")), (429, true));
    let said = site.cli(&["artifacts"]).good();
    assert!(said.contains("fw.bin does not exist") && said.contains("you to look at, and to remove"), "{said}");
    assert!(site.cli(&["journal", "--what", "ArtifactFailed"]).good().contains("is damaged and was set aside as"));

    site.put("fw.bin", &bytes);
    eventually("it is there again", || cached.exists().then_some(()));
    assert!(press.download(&order, ALL) == bytes);
    assert_eq!(press.feedback(&order, "closed", "success"), 200);
    press.report("2.0.0");
    site.until_step("press-1", "Updated");
    let why = site.ask("/v1/why/press-1");
    assert_eq!((&why["rollouts"][0]["attempts"][0], site.journalled("press-1", "AttemptFailed")), (&0.into(), 0));
}
