//! A real SWUpdate whose link breaks while it downloads.

use crate::fault::Plan;
use crate::{Lab, ends};

#[tokio::test]
async fn swupdate_resumes_a_download_that_breaks_off_twice_and_gets_each_byte_once() {
    ends(async {
        let lab = Lab::new("2s", Some("1.0.0"), Plan::CutDownloads(2)).await;
        let proxy = lab.proxy.clone();
        lab.update().await;
        let mut came = 0;
        let statuses: Vec<u64> = proxy
            .downloads()
            .into_iter()
            .map(|(from, status, bytes)| {
                assert_eq!(from, came, "it goes on where it broke off. {}", proxy.summary());
                came += bytes;
                status
            })
            .collect();
        assert_eq!(statuses, [200, 206, 206], "{}", proxy.summary());
    })
    .await;
}
