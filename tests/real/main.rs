//! SWUpdate, the real one, updated by the real binary, also from a USB stick, and the same with Lamplighter killed along the
//! way; artifacts from a real web server and a real registry; and `rauc-hawkbit` as another client.
//!
//! Run by `make test-real`, which installs them first.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]
#![allow(clippy::format_collect, reason = "tests are read, not timed")]

mod cancel;
mod fault;
mod fetch;
mod gateway;
mod proxy;
mod rauc;
mod resumed;
mod site;
mod slow;
mod stale;
mod stick;
mod tls;
#[path = "../support/transcript.rs"]
mod transcript;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

use fault::Plan;
use gateway::Gateway;
use proxy::Proxy;
use site::Site;

/// Longer than an update takes on a slow and busy machine: a test that hangs shall end.
const PATIENCE: Duration = Duration::from_secs(240);
/// … and longer than everything around it takes.
const LAST_PATIENCE: Duration = Duration::from_secs(300);

#[tokio::test]
async fn a_gateway_that_reports_its_version_is_updated() {
    let run = async {
        let lab = Lab::new("2s", Some("1.0.0"), Plan::Quiet).await;
        let site = lab.site.clone();
        let transcript = Path::new(env!("CARGO_TARGET_TMPDIR")).join("swupdate.jsonl");
        let proxy = lab.proxy.clone();
        lab.update().await;
        proxy.save_transcript(&transcript);
        if std::env::var_os("RECORD_TRANSCRIPTS").is_some() {
            let kept = "tests/it/ddi/transcripts/swupdate-2022.12.jsonl";
            proxy.save_plain_transcript(&Path::new(env!("CARGO_MANIFEST_DIR")).join(kept), Duration::from_secs(2));
        }
        site.lock().await.stop().await;
    };
    ends(run).await;
}

#[tokio::test]
async fn a_gateway_that_reports_no_version_is_updated_by_its_word() {
    ends(async { Lab::new("2s", None, Plan::Quiet).await.update().await }).await;
}

#[tokio::test]
async fn killing_lamplighter_before_and_after_each_request_changes_nothing() {
    let run = async {
        let lab = Lab::new("5s", Some("1.0.0"), Plan::AroundEach).await;
        let site = lab.site.clone();
        lab.update().await;
        let starts = site.lock().await.starts();
        assert!(starts > 20, "it was killed around each request of the update: {starts} starts");
    };
    ends(run).await;
}

#[tokio::test]
async fn killing_lamplighter_at_random_changes_nothing_seed_1() {
    killed_at_random(1, Some("1.0.0")).await;
}

#[tokio::test]
async fn killing_lamplighter_at_random_changes_nothing_seed_2() {
    killed_at_random(2, None).await;
}

#[tokio::test]
async fn killing_lamplighter_at_random_changes_nothing_seed_3() {
    killed_at_random(3, Some("1.0.0")).await;
}

async fn killed_at_random(seed: u64, version: Option<&str>) {
    let dice = fastrand::Rng::with_seed(seed);
    let run = async {
        let lab = Lab::new("5s", version, Plan::Random(dice)).await;
        let site = lab.site.clone();
        lab.update().await;
        let starts = site.lock().await.starts();
        assert!(starts > 5, "it was killed now and then: {starts} starts");
    };
    ends(run).await;
}

/// Runs a scenario, which must end.
async fn ends(scenario: impl Future<Output = ()>) {
    let ended = LocalSet::new().run_until(timeout(LAST_PATIENCE, scenario)).await;
    assert!(ended.is_ok(), "the scenario did not end");
}

/// A site, a gateway, and the proxy between them.
struct Lab {
    site: Rc<Mutex<Site>>,
    gateway: Gateway,
    proxy: Proxy,
    dir: PathBuf,
    // Declared last: gone after the processes that use it.
    _keep: tempfile::TempDir,
}

impl Lab {
    /// An empty site, and a gateway that is switched off.
    async fn new(poll_interval: &'static str, version: Option<&str>, plan: Plan) -> Self {
        let keep = tempfile::tempdir().unwrap();
        let dir = keep.path().to_path_buf();
        let site = Rc::new(Mutex::new(Site::start(&dir, poll_interval).await));
        let proxy = Proxy::start(site.clone(), plan).await;
        let gateway = Gateway::new(&dir, format!("http://{}", proxy.address), version);
        Self { site, gateway, proxy, dir, _keep: keep }
    }

    /// First contact, an order by manifest, download, installation, reboot, `Updated`; and the firmware was installed once.
    async fn update(mut self) {
        let outcome = timeout(PATIENCE, self.go()).await;
        assert!(outcome.is_ok(), "the update did not end. {}", self.story().await);
        assert_eq!(self.gateway.installs(), 1, "installed exactly once. {}", self.story().await);
        println!("{}", self.proxy.summary());
        assert_eq!(self.gateway.installed_version().as_deref(), Some("2.0.0"));
    }

    async fn go(&mut self) {
        self.gateway.boot();
        let manifests = self.site.lock().await.manifests();
        self.gateway.build_firmware("2.0.0", &manifests);
        self.gateway.reboot_after_installing().await;
        until(async || self.updated().await.then_some(())).await;
        // It stays so: nothing is offered again, also after one more kill.
        self.site.lock().await.kill_and_restart().await;
        let polls = self.proxy.polls();
        until(async || (self.proxy.polls() >= polls + 3).then_some(())).await;
        until(async || self.updated().await.then_some(())).await;
    }

    /// Does the site say that the gateway's update is done?
    async fn updated(&self) -> bool {
        self.site.lock().await.step(gateway::ID).await.as_deref() == Some("Updated")
    }

    /// What happened, when it did not end well.
    async fn story(&self) -> String {
        let site = self.site.lock().await;
        format!(
            "{}\n== requests\n{}\n== lamplighter\n{}\n== swupdate\n{}",
            self.dir.display(),
            self.proxy.summary(),
            site.log(),
            self.gateway.log()
        )
    }
}

/// Asks again and again until there is an answer; the test's time limit is the caller's.
async fn until<T>(mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        sleep(Duration::from_millis(50)).await;
    }
}
