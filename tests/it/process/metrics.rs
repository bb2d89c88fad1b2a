//! A site as kubelet and Prometheus see it: `/live`, `/ready` and `/metrics` of the real process.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use lamplighter::metrics::{FAMILIES, Figures, MOST_SERIES, Value};
use lamplighter::model::Durations;
use lamplighter::site::Endpoints;
use rustix::process::{Pid, Signal, kill_process};

use super::device::Device;
use super::eventually;
use super::exposition::Exposition;
use super::full_disk::{fill, on_a_small_disk};
use super::site::{Site, firmware, gateway, rollout};
use super::wire::{ALL, Answer, PATIENCE, Request, exchange};

/// Not started, with a listener on a port of its own.
fn watched() -> Site {
    let site = Site::new();
    site.configure("{listen: \"off\"}", "{listen: \"127.0.0.1:0\"}");
    site
}

fn address_in(state: &std::path::Path) -> Option<SocketAddr> {
    Endpoints::read(state).ok()?.metrics?.strip_prefix("http://")?.parse().ok()
}

fn address(site: &Site) -> SocketAddr {
    address_in(&site.state()).expect("endpoints.json says where metrics are")
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(PATIENCE).unwrap();
    stream
}

fn ask(address: SocketAddr, method: &str, path: &str) -> Answer {
    exchange(connect(address), &Request(method, path, &[("Host", "hall-7")], b""), ALL).unwrap()
}

fn text(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// `/ready`: its status and what it says.
fn ready(address: SocketAddr) -> (u16, String) {
    let answer = ask(address, "GET", "/ready");
    (answer.status, text(&answer))
}

fn scrape(address: SocketAddr) -> Exposition {
    let answer = ask(address, "GET", "/metrics");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    Exposition::read(&text(&answer))
}

/// The families of an exposition are those that there are, and say the same.
fn check_families(exposition: &Exposition) -> BTreeSet<String> {
    for (name, said) in &exposition.families {
        let known = FAMILIES.iter().find(|known| known.full_name() == *name);
        let known = known.unwrap_or_else(|| panic!("{name} is no family"));
        assert_eq!((said.help.as_str(), said.kind.as_str()), (known.help, known.kind.name()), "{name}");
        let labels: BTreeSet<_> = known.labels.iter().map(|&label| label.to_owned()).collect();
        assert_eq!(said.labels, labels, "{name}");
    }
    exposition.families.keys().cloned().collect()
}

/// What the page says of labels is all that there is.
fn check_values(exposition: &Exposition) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/metrics.md")).unwrap();
    for (label, values) in &exposition.values {
        // names of objects, versions, bounds, and what other pages list
        if !["rollout", "version", "le", "what", "reason", "code"].contains(&label.as_str()) {
            let missing: Vec<_> = values.iter().filter(|value| !page.contains(&format!("`{value}`"))).collect();
            assert!(missing.is_empty(), "docs/reference/metrics.md lacks {missing:?} of {label}");
        }
    }
}

/// All but these.
fn all_but(absent: &[&str]) -> BTreeSet<String> {
    let names = FAMILIES.iter().map(|family| family.full_name());
    names.filter(|name| !absent.iter().any(|absent| name.starts_with(&format!("lamplighter_{absent}")))).collect()
}

#[test]
fn health_is_told_to_who_asks_and_nothing_else_is() {
    let site = watched();
    site.start();
    let at = address(&site);
    let said = |method, path| {
        let answer = ask(at, method, path);
        (answer.status, text(&answer))
    };
    assert_eq!(said("GET", "/live"), (200, "live\n".into()));
    assert_eq!(said("GET", "/ready?verbose"), (200, "ready\n".into()));
    assert_eq!(said("HEAD", "/ready"), (200, String::new()));
    assert_eq!(said("GET", "/").0, 404);
    assert_eq!(said("GET", "/v1/status").0, 404, "people ask the control socket");
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = ask(at, method, "/metrics");
        assert_eq!((answer.status, answer.header("allow")), (405, "GET, HEAD"), "{method}");
    }
    let head = ask(at, "HEAD", "/metrics");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(site.stop().code(), Some(0));
}

#[test]
fn figures_follow_a_rollout_from_the_first_offer_to_its_end() {
    let firmware = firmware(5, 300_000);
    let site = watched();
    site.declare(&["press-1", "press-2", "press-3"], &firmware);
    site.put("mist.yaml", "apiVersion: lamplighter.dev/v1alpha1\nkind: Mist\n");
    site.start();
    let at = address(&site);
    let devices = ["press-1", "press-2", "press-3"].map(|name| Device::new(&site, name));
    for device in &devices {
        device.report("1.0.0");
    }
    let first =
        eventually("a gateway is offered its update", || devices.iter().position(|device| device.poll().is_some()));
    let figures = scrape(at);
    let families = check_families(&figures);
    assert_eq!(
        families,
        all_but(&["api_", "members_failed", "service_"]),
        "no API server is followed, nobody failed, no services"
    );
    for (series, value) in [
        ("lamplighter_ready", 1.0),
        ("lamplighter_store_lost", 0.0),
        ("lamplighter_site_silent", 0.0),
        ("lamplighter_site_file_accepted", 1.0),
        ("lamplighter_gateways{presence=\"Polling\"}", 3.0),
        ("lamplighter_rollouts{phase=\"Reconciling\"}", 1.0),
        ("lamplighter_rollouts{phase=\"Stalled\"}", 0.0),
        ("lamplighter_rollout_phase{rollout=\"press-fw\",phase=\"Reconciling\",reason=\"WaveOpen\"}", 1.0),
        ("lamplighter_members{rollout=\"press-fw\",step=\"Offered\"}", 1.0),
        ("lamplighter_members{rollout=\"press-fw\",step=\"Waiting\"}", 2.0),
        ("lamplighter_members{rollout=\"press-fw\",step=\"Updated\"}", 0.0),
        ("lamplighter_members_waiting{rollout=\"press-fw\",reason=\"WaveNotOpen\"}", 2.0),
        ("lamplighter_actions{state=\"Offered\"}", 1.0),
        ("lamplighter_actions{state=\"Fetched\"}", 0.0),
        ("lamplighter_artifact_served_bytes_total", 0.0),
        ("lamplighter_artifact_fetched_bytes_total", 0.0),
        ("lamplighter_objects_refused{source=\"Manifests\"}", 1.0),
        ("lamplighter_objects_refused{source=\"Api\"}", 0.0),
        ("lamplighter_store_commits_failed_total", 0.0),
    ] {
        assert_eq!(figures.get(series).to_bits(), f64::to_bits(value), "{series}");
    }

    let order = devices[first].fetch();
    let fetched = scrape(at);
    assert_eq!(fetched.get("lamplighter_actions{state=\"Fetched\"}").to_bits(), f64::to_bits(1.0));
    let downloading = "lamplighter_members{rollout=\"press-fw\",step=\"Downloading\"}";
    assert_eq!(fetched.get(downloading).to_bits(), f64::to_bits(1.0));
    devices[first].download(&order, ALL);
    assert_eq!(devices[first].feedback(&order, "closed", "success"), 200);
    devices[first].report("2.0.0");
    for (at, device) in devices.iter().enumerate() {
        if at != first {
            device.update("2.0.0");
        }
    }
    site.until_reason("Done");
    let done = scrape(at);
    let (status, length) = (site.ask("/v1/status"), f64::from(u32::try_from(firmware.len()).unwrap()));
    for (series, value) in [
        ("lamplighter_rollouts{phase=\"Ready\"}", 1.0),
        ("lamplighter_rollout_phase{rollout=\"press-fw\",phase=\"Ready\",reason=\"Done\"}", 1.0),
        ("lamplighter_members{rollout=\"press-fw\",step=\"Updated\"}", 3.0),
        ("lamplighter_members{rollout=\"press-fw\",step=\"Waiting\"}", 0.0),
        ("lamplighter_actions{state=\"Fetched\"}", 0.0),
        ("lamplighter_artifact_served_bytes_total", 3.0 * length),
        ("lamplighter_journal_rows_total{what=\"Offered\"}", 3.0),
        ("lamplighter_journal_rows_total{what=\"Updated\"}", 3.0),
        ("lamplighter_journal_rows_total{what=\"Failed\"}", 0.0),
        ("lamplighter_reconcile_total{kind=\"Fetches\",result=\"Committed\"}", 3.0),
        ("lamplighter_reconcile_total{kind=\"Fetches\",result=\"Failed\"}", 0.0),
        ("lamplighter_store_commit_duration_seconds_count", status["counters"]["commits"].as_f64().unwrap()),
    ] {
        assert_eq!(done.get(series).to_bits(), f64::to_bits(value), "{series}");
    }
    assert!(done.get("lamplighter_store_written_bytes_total") > 0.0);
    assert!(done.get("lamplighter_reconcile_duration_seconds_count") > 6.0);
    assert!(!done.series.keys().any(|series| series.starts_with("lamplighter_members_waiting")));
    check_values(&done);
}

#[test]
fn why_members_failed_is_counted() {
    let firmware = firmware(6, 1_000);
    let site = watched();
    site.put("fw.bin", &firmware);
    site.put("press-fw.yaml", rollout("2.0.0", &firmware, "  attempts: 1\n"));
    site.put("press-1.yaml", gateway("press-1", ""));
    site.start();
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    device.download(&order, ALL);
    assert_eq!(device.feedback(&order, "closed", "failure"), 200);
    site.until_step("press-1", "Failed Reported");
    let figures = scrape(address(&site));
    check_families(&figures);
    for series in [
        "lamplighter_members_failed{rollout=\"press-fw\",reason=\"Reported\"}",
        "lamplighter_members{rollout=\"press-fw\",step=\"Failed\"}",
        "lamplighter_rollouts{phase=\"Stalled\"}",
        "lamplighter_rollout_phase{rollout=\"press-fw\",phase=\"Stalled\",reason=\"FailureLimit\"}",
        "lamplighter_journal_rows_total{what=\"Failed\"}",
    ] {
        assert_eq!(figures.get(series).to_bits(), f64::to_bits(1.0), "{series}");
    }
}

#[test]
fn a_full_disk_makes_a_site_unready_and_room_makes_it_ready_again() {
    let site = watched();
    // no artifact: a copy that is given up would leave room
    site.put("press-1.yaml", gateway("press-1", ""));
    let state = on_a_small_disk(&site);
    let at = address_in(&state).unwrap();
    assert_eq!(ready(at), (200, "ready\n".into()));
    let filler = fill(&state);
    let many: Vec<_> = (0..400).map(|at| gateway(&format!("fill-{at}"), "")).collect();
    site.put("many.yaml", many.join("---\n"));
    let (_, why) = eventually("the site is not ready", || Some(ready(at)).filter(|(status, _)| *status == 503));
    assert!(why.contains("the store cannot be written") && why.contains("No space left"), "{why}");
    assert_eq!(ask(at, "GET", "/live").status, 200, "nothing is won by starting it anew");
    let figures = scrape(at);
    assert_eq!(figures.get("lamplighter_ready").to_bits(), f64::to_bits(0.0));
    assert!(figures.get("lamplighter_store_commits_failed_total") >= 1.0);
    let shown = check_families(&figures);
    assert!(!shown.contains("lamplighter_gateways"), "what is not on disk is not shown: {shown:?}");

    fs::remove_file(filler).unwrap();
    eventually("the site is ready again", || (ready(at).0 == 200).then_some(()));
    assert_eq!(scrape(at).get("lamplighter_gateways{presence=\"Never\"}").to_bits(), f64::to_bits(401.0));
}

#[test]
fn a_missing_api_server_never_makes_a_site_unready() {
    let site = watched();
    // nobody listens there
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: \"http://{nobody}\"}}}}]\n\
         users: [{{name: u, user: {{token: t}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u, namespace: n}}}}]\n"
    );
    fs::write(site.path("kubeconfig"), kubeconfig).unwrap();
    site.configure("limits:", "kubernetes: {kubeconfig: kubeconfig}\nlimits:");
    site.put("press-1.yaml", gateway("press-1", ""));
    site.start();
    let at = address(&site);
    let figures = eventually("the link is down", || {
        let figures = scrape(at);
        (figures.get("lamplighter_api_link{state=\"Down\"}") > 0.0).then_some(figures)
    });
    assert_eq!(ready(at), (200, "ready\n".into()));
    assert_eq!(figures.get("lamplighter_api_link{state=\"Up\"}").to_bits(), f64::to_bits(0.0));
    assert!(figures.get("lamplighter_api_requests_total{verb=\"get\",code=\"none\"}") >= 1.0);
    assert_eq!(figures.get("lamplighter_api_objects_undecodable_total{kind=\"OtaRollout\"}").to_bits(), 0);
    assert_eq!(figures.get("lamplighter_queue_depth{queue=\"Api\"}").to_bits(), 0);
    check_values(&figures);
    let families = check_families(&figures);
    assert_eq!(families, all_but(&["members", "rollout_phase", "service_"]), "there is no rollout and no service");
}

#[test]
fn a_taken_port_is_said_and_the_site_goes_on_until_it_is_free() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let site = watched();
    site.configure("127.0.0.1:0\"}", &format!("{at}\"}}"));
    site.put("press-1.yaml", gateway("press-1", ""));
    site.start();
    assert_eq!(Device::new(&site, "press-1").poll(), None, "gateways are served");
    let said = site.cli(&["status"]).good();
    assert!(said.contains("health and metrics are not served"), "{said}");
    let words = format!("cannot listen on {at}: Address already in use");
    assert!(site.log().contains(&words), "{}", site.log());
    assert!(site.log().contains("`metrics.listen` in the site file says where"), "{}", site.log());
    assert_eq!(address_in(&site.state()), None);
    drop(taken);
    let found = eventually("it listens", || address_in(&site.state()));
    assert_eq!((found, ask(at, "GET", "/live").status), (at, 200));
    assert!(!site.cli(&["status"]).good().contains("are not served"), "it is over");
    assert_eq!(site.log().matches("are not served").count(), 1, "said once");
}

#[test]
fn who_wants_no_listener_has_none() {
    let site = Site::new();
    site.start();
    assert_eq!(address_in(&site.state()), None);
    let listening = |port: u16| {
        let sockets = fs::read_to_string(format!("/proc/{}/net/tcp", site.pid())).unwrap();
        let inodes: Vec<_> = fs::read_dir(format!("/proc/{}/fd", site.pid()))
            .unwrap()
            .filter_map(|fd| Some(fs::read_link(fd.ok()?.path()).ok()?.display().to_string()))
            .collect();
        let is_listener = |line: &&str| line.split_whitespace().nth(3) == Some("0A");
        let own = |line: &&str| {
            let inode = line.split_whitespace().nth(9).unwrap_or_default();
            inodes.contains(&format!("socket:[{inode}]")) && !line.contains(&format!(":{port:04X} "))
        };
        sockets.lines().skip(1).filter(is_listener).filter(own).count()
    };
    assert_eq!(listening(site.address().port()), 0, "beside the one for gateways");
}

/// Open files of a site.
fn open_files(site: &Site) -> usize {
    fs::read_dir(format!("/proc/{}/fd", site.pid())).unwrap().count()
}

#[test]
fn scrapers_that_hang_dribble_and_shout_cost_a_few_connections_and_keep_nobody_out() {
    let site = watched();
    site.put("press-1.yaml", gateway("press-1", ""));
    site.start();
    let at = address(&site);
    let before = open_files(&site);
    let mut hostile = Vec::new();
    for number in 0..200 {
        let mut stream = connect(at);
        // silent, dribbling, and asking without ever reading; whom the site has closed by now cannot write
        let _ = match number % 3 {
            0 => Ok(()),
            1 => stream.write_all(b"GET /metrics HTTP/1.1\r\nX-Dribble: "),
            _ => stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
        };
        hostile.push(stream);
    }
    eventually("it keeps only a few", || (open_files(&site) <= before + 10).then_some(()));
    assert_eq!(ready(at), (200, "ready\n".into()));
    scrape(at);
    assert_eq!(Device::new(&site, "press-1").poll(), None, "gateways do not notice");

    let mut loud = connect(at);
    let head = format!("GET /live HTTP/1.1\r\nX-Long: {}\r\n\r\n", "x".repeat(1 << 20));
    let mut said = String::new();
    // it may be cut while it still shouts
    if loud.write_all(head.as_bytes()).is_ok() {
        let _ = loud.read_to_string(&mut said);
    }
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
    let mut odd = connect(at);
    odd.write_all(b"\x16\x03\x01 this is no HTTP \r\n\r\n").unwrap();
    said.clear();
    let _ = odd.read_to_string(&mut said);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{said}");
    assert_eq!(ask(at, "GET", "/live").status, 200);
    drop(hostile);
}

#[test]
fn a_site_that_stops_is_not_ready_any_more() {
    let site = watched();
    site.put("fw.bin", firmware(8, 8 << 20));
    site.declare(&["press-1"], &firmware(8, 8 << 20));
    site.start();
    let at = address(&site);
    let device = Device::new(&site, "press-1");
    device.report("1.0.0");
    let order = device.fetch();
    // a download under way keeps it here for a while after SIGTERM
    device.download_through(&order, 1 << 16, || {
        kill_process(Pid::from_raw(i32::try_from(site.pid()).unwrap()).unwrap(), Signal::TERM).unwrap();
        let said = eventually("it says that it stops", || Some(ready(at)).filter(|(status, _)| *status == 503));
        assert_eq!(said.1, "not ready: the site is stopping\n");
    });
    eventually("its end", || site.ended());
}

#[test]
fn every_family_is_written_as_openmetrics_wants_it_whatever_its_labels_say() {
    let mut figures = Figures::default();
    let mut durations = Durations::default();
    durations.add(std::time::Duration::from_millis(3));
    let value = |family: &lamplighter::metrics::Family| match family.kind.name() {
        "histogram" => Value::Durations(durations),
        _ => Value::Number(7),
    };
    for family in FAMILIES {
        let odd = || std::borrow::Cow::from("a \"b\" \\ c\nd{e=\"f\"} ä");
        match family.labels.len() {
            0 => figures.set(family, value(family)),
            1 => figures.put(family, [odd()], value(family)),
            2 => figures.put(family, [odd(), odd()], value(family)),
            _ => figures.put(family, [odd(), odd(), odd()], value(family)),
        }
    }
    let read = Exposition::read(&figures.text());
    assert_eq!(check_families(&read), all_but(&[]));
    for family in FAMILIES.iter().filter(|family| family.kind.name() != "histogram") {
        assert!(read.series.keys().any(|series| series.starts_with(&family.queried())), "{}", family.queried());
    }
}

#[test]
fn a_scrape_has_an_end_however_much_is_declared() {
    let mut figures = Figures::default();
    for number in 0..10 * MOST_SERIES {
        figures.put(lamplighter::metrics::ROLLOUTS, [format!("r{number}").into()], 1_u64);
    }
    let text = figures.text();
    assert_eq!(Exposition::read(&text).series.len(), MOST_SERIES);
    assert!(text.len() < 100 * MOST_SERIES);
}
