//! Artifacts from a real nginx with TLS and a private authority, and from a real registry.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::{ends, until};

const SIZE: usize = 32 << 20;

/// Ends with the test.
struct Process(Child);

impl Process {
    fn start(command: &mut Command, log: &Path) -> Self {
        let log = fs::File::options().create(true).append(true).open(log).unwrap();
        let command = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self(command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}; run tests/real/install.sh")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A site with one artifact to fetch, and the server it comes from.
struct Lab {
    keep: TempDir,
    port: u16,
    bytes: Vec<u8>,
    hex: String,
}

impl Lab {
    fn new() -> Self {
        let keep = TempDir::new().unwrap();
        // the port is free now, and hardly anybody takes it in the next second
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut dice = fastrand::Rng::with_seed(1);
        let bytes: Vec<u8> = std::iter::repeat_with(|| dice.u8(..)).take(SIZE).collect();
        let hex = hex(&bytes);
        Self { keep, port, bytes, hex }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.keep.path().join(name)
    }

    fn cached(&self, extension: &str) -> PathBuf {
        self.path(&format!("state/artifacts/sha256/{}{extension}", self.hex))
    }

    /// Starts Lamplighter with this in the site file's `uplink`.
    fn site(&self, source: &str, uplink: &str) -> Process {
        fs::create_dir_all(self.path("manifests")).unwrap();
        let site = format!(
            "apiVersion: lamplighter.dev/v1alpha1\nkind: SiteConfig\nsite: fetch\nstate: state\nintake: {{manifests: [manifests]}}\n\
             devices: {{listen: \"127.0.0.1:0\", insecure: true}}\nuplink: {{{uplink}}}\nmetrics: {{listen: off}}\n"
        );
        fs::write(self.path("site.yaml"), site).unwrap();
        let rollout = format!(
            "apiVersion: lamplighter.dev/v1alpha1\nkind: OtaRollout\nmetadata: {{name: os}}\nspec:\n  artifact: {{name: os, version: \"2\", \
             sources: [\"{source}\"], digest: \"sha256:{}\", sizeBytes: {SIZE}}}\n  selector: {{matchLabels: {{line: a}}}}\n",
            self.hex
        );
        fs::write(self.path("manifests/os.yaml"), rollout).unwrap();
        let binary = std::env::var_os("LAMPLIGHTER").unwrap_or_else(|| env!("CARGO_BIN_EXE_lamplighter").into());
        Process::start(Command::new(binary).args(["run", "--config"]).arg(self.path("site.yaml")), &self.path("log"))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    async fn says(&self, words: &str) {
        let said = until(async || self.log().contains(words).then_some(()));
        let said = tokio::time::timeout(Duration::from_secs(60), said).await;
        assert!(said.is_ok(), "it never said {words:?}: {}", self.log());
    }

    async fn has_it(&self) {
        until(async || self.cached("").exists().then_some(())).await;
        assert!(fs::read(self.cached("")).unwrap() == self.bytes, "a wrong byte");
    }

    fn run(&self, program: &str, arguments: &str) {
        let out = Command::new(program).args(arguments.split(' ')).current_dir(self.keep.path()).output().unwrap();
        assert!(out.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&out.stderr));
    }

    /// An authority, and a certificate of it for this machine that is valid from this date on.
    fn certificate(&self, from: &str) {
        let authority = "[ca]\ndefault_ca=c\n[c]\ndatabase=index\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n\
                         x509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=IP:127.0.0.1,DNS:localhost\n";
        fs::write(self.path("ca.conf"), authority).unwrap();
        fs::write(self.path("index"), "").unwrap();
        fs::write(self.path("serial"), "01\n").unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        self.run("openssl", &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 36500 -subj /CN=plant"));
        self.run("openssl", &format!("req {key} -keyout server.key -out server.csr -subj /CN=server"));
        self.run(
            "openssl",
            &format!(
                "ca -batch -config ca.conf -cert ca.pem -keyfile ca.key -in server.csr -out server.pem -startdate {from} -enddate 20991231000000Z"
            ),
        );
    }

    /// nginx with the artifact at `/os.swu`, slow enough to be killed at.
    async fn nginx(&self) -> Process {
        fs::create_dir_all(self.path("www")).unwrap();
        fs::write(self.path("www/os.swu"), &self.bytes).unwrap();
        let (dir, port) = (self.keep.path().display(), self.port);
        let config = format!(
            "daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log;\nevents {{}}\nhttp {{\n\
             log_format bytes '$status $body_bytes_sent $http_range'; access_log {dir}/access.log bytes;\n\
             client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3; uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;\n\
             server {{ listen 127.0.0.1:{port} ssl; ssl_certificate {dir}/server.pem; ssl_certificate_key {dir}/server.key;\n\
             root {dir}/www; limit_rate 8m; sendfile off; output_buffers 2 32k;\n\
             location /there {{ return 302 /os.swu; }} location /plain {{ return 302 http://127.0.0.1:{port}/os.swu; }} }} }}\n"
        );
        fs::write(self.path("nginx.conf"), config).unwrap();
        let mut command = Command::new("nginx");
        command.arg("-c").arg(self.path("nginx.conf")).env("PATH", path_with_sbin());
        let process = Process::start(&mut command, &self.path("nginx.log"));
        listens(self.port).await;
        process
    }
}

fn path_with_sbin() -> String {
    format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default())
}

async fn listens(port: u16) {
    until(async || tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok().map(|_| ())).await;
}

#[tokio::test]
async fn over_tls_with_a_private_authority_killed_half_way_a_fetch_brings_the_rest_only() {
    let run = async {
        let lab = Lab::new();
        lab.certificate("20200101000000Z");
        let _nginx = lab.nginx().await;
        // by name, which the binary's own C library looks up
        let source = format!("https://localhost:{}/there", lab.port);
        let site = lab.site(&source, "caFiles: [ca.pem]");
        let half = SIZE as u64 / 2;
        until(async || fs::metadata(lab.cached(".part")).is_ok_and(|part| part.len() >= half).then_some(())).await;
        drop(site);
        assert!(!lab.cached("").exists());
        let kept = fs::metadata(lab.cached(".part")).unwrap().len();
        let _site = lab.site(&source, "caFiles: [ca.pem]");
        lab.has_it().await;
        let log = until(async || {
            let log = fs::read_to_string(lab.path("access.log")).unwrap();
            log.contains("206 ").then_some(log)
        })
        .await;
        let rest = format!("206 {} bytes={kept}-", SIZE as u64 - kept);
        assert!(log.contains(&rest), "no byte that was there came again: {rest:?} is not in {log}");
    };
    ends(run).await;
}

#[tokio::test]
async fn an_unknown_authority_a_certificate_of_the_future_and_the_way_to_plain_http_are_refused_and_named() {
    let run = async {
        let lab = Lab::new();
        lab.certificate("20200101000000Z");
        let nginx = lab.nginx().await;
        let at = |path: &str| format!("https://127.0.0.1:{}{path}", lab.port);
        let site = lab.site(&at("/os.swu"), "");
        lab.says("name its file in uplink.caFiles").await;
        drop(site);
        let site = lab.site(&at("/plain"), "caFiles: [ca.pem]");
        lab.says("redirects to plain http").await;
        drop((site, nginx));
        // for a machine without a battery for its clock every certificate is of the future
        lab.certificate("20900101000000Z");
        let nginx = lab.nginx().await;
        let site = lab.site(&at("/os.swu"), "caFiles: [ca.pem]");
        lab.says("not valid yet by this machine's clock").await;
        drop(nginx);
        assert!(!lab.cached("").exists());
        lab.certificate("20200101000000Z");
        let _nginx = lab.nginx().await;
        drop(site);
        let _site = lab.site(&at("/os.swu"), "caFiles: [ca.pem]");
        lab.has_it().await;
    };
    ends(run).await;
}

/// `htpasswd -B`: the user `robot` with the password `secret`.
const HTPASSWD: &str = "robot:$2b$05$H6JlA//QZvBFDxN/JbOVLup.X3kw0x4qo/gnsXxjMpLSTO2GsVmp6\n";

#[tokio::test]
async fn a_registry_with_a_password_gives_the_layer_by_tag_and_by_digest() {
    let run = async {
        let lab = Lab::new();
        let (dir, port) = (lab.keep.path().display(), lab.port);
        fs::write(lab.path("htpasswd"), HTPASSWD).unwrap();
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {dir}/registry}}}}\nhttp: {{addr: \"127.0.0.1:{port}\"}}\n\
             auth: {{htpasswd: {{realm: plant, path: {dir}/htpasswd}}}}\n"
        );
        fs::write(lab.path("registry.yml"), config).unwrap();
        let mut command = Command::new("docker-registry");
        let _registry = Process::start(command.arg("serve").arg(lab.path("registry.yml")), &lab.path("registry.log"));
        listens(port).await;
        let manifest = push(&lab).await;
        let tag = format!("oci://127.0.0.1:{port}/fw/os:2.0");
        let site = lab.site(&tag, "");
        lab.says("uplink.credentials").await;
        drop(site);
        fs::write(lab.path("password"), "robot:secret\n").unwrap();
        let uplink = format!("credentials: {{\"http://127.0.0.1:{port}\": password}}");
        for source in [tag, format!("oci://127.0.0.1:{port}/fw/os@sha256:{manifest}")] {
            let _site = lab.site(&source, &uplink);
            lab.has_it().await;
            fs::remove_dir_all(lab.path("state")).unwrap();
        }
        let _site = lab.site(&format!("oci://127.0.0.1:{port}/fw/os:3.0"), &uplink);
        lab.says("404").await;
    };
    ends(run).await;
}

/// Pushes the artifact as the one layer of `fw/os:2.0`; the digest of its manifest.
async fn push(lab: &Lab) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let base = format!("http://127.0.0.1:{}/v2/fw/os", lab.port);
    let user = |request: reqwest::RequestBuilder| request.basic_auth("robot", Some("secret"));
    let config = b"{}".to_vec();
    let config_hex = hex(&config);
    for (bytes, hex) in [(lab.bytes.clone(), &lab.hex), (config, &config_hex)] {
        let begun = user(client.post(format!("{base}/blobs/uploads/"))).send().await.unwrap();
        let location = begun.headers()["location"].to_str().unwrap();
        let put = user(client.put(format!("{location}&digest=sha256:{hex}"))).body(bytes).send().await.unwrap();
        assert_eq!(put.status().as_u16(), 201);
    }
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let manifest = serde_json::json!({
        "schemaVersion": 2, "mediaType": kind,
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": format!("sha256:{config_hex}"), "size": 2},
        "layers": [{"mediaType": "application/octet-stream", "digest": format!("sha256:{}", lab.hex), "size": SIZE}]
    })
    .to_string();
    let digest = hex(manifest.as_bytes());
    let put = user(client.put(format!("{base}/manifests/2.0"))).header("content-type", kind).body(manifest);
    let put = put.send().await.unwrap();
    assert_eq!(put.status().as_u16(), 201, "{}", put.text().await.unwrap());
    digest
}

fn hex(bytes: &[u8]) -> String {
    lamplighter::model::Digest::new(Sha256::digest(bytes).into()).hex()
}
