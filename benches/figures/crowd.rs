//! Ten thousand sockets that are opened and left silent, and a good gateway that polls meanwhile.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpSocket, TcpStream};

use crate::gateway::{Take, Wire, root};
use crate::site::Site;
use crate::table::{Table, quantile, told};
use crate::threads::in_one_thread;

const SOCKETS: usize = 10_000;

pub fn measure(table: &mut Table, binary: &Path) {
    let limit = getrlimit(Resource::Nofile);
    _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let site = Site::with(binary, 2, "connections: {perAddress: 4},", &[]);
    let (process, address) = (site.process(), site.devices);
    let before = process.kib("VmRSS");
    in_one_thread(async {
        let (mut silent, mut times, mut most) = (Vec::<TcpStream>::new(), Vec::new(), 0);
        for number in 0..SOCKETS {
            let socket = TcpSocket::new_v4().unwrap();
            socket.bind(([127, 0, 0, 2], 0).into()).unwrap();
            // the kernel turns some away for a moment when too many wait to be accepted
            match tokio::time::timeout(Duration::from_secs(5), socket.connect(address)).await {
                Ok(Ok(stream)) => silent.push(stream),
                _ => break,
            }
            if number % 100 == 0 {
                let begin = Instant::now();
                let mut wire = Wire::to(address).await.unwrap();
                let answer = wire.ask(&format!("GET {}", root(0)), Some(0), "", Take::Discard).await.unwrap();
                assert_eq!(answer.status, 200);
                times.push(begin.elapsed().as_secs_f64() * 1_000.0);
                most = most.max(process.open_files());
            }
        }
        times.sort_by(f64::total_cmp);
        told("silent sockets opened from one address", silent.len() as f64, "", "10000");
        told("the slowest poll of a good gateway meanwhile", quantile(&times, 100), "ms", "");
        table.bounded("open files of the site meanwhile", most as f64, "", 90.0);
        told("extra RSS meanwhile", process.kib("VmRSS") - before, "KiB", "");
    });
}
