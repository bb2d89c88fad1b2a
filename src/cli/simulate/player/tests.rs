//! Gateways played against a site that breaks lines.

use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

use super::super::cast::cast;
use super::fake_site::{FakeSite, Mischief};
use super::*;

struct Played {
    site: FakeSite,
    device: Rc<RefCell<Device>>,
    oddities: Vec<(String, String)>,
}

/// Plays one gateway until `enough`.
async fn play(
    behaviour: Behaviour,
    client: Client,
    mischief: Mischief,
    enough: fn(&FakeSite, &Device) -> bool,
) -> Played {
    let role = Role { behaviour, client, ..cast(1, 0, 1).remove(0) };
    let scene = async {
        let site = FakeSite::start(mischief).await;
        let device = Rc::new(RefCell::new(Device::new(&role)));
        let tally = Rc::new(Tally::default());
        let target = Target { site: site.address, sha256: site.sha256(), trust: None };
        let playing = spawn_local(Player::new(role.clone(), target, device.clone(), tally.clone()).play());
        let watch = async {
            while !enough(&site, &device.borrow()) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), watch).await.unwrap();
        playing.abort();
        let oddities = tally.oddities.take();
        Played { site, device, oddities }
    };
    LocalSet::new().run_until(scene).await
}

fn closed(site: &FakeSite, _: &Device) -> bool {
    site.closed()
}

#[tokio::test]
async fn a_good_gateway_installs_once_although_everything_breaks_once() {
    let mischief = Mischief { cut_artifact: true, busy: true, refuse_first: true, ..Mischief::default() };
    let played = play(Behaviour::Good, Client::Generic, mischief, closed).await;
    let log = played.site.log.borrow();
    assert_eq!(log.words, ["proceeding none", "proceeding none", "closed success"]);
    assert_eq!(log.version.as_deref(), Some("2.0.0"));
    let resumed = log.requests.iter().filter(|request| request.contains("firmware.bin bytes=150000-")).count();
    assert_eq!((resumed, played.device.borrow().installs), (1, 1));
    assert_eq!(played.oddities, []);
}

#[tokio::test]
async fn a_swupdate_asks_for_the_size_first_and_reports_no_version() {
    let played = play(Behaviour::Good, Client::SwUpdate, Mischief::default(), closed).await;
    let log = played.site.log.borrow();
    assert!(log.requests.iter().any(|request| request.starts_with("HEAD /artifacts/")));
    assert_eq!((log.version.as_deref(), log.words.last().map(String::as_str)), (None, Some("closed success")));
    assert_eq!(played.oddities, []);
}

#[tokio::test]
async fn a_rauc_client_that_boots_back_claimed_success_before() {
    let reported_twice = |site: &FakeSite, device: &Device| {
        let log = site.log.borrow();
        device.installs == 1 && log.requests.last().is_some_and(|request| request.starts_with("GET")) && site.closed()
    };
    let played = play(Behaviour::BootsBack, Client::Rauc, Mischief::default(), reported_twice).await;
    assert_eq!(played.site.log.borrow().words, ["proceeding none", "closed success"]);
    assert_eq!(played.device.borrow().running(), "1.0.0");
}

#[tokio::test]
async fn garbled_firmware_is_noticed_and_never_installed() {
    let mischief = Mischief { garble: true, ..Mischief::default() };
    let played = play(Behaviour::Good, Client::Generic, mischief, closed).await;
    assert_eq!(played.site.log.borrow().words, ["closed failure"]);
    assert!(played.oddities.iter().any(|(gateway, what)| gateway == "gw-0001" && what.contains("sha256")));
    assert_eq!(played.device.borrow().installs, 0);
}

#[tokio::test]
async fn a_whole_file_in_answer_to_a_range_is_noticed_and_the_download_starts_over() {
    let mischief = Mischief { cut_artifact: true, ignore_range: true, ..Mischief::default() };
    let played = play(Behaviour::Good, Client::Generic, mischief, closed).await;
    assert!(played.oddities.iter().any(|(_, what)| what.contains("200 OK")), "{:?}", played.oddities);
    assert_eq!(
        (played.site.log.borrow().words.last().map(String::as_str), played.device.borrow().installs),
        (Some("closed success"), 1)
    );
}

#[tokio::test]
async fn a_slow_gateway_drops_its_line_and_goes_on() {
    let played = play(Behaviour::Slow, Client::Generic, Mischief::default(), closed).await;
    let log = played.site.log.borrow();
    assert!(log.requests.iter().any(|request| request.contains("firmware.bin bytes=")), "{:?}", log.requests);
    assert_eq!((played.device.borrow().installs, played.oddities.len()), (1, 0));
}

#[tokio::test]
async fn a_failing_gateway_says_so_and_a_silent_one_says_nothing() {
    let failing = play(Behaviour::Failing, Client::Rauc, Mischief::default(), closed).await;
    assert_eq!(failing.site.log.borrow().words.last().map(String::as_str), Some("closed failure"));
    let fetched = |site: &FakeSite, _: &Device| {
        site.log.borrow().requests.iter().any(|request| request.contains("deploymentBase"))
    };
    let silent = play(Behaviour::Silent, Client::Rauc, Mischief::default(), fetched).await;
    assert_eq!(silent.site.log.borrow().words, [""; 0]);
}
