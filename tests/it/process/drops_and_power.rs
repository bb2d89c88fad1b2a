//! The power goes at each step of a drop: what was synced stays, and of all else anything may come back. The store's own
//! images are in `store::crash`.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use super::device::Device;
use super::drops::{drop, put, rows, site, until};
use super::eventually;
use super::site::{Site, digest, firmware};
use super::wire::ALL;

/// What an unsynced copy of these bytes may be after the power came back.
fn unsynced(bytes: &[u8]) -> Vec<Vec<u8>> {
    let half = bytes.len() / 2;
    let kept = |tail: u8| [&bytes[..half], &vec![tail; bytes.len() - half]].concat();
    vec![Vec::new(), bytes[..half].to_vec(), kept(0), kept(0x55)]
}

/// What lies in the cache beside whole artifacts was on its way there.
fn leave_a_copy(site: &Site, bytes: &[u8], copy: &[u8]) {
    let cache = site.state().join("artifacts/sha256");
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join(format!("{}.copy", digest(bytes))), copy).unwrap();
}

#[test]
fn what_a_power_cut_left_of_a_drop_is_never_served_and_the_drop_counts_once_when_it_is_whole() {
    let bytes = firmware(91, 600_000);
    for (at, lost) in unsynced(&bytes).into_iter().enumerate() {
        let site = site();
        fs::create_dir(site.path("drops")).unwrap();
        // it went while the stick was copied, and the copy into the cache had begun
        put(&site, "press.yaml", drop(&bytes));
        put(&site, "fw.bin", &lost);
        leave_a_copy(&site, &bytes, &lost);
        site.start();
        until(&site, "press", "Waiting", "fw.bin");
        let cached = site.state().join("artifacts/sha256").join(digest(&bytes));
        assert!(!cached.exists(), "image {at}");
        assert_eq!((rows(&site, "DropAccepted"), rows(&site, "RolloutAccepted")), (0, 0), "image {at}");

        // the person copies it again, and it goes once more before anything was decided
        put(&site, "fw.bin", &bytes);
        eventually("it is in the cache", || cached.exists().then_some(()));
        site.kill();
        leave_a_copy(&site, &bytes, &lost);
        site.start();
        until(&site, "press", "Accepted", "0 of 1 gateways updated");

        // and after that: the stick is gone, and the results were never synced
        site.kill();
        fs::remove_file(site.path("drops/fw.bin")).unwrap();
        fs::write(site.path("drops/press.status.json"), &lost[..lost.len().min(40)]).unwrap();
        site.start();
        let device = Device::new(&site, "press-1");
        device.report("1.0.0");
        let order = device.fetch();
        assert!(device.download(&order, ALL) == bytes, "image {at}: a wrong byte was served");
        assert_eq!(device.feedback(&order, "closed", "success"), 200);
        device.report("2.0.0");
        site.until_reason("Done");
        eventually("the result is written again", || {
            sleep(Duration::from_millis(100));
            let result = fs::read(site.path("drops/press.status.json")).unwrap();
            let result: Option<serde_json::Value> = serde_json::from_slice(&result).ok();
            result.filter(|result| result["state"] == "Accepted").map(|_| ())
        });
        assert_eq!((rows(&site, "DropAccepted"), rows(&site, "RolloutAccepted")), (1, 1), "image {at}");
    }
}

#[test]
fn a_manifest_that_a_power_cut_emptied_or_cut_short_orders_nothing() {
    let bytes = firmware(92, 50_000);
    let whole = drop(&bytes);
    for lost in [String::new(), whole[..whole.len() / 2].to_owned(), "\0".repeat(whole.len())] {
        let site = site();
        fs::create_dir(site.path("drops")).unwrap();
        put(&site, "fw.bin", &bytes);
        put(&site, "press.yaml", &lost);
        site.start();
        eventually("it is refused", || site.path("drops/rejected/press.yaml").exists().then_some(()));
        assert_eq!((rows(&site, "DropAccepted"), rows(&site, "RolloutAccepted")), (0, 0), "{lost:?}");
        put(&site, "press.yaml", &whole);
        until(&site, "press", "Accepted", "0 of 1 gateways updated");
    }
}
