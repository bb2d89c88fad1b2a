//! Proxies, as the environment names them: who is asked, and which passwords leave for whom.

use std::cell::RefCell;
use std::rc::Rc;

use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;

use super::process::{Process, says, until, write_site};
use super::server::{Answer, Request, Server, read, serve};
use super::tls::{AUTHORITY, VALID};
use super::{World, firmware, local, spec};

/// A proxy that answers each CONNECT with a tunnel to one address, whatever it was asked for.
struct Tunnel {
    port: u16,
    heads: Rc<RefCell<Vec<Request>>>,
}

impl Tunnel {
    async fn start(to: std::net::SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Rc::<RefCell<Vec<Request>>>::default();
        let noted = heads.clone();
        spawn_local(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let noted = noted.clone();
                spawn_local(async move {
                    let Some(head) = read(&mut stream).await else { return };
                    noted.borrow_mut().push(head);
                    let mut server = TcpStream::connect(to).await.unwrap();
                    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.unwrap();
                    let _ = copy_bidirectional(&mut stream, &mut server).await;
                });
            }
        });
        Self { port, heads }
    }
}

/// A site file's `uplink` with a password for a host.
fn credentials(dir: &std::path::Path, host: &str) -> String {
    std::fs::write(dir.join("secret"), "me:for-the-server\n").unwrap();
    format!("caFiles: [\"{AUTHORITY}\"], credentials: {{\"{host}\": secret}}")
}

#[tokio::test]
async fn https_goes_through_a_tunnel_and_the_proxy_hears_its_own_password_only() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(200_000));
        let (dir, file) = (world.state.path(), bytes.clone());
        let server = Server::start_tls(move |_, request| serve(request, &file, "\"a\""), |_| VALID).await;
        let tunnel = Tunnel::start(server.address).await;
        let spec = spec(&bytes, &[]);
        let uplink = credentials(dir, "files.example");
        write_site(dir, &uplink, "0", &[(&spec, "https://files.example/os.swu")]);
        let proxy = format!("http://me:for-the-proxy@127.0.0.1:{}", tunnel.port);
        let _process = Process::start_in(dir, &[], &[("HTTPS_PROXY", &proxy)]);
        until(dir, "the artifact", || world.file(&spec, "").exists()).await;
        let heads = tunnel.heads.borrow();
        let (head, request) = (&heads[0], &server.requests()[0]);
        assert_eq!((head.path.as_str(), head.header("authorization")), ("files.example:443", None));
        assert_eq!(head.header("proxy-authorization"), Some("Basic bWU6Zm9yLXRoZS1wcm94eQ=="));
        assert_eq!(request.header("authorization"), Some("Basic bWU6Zm9yLXRoZS1zZXJ2ZXI="));
        assert_eq!(request.header("proxy-authorization"), None);
    })
    .await;
}

#[tokio::test]
async fn http_is_asked_of_the_proxy_and_resumed_through_it() {
    local(async || {
        let size = 1 << 20;
        let (world, bytes) = (World::new(), firmware(size));
        let (dir, file) = (world.state.path(), bytes.clone());
        let proxy = Server::start(move |n, request| {
            let answer = serve(request, &file, "\"a\"");
            if n == 0 { answer.cut(size / 2) } else { answer }
        })
        .await;
        let spec = spec(&bytes, &[]);
        // the password is for another port of that host: nobody hears it
        let uplink = credentials(dir, "http://files.example:8080");
        write_site(dir, &uplink, "0", &[(&spec, "http://files.example/os.swu")]);
        let _process = Process::start_in(dir, &[], &[("HTTP_PROXY", &proxy.url(""))]);
        until(dir, "the artifact", || world.file(&spec, "").exists()).await;
        let requests = proxy.requests();
        assert_eq!(requests[0].path, "http://files.example/os.swu");
        assert_eq!((requests[1].offset(), proxy.sent()), (Some(size / 2), size));
        assert!(requests.iter().all(|request| request.header("authorization").is_none()));
    })
    .await;
}

#[tokio::test]
async fn hosts_of_no_proxy_are_asked_directly_and_never_hear_the_proxys_password() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(1000));
        let (dir, file) = (world.state.path(), bytes.clone());
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        let proxy = Server::start(move |_, _| Answer::new("500 Internal Server Error", &[], b"")).await;
        let spec = spec(&bytes, &[]);
        write_site(dir, "", "0", &[(&spec, &server.url("/os.swu"))]);
        let through = format!("http://me:secret@{}", proxy.address);
        let _process =
            Process::start_in(dir, &[], &[("HTTP_PROXY", &through), ("NO_PROXY", "files.example,127.0.0.1")]);
        until(dir, "the artifact", || world.file(&spec, "").exists()).await;
        assert!(proxy.requests().is_empty());
        assert_eq!(server.requests()[0].header("proxy-authorization"), None);
    })
    .await;
}

#[tokio::test]
async fn a_proxy_that_wants_a_password_is_named_as_such() {
    local(async || {
        let (world, bytes) = (World::new(), firmware(1000));
        let dir = world.state.path();
        let proxy = Server::start(move |_, _| Answer::new("407 Proxy Authentication Required", &[], b"")).await;
        write_site(dir, "", "0", &[(&spec(&bytes, &[]), "http://files.example/os.swu")]);
        let _process = Process::start_in(dir, &[], &[("HTTP_PROXY", &proxy.url(""))]);
        says(dir, "the proxy wants a password: HTTPS_PROXY=http://USER:PASSWORD@HOST").await;
    })
    .await;
}
