//! SWUpdate as tests/real plays it, for tests without a runtime of their own.

#[path = "../real/gateway.rs"]
#[expect(dead_code, reason = "shared with the tests of SWUpdate")]
mod gateway;

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

pub use gateway::{Gateway, ID};

/// Asks again and again until there is an answer.
async fn until<T>(mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until it has installed something, and reboots it.
pub fn rebooted(gateway: &mut Gateway) {
    let runtime = Builder::new_current_thread().enable_time().build().unwrap();
    let installed =
        runtime.block_on(async { timeout(Duration::from_secs(150), gateway.reboot_after_installing()).await });
    assert!(installed.is_ok(), "it never installed: {}", gateway.log());
}
