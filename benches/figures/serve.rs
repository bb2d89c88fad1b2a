//! An artifact to 16 gateways as fast as they take it, beside nginx that gives them the same file, plain and over TLS.

use std::cell::RefCell;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_rustls::TlsConnector;

use crate::gateway::{Answer, Take, Wire, firmware, rollout, root, taken};
use crate::process::Process;
use crate::site::Site;
use crate::table::{Table, quantile, told};
use crate::threads::{in_one_thread, together};
use crate::tls::Pair;

const DEVICES: usize = 16;
const SIZE: usize = 64 << 20;
/// Each device takes it so often; what differs from time to time is in the middle of it.
const TIMES: usize = 6;

/// Bytes a second, by the wall clock and by the server's processor time.
struct Speed {
    wall: f64,
    core: f64,
}

pub fn measure(table: &mut Table, binary: &Path) {
    let bytes = firmware(1, SIZE);
    for (way, tls) in [("", None), (" over TLS", Some(Pair::new()))] {
        let (ours, mut waited) = ours(binary, &bytes, tls.as_ref());
        let theirs = theirs(&bytes, tls.as_ref());
        for (who, speed) in [("lamplighter", &ours), ("nginx", &theirs)] {
            let what = format!("{DEVICES} devices download from {who}{way}");
            told(&format!("{what}: by the clock"), speed.wall / 1e6, "MB/s", "");
            told(&format!("{what}: per second of its core"), speed.core / 1e6, "MB/s", "");
        }
        table.at_least(&format!("bytes per core second{way}, against nginx"), ours.core / theirs.core, "×", 0.5);
        for (what, times) in [("a poll", &mut waited.polls), ("a range of the artifact", &mut waited.ranges)] {
            times.sort_by(f64::total_cmp);
            for percent in [50, 99] {
                let what = format!("meanwhile{way}, first byte of {what}: p{percent}");
                told(&what, quantile(times, percent), "ms", "");
            }
        }
    }
}

/// How long another gateway waited for first bytes meanwhile, in milliseconds.
#[derive(Default)]
struct Waited {
    polls: Vec<f64>,
    ranges: Vec<f64>,
}

fn ours(binary: &Path, bytes: &[u8], tls: Option<&Pair>) -> (Speed, Waited) {
    let manifest = rollout("2", bytes);
    let site = Site::over(tls, binary, DEVICES + 1, &[("rollout.yaml", manifest.as_bytes()), ("fw.bin", bytes)]);
    let way = Way { address: site.devices, tls: tls.map(Pair::connector) };
    in_one_thread(async {
        let take = |number| {
            let way = way.clone();
            async move { taken(&mut way.wire().await, number).await.1 }
        };
        let paths = Rc::new(together(DEVICES + 1, take).await);
        let (cpu, start) = (site.process().cpu_seconds(), Instant::now());
        let waited = Rc::new(RefCell::new(Waited::default()));
        let beside = tokio::task::spawn_local(wait(way.clone(), paths[DEVICES].clone(), Rc::clone(&waited)));
        let came = together(DEVICES, move |number| download(way.clone(), paths[number].clone(), Some(number))).await;
        let speed = speed(&came, start, site.process().cpu_seconds() - cpu);
        beside.abort();
        (speed, waited.take())
    })
}

/// How a server is reached.
#[derive(Clone)]
struct Way {
    address: SocketAddr,
    tls: Option<TlsConnector>,
}

impl Way {
    async fn wire(&self) -> Wire {
        Wire::by(self.address, self.tls.as_ref()).await.unwrap()
    }
}

/// Polls and asks for a little of the artifact, over and over, until it is stopped.
async fn wait(way: Way, path: String, waited: Rc<RefCell<Waited>>) {
    let milliseconds = |answer: &Answer| answer.first_byte.as_secs_f64() * 1_000.0;
    loop {
        let mut wire = way.wire().await;
        let poll = wire.ask(&format!("GET {}", root(DEVICES)), Some(DEVICES), "", Take::Discard).await.unwrap();
        let range = format!("GET {path}\nRange: bytes=1000-2000");
        let range = wire.ask(&range, Some(DEVICES), "", Take::Discard).await.unwrap();
        assert_eq!((poll.status, range.status), (200, 206));
        waited.borrow_mut().polls.push(milliseconds(&poll));
        waited.borrow_mut().ranges.push(milliseconds(&range));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn download(way: Way, path: String, signed: Option<usize>) -> usize {
    let mut came = 0;
    for _ in 0..TIMES {
        let answer = way.wire().await.ask(&format!("GET {path}"), signed, "", Take::Discard).await.unwrap();
        assert_eq!(answer.status, 200);
        came += answer.bytes;
    }
    came
}

fn speed(came: &[usize], start: Instant, cpu: f64) -> Speed {
    assert!(came.iter().all(|bytes| *bytes == TIMES * SIZE));
    let bytes = came.iter().sum::<usize>() as f64;
    Speed { wall: bytes / start.elapsed().as_secs_f64(), core: bytes / cpu }
}

fn theirs(bytes: &[u8], tls: Option<&Pair>) -> Speed {
    let nginx = Nginx::start(bytes, tls);
    in_one_thread(async {
        let (cpu, start) = (nginx.process().cpu_seconds(), Instant::now());
        let way = Way { address: nginx.address, tls: tls.map(Pair::connector) };
        let came = together(DEVICES, move |_| download(way.clone(), "/fw.bin".into(), None)).await;
        speed(&came, start, nginx.process().cpu_seconds() - cpu)
    })
}

/// One process of it, as Debian configures it; ends with this value.
struct Nginx {
    child: Child,
    address: SocketAddr,
    _dir: TempDir,
}

impl Nginx {
    fn start(bytes: &[u8], tls: Option<&Pair>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        fs::write(dir.path().join("fw.bin"), bytes).unwrap();
        let at = dir.path().display();
        // its versions and its preference of ciphers, as Debian's nginx.conf has them
        let secured = tls.map_or_else(
            || format!("listen {address};"),
            |tls| {
                let (certificate, key) = (tls.certificate(), tls.key());
                format!(
                    "listen {address} ssl; ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.2 TLSv1.3; \
                     ssl_prefer_server_ciphers on;",
                    certificate.display(),
                    key.display()
                )
            },
        );
        let config = format!(
            "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\nevents {{}}\nhttp {{\n\
             sendfile on; tcp_nopush on; access_log off; client_body_temp_path {at}/t1; proxy_temp_path {at}/t2;\n\
             fastcgi_temp_path {at}/t3; uwsgi_temp_path {at}/t4; scgi_temp_path {at}/t5;\n\
             server {{ {secured} root {at}; }} }}\n"
        );
        fs::write(dir.path().join("nginx.conf"), config).unwrap();
        let mut command = Command::new("nginx");
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        command.arg("-c").arg(dir.path().join("nginx.conf")).env("PATH", path);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nginx; tests/real/install.sh installs it");
        let end = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < end, "nginx does not start");
            sleep(Duration::from_millis(20));
        }
        Self { child, address, _dir: dir }
    }

    fn process(&self) -> Process {
        Process(self.child.id())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
