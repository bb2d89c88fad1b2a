//! A cluster of its own for a test: kine over `SQLite` and a kube-apiserver, on free ports, gone with the test.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::eventually;

/// The namespace of [`K3S`].
pub const NAMESPACE: &str = "lamplighter";
/// Our manifests.
pub const K3S: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/k3s");

/// A cluster.
pub struct Cluster {
    dir: TempDir,
    store_port: Cell<u16>,
    port: Cell<u16>,
    database: Cell<u32>,
    kine: RefCell<Option<Child>>,
    api: RefCell<Option<Child>>,
}

/// Where `build.sh` put the programs.
pub fn programs() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let build = || {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/build.sh");
        let built = Command::new(script).stdin(Stdio::null()).stderr(Stdio::inherit()).output().unwrap();
        assert!(built.status.success(), "tests/cluster/build.sh: {}", built.status);
        PathBuf::from(String::from_utf8(built.stdout).unwrap().trim())
    };
    BUILT.get_or_init(build).clone()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A program that ends with the thread that started it, however that ends.
fn mortal(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(programs().join(program)).stdin(Stdio::null());
    command
}

impl Cluster {
    /// An empty one, running, with our namespace, our Role and our definitions.
    pub fn start() -> Self {
        let cluster = Self::bare();
        cluster.prepare();
        cluster
    }

    /// An empty one, running, that knows nothing of us.
    pub fn bare() -> Self {
        let dir = TempDir::new().unwrap();
        let cluster = Self {
            dir,
            store_port: Cell::new(free_port()),
            port: Cell::new(free_port()),
            database: Cell::new(0),
            kine: RefCell::default(),
            api: RefCell::default(),
        };
        let key = Command::new("openssl").args(["genrsa", "-out"]).arg(cluster.path("sa.key")).output().unwrap();
        assert!(key.status.success(), "{key:?}");
        cluster.write_tokens("lamplighter-token");
        cluster.up();
        cluster
    }

    /// Our namespace, our Role and our definitions, as a person installs them.
    pub fn prepare(&self) {
        let k3s = |file: &str| format!("{K3S}/base/{file}");
        self.kubectl(&["apply", "-f", &k3s("namespace.yaml"), "-f", &k3s("role.yaml")]);
        let crds = crate::binary().arg("crds").output().unwrap();
        self.kubectl_with(&["apply", "--server-side", "-f", "-"], &crds.stdout);
        let kinds = ["otarollouts", "edgegateways", "edgeservices"];
        let kinds = kinds.map(|kind| format!("crd/{kind}.lamplighter.dev"));
        // refused for the moment in which they have no status at all
        eventually("the kinds are established", || {
            let wait = ["wait", "--for=condition=Established", &kinds[0], &kinds[1], &kinds[2], "--timeout=60s"];
            self.try_kubectl(&wait, b"").status.success().then_some(())
        });
        // served a moment after they are established
        eventually("the kinds are served", || {
            self.try_kubectl(&["get", "ota,egw,esvc"], b"").status.success().then_some(())
        });
    }

    /// The users: the administrator, ours, and one that may do nothing.
    pub fn write_tokens(&self, ours: &str) {
        let text = format!(
            "admin-token,admin,1,\"system:masters\"\n{ours},system:serviceaccount:lamplighter:lamplighter,2\n\
             other-token,nobody,3\n"
        );
        fs::write(self.path("tokens.csv"), text).unwrap();
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts what does not run, and waits until it is ready.
    pub fn up(&self) {
        let log = |name: &str| File::options().create(true).append(true).open(self.path(name)).unwrap();
        if self.kine.borrow().is_none() {
            let database = self.path(&format!("kine-{}.db", self.database.get()));
            let kine = mortal("kine")
                .arg("--endpoint")
                .arg(format!("sqlite://{}?_journal=WAL&cache=shared&_busy_timeout=30000", database.display()))
                .args(["--listen-address", &format!("127.0.0.1:{}", self.store_port.get())])
                .args(["--metrics-bind-address=0", "--compact-interval=5s", "--compact-min-retain=1"])
                .stdout(log("kine.log"))
                .stderr(log("kine.log"))
                .spawn()
                .unwrap();
            self.kine.replace(Some(kine));
        }
        if self.api.borrow().is_none() {
            let at = |flag: &str, name: &str| format!("--{flag}={}", self.path(name).display());
            let api = mortal("kube-apiserver")
                .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.store_port.get()))
                .args([at("cert-dir", "certs"), at("token-auth-file", "tokens.csv")])
                .args([at("service-account-key-file", "sa.key"), at("service-account-signing-key-file", "sa.key")])
                .args([format!("--secure-port={}", self.port.get()), "--bind-address=127.0.0.1".into()])
                .args([
                    "--service-account-issuer=https://kubernetes.default.svc",
                    "--authorization-mode=RBAC",
                    "--service-cluster-ip-range=10.0.0.0/24",
                    "--disable-admission-plugins=ServiceAccount",
                    "--profiling=false",
                    "--watch-cache=true",
                ])
                .stdout(log("api.log"))
                .stderr(log("api.log"))
                .spawn()
                .unwrap();
            self.api.replace(Some(api));
        }
        let begin = Instant::now();
        loop {
            let ready = self.path("certs/apiserver.crt").exists()
                && self.try_kubectl(&["get", "--raw", "/readyz"], b"").stdout == b"ok";
            if ready {
                return;
            }
            if let Some(status) = self.api.borrow_mut().as_mut().unwrap().try_wait().unwrap() {
                panic!("kube-apiserver ended with {status}: {}", self.log());
            }
            assert!(begin.elapsed() < Duration::from_secs(180), "kube-apiserver is not ready: {}", self.log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Where the API server is.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port.get()).into()
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.path("api.log")).unwrap_or_default();
        log.chars().rev().take(4_000).collect::<Vec<_>>().into_iter().rev().collect()
    }

    /// Stops the API server; what it knows stays.
    pub fn down(&self) {
        end(&self.api);
    }

    /// Another cluster behind the same address: nothing of before is known.
    pub fn become_another(&self) {
        self.down();
        end(&self.kine);
        self.database.set(self.database.get() + 1);
        self.up();
    }

    /// The cluster of before again.
    pub fn become_the_first_again(&self) {
        self.down();
        end(&self.kine);
        self.database.set(0);
        self.up();
    }

    /// Everything but the newest is forgotten, so that a watch cannot go on from where it was.
    pub fn until_compacted(&self) {
        assert!(self.kine.borrow().is_some());
        // by itself, every five seconds
        std::thread::sleep(Duration::from_secs(12));
    }

    /// It holds its connections and answers nothing.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.api.borrow().as_ref().unwrap()), signal).unwrap();
    }

    /// A kubeconfig for a user with this token.
    pub fn kubeconfig(&self, name: &str, user: &str) -> PathBuf {
        let file = self.path(&format!("{name}.kubeconfig"));
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: lab, cluster: {{server: \"https://127.0.0.1:{}\", \
             certificate-authority: \"{}\"}}}}]\nusers: [{{name: {name}, user: {{{user}}}}}]\n\
             contexts: [{{name: lab, context: {{cluster: lab, user: {name}, namespace: {NAMESPACE}}}}}]\n\
             current-context: lab\n",
            self.port.get(),
            self.path("certs/apiserver.crt").display()
        );
        fs::write(&file, text).unwrap();
        file
    }

    /// What a site is given: the service account of our Role.
    pub fn for_a_site(&self) -> PathBuf {
        self.kubeconfig("lamplighter", "token: lamplighter-token")
    }

    /// kubectl as the administrator; what it printed.
    pub fn kubectl(&self, args: &[&str]) -> String {
        self.kubectl_with(args, b"")
    }

    /// The same with something to read.
    pub fn kubectl_with(&self, args: &[&str], input: &[u8]) -> String {
        let output = self.try_kubectl(args, input);
        assert!(output.status.success(), "kubectl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn try_kubectl(&self, args: &[&str], input: &[u8]) -> Output {
        let admin = self.kubeconfig("admin", "token: admin-token");
        let mut child = Command::new(programs().join("kubectl"))
            .arg("--kubeconfig")
            .arg(admin)
            .args(["--cache-dir", self.path("kubectl").to_str().unwrap()])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    pub fn apply(&self, yaml: &str) {
        self.kubectl_with(&["apply", "-f", "-"], yaml.as_bytes());
    }

    /// An object, if it is there.
    pub fn get(&self, what: &str) -> Option<Value> {
        let output = self.try_kubectl(&["get", what, "-o", "json", "--show-managed-fields"], b"");
        output.status.success().then(|| serde_json::from_slice(&output.stdout).unwrap())
    }

    /// Status and reason of an object's condition, such as `False Soaking`.
    pub fn condition(&self, what: &str, kind: &str) -> Option<String> {
        let object = self.get(what)?;
        let all = object["status"]["conditions"].as_array()?;
        let found = all.iter().find(|condition| condition["type"] == kind)?;
        Some(format!("{} {}", found["status"].as_str()?, found["reason"].as_str()?))
    }

    /// Waits until an object's condition is so.
    pub fn until(&self, what: &str, kind: &str, wanted: &str) {
        let mut last = None;
        let end = Instant::now() + Duration::from_secs(150);
        while last.as_deref() != Some(wanted) {
            assert!(Instant::now() < end, "{what} never became {kind} {wanted}; it is {last:?}");
            last = self.condition(what, kind);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn end(process: &RefCell<Option<Child>>) {
    if let Some(mut process) = process.take() {
        let _ = process.kill();
        let _ = process.wait();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        end(&self.api);
        end(&self.kine);
    }
}
