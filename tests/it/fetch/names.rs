//! Names that nobody answers for.

use std::fs;
use std::net::UdpSocket;

use super::process::{Process, until, write_site};
use super::server::{Server, serve};
use super::{World, firmware, local, spec};
use crate::process::site::{Said, binary};

/// A name server that is there and says nothing.
#[tokio::test]
async fn a_look_up_that_never_ends_stops_neither_the_store_nor_other_sources() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(100_000));
        let (dir, file) = (world.state.path(), bytes.clone());
        let _silent = UdpSocket::bind("127.77.200.1:53").expect("root may bind port 53");
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        // the first is looked up first, as it is the first in the cache's order
        let (hangs, good) = (spec(&firmware(1000), &[]), spec(&bytes, &[]));
        let url = format!("http://localhost:{}/os", server.address.port());
        write_site(dir, "", "0", &[(&hangs, "http://nobody-answers.example/os"), (&good, &url)]);
        let conf = dir.join("resolv.conf");
        fs::write(&conf, "nameserver 127.77.200.1\noptions timeout:30 attempts:5\n").unwrap();
        // where it leads, if it is a link
        let script = "mount --bind \"$0\" \"$(readlink -f /etc/resolv.conf)\"";
        let _process = Process::start_in_namespace(dir, script, &conf);
        until(dir, "the artifact of the other source", || world.file(&good, "").exists()).await;
        let said = Said::of(binary().args(["artifacts", "--state"]).arg(dir).output().unwrap()).good();
        assert!(said.contains("from http://nobody-answers.example/os") || said.contains("tried again"), "{said}");
        assert!(!world.file(&hangs, "").exists());
    })
    .await;
}
