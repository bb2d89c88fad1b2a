//! Gateways behind slow links that all want to download at once: what that costs in memory.

use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::gateway::{Take, Wire, fetch, firmware, order, rollout};
use crate::site::Site;
use crate::table::told;
use crate::threads::{in_one_thread, together};

/// Larger than what a gateway takes in the time, and than the kernel's buffers.
const SIZE: usize = 16 << 20;
/// 160 kbit/s.
const RATE: usize = 20_000;
const WATCHED: Duration = Duration::from_secs(12);

pub fn measure(binary: &Path) {
    let bytes = firmware(2, SIZE);
    for gateways in [50, 200, 500] {
        let manifest = rollout("2", &bytes);
        let site = Site::with(binary, gateways, "", &[("rollout.yaml", manifest.as_bytes()), ("fw.bin", &bytes)]);
        let (process, address) = (site.process(), site.devices);
        in_one_thread(async {
            // verified, and told to all
            sleep(Duration::from_secs(3)).await;
            let before = (process.kib("VmRSS"), process.kib("RssAnon"));
            let end = Instant::now() + WATCHED;
            let wanting = tokio::task::spawn_local(together(gateways, move |number| want(address, number, end)));
            let (mut resident, mut anonymous) = before;
            while Instant::now() < end {
                resident = resident.max(process.kib("VmRSS"));
                anonymous = anonymous.max(process.kib("RssAnon"));
                sleep(Duration::from_millis(250)).await;
            }
            let downloading = wanting.await.unwrap().into_iter().filter(|began| *began).count();
            told(&format!("{gateways} gateways want to download: how many do"), downloading as f64, "", "");
            told(&format!("{gateways} gateways want to download: extra RSS"), resident - before.0, "KiB", "");
            told(&format!("{gateways} gateways want to download: extra RssAnon"), anonymous - before.1, "KiB", "");
        });
    }
}

/// Polls each second over a connection of its own, and downloads slowly once it may. Did it begin to?
async fn want(address: std::net::SocketAddr, number: usize, end: Instant) -> bool {
    while Instant::now() < end {
        let patience = tokio::time::timeout_at(end, async {
            let mut wire = Wire::to(address).await.ok()?;
            let order = order(&mut wire, number).await?;
            fetch(&mut wire, number, &order).await
        });
        if let Ok(Some((_, path))) = patience.await {
            let downloads = async {
                let mut wire = Wire::to(address).await?;
                wire.ask(&format!("GET {path}"), Some(number), "", Take::Slowly(RATE)).await
            };
            _ = tokio::time::timeout_at(end, downloads).await;
            return true;
        }
        _ = tokio::time::timeout_at(end, sleep(Duration::from_secs(1))).await;
    }
    false
}
