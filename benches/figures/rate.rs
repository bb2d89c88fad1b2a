//! `devices.downloads.bytesPerSecond`: what 16 devices that take all they get really get.

use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::gateway::{Take, Wire, firmware, rollout, taken};
use crate::site::Site;
use crate::table::{Table, told};
use crate::threads::{in_one_thread, together};

const DEVICES: usize = 16;
const RATE: f64 = 4.0 * 1024.0 * 1024.0;
const WATCHED: Duration = Duration::from_secs(10);

pub fn measure(table: &mut Table, binary: &Path) {
    let bytes = firmware(3, 64 << 20);
    let manifest = rollout("2", &bytes);
    let files: [(&str, &[u8]); 2] = [("rollout.yaml", manifest.as_bytes()), ("fw.bin", &bytes)];
    let site = Site::with(binary, DEVICES, "downloads: {bytesPerSecond: 4Mi},", &files);
    let address = site.devices;
    in_one_thread(async {
        let downloads = tokio::task::spawn_local(together(DEVICES, move |number| async move {
            let mut wire = Wire::to(address).await.unwrap();
            let (_, path) = taken(&mut wire, number).await;
            _ = wire.ask(&format!("GET {path}"), Some(number), "", Take::Discard).await;
        }));
        while site.counter("servedBytes") < RATE {
            sleep(Duration::from_millis(50)).await;
        }
        let (before, start) = (site.counter("servedBytes"), Instant::now());
        sleep(WATCHED).await;
        let rate = (site.counter("servedBytes") - before) / start.elapsed().as_secs_f64();
        downloads.abort();
        told("16 devices at bytesPerSecond: 4Mi: counted", rate / 1024.0, "KiB/s", "4096");
        table.bounded("the same: off by", (rate / RATE - 1.0).abs() * 100.0, "%", 5.0);
    });
}
