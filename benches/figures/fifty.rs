//! Fifty rollouts of a small artifact, one after the other: memory and open files must not grow with them.

use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use crate::gateway::{Take, Wire, fetch, firmware, order, rollout, root};
use crate::site::Site;
use crate::table::{Table, told};
use crate::threads::{in_one_thread, together};

const GATEWAYS: usize = 20;
const SIZE: usize = 256 << 10;
const ROLLOUTS: u64 = 50;
/// After so many all buffers have been used.
const WARM: u64 = 10;

pub fn measure(table: &mut Table, binary: &Path) {
    let site = Site::start(binary, GATEWAYS);
    let (process, address) = (site.process(), site.devices);
    let (mut warm, mut last) = ((0.0, 0), (0.0, 0));
    for number in 1..=ROLLOUTS {
        let bytes = firmware(number, SIZE);
        site.put("fw.bin", &bytes);
        site.put("rollout.yaml", rollout(&number.to_string(), &bytes).as_bytes());
        in_one_thread(async {
            together(GATEWAYS, move |gateway| update(address, gateway)).await;
            sleep(Duration::from_millis(200)).await;
        });
        last = (process.kib("RssAnon"), process.open_files());
        if number == WARM {
            warm = last;
        }
    }
    told("after 10 rollouts of 256 KiB to 20 gateways: RssAnon", warm.0, "KiB", "");
    told("after 50 rollouts: RssAnon", last.0, "KiB", "");
    table.bounded("from the 10th to the 50th: more RssAnon", last.0 - warm.0, "KiB", 1024.0);
    table.bounded("from the 10th to the 50th: more open files", last.1 as f64 - warm.1 as f64, "", 2.0);
}

/// Takes the order, downloads it, and says that it is done.
async fn update(address: std::net::SocketAddr, gateway: usize) {
    loop {
        let mut wire = Wire::to(address).await.unwrap();
        if let Some(path) = order(&mut wire, gateway).await
            && let Some((id, artifact)) = fetch(&mut wire, gateway, &path).await
        {
            let answer = wire.ask(&format!("GET {artifact}"), Some(gateway), "", Take::Discard).await.unwrap();
            assert_eq!((answer.status, answer.bytes), (200, SIZE));
            let done = r#"{"status":{"execution":"closed","result":{"finished":"success"}}}"#;
            // a client whose word counts at once; versions may not be reported as often as this goes
            let says = format!("POST {}/deploymentBase/{id}/feedback\nUser-Agent: SWUpdate/2022.12", root(gateway));
            assert_eq!(wire.ask(&says, Some(gateway), done, Take::Discard).await.unwrap().status, 200);
            return;
        }
        drop(wire);
        sleep(Duration::from_millis(100)).await;
    }
}
