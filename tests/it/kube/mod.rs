//! What a real API server cannot be made to do: answers by a script, each test named after its trap. Everything else is in
//! `tests/cluster`.

mod fake;
mod traps;
mod writes;

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use lamplighter::kube::{self, Condition, Desk, Link, Objects, Report, Settings, Show};
use lamplighter::model::{ApiFact, Event, ObjectName, Uid, Verdict};
use tempfile::TempDir;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{sleep, timeout};

use fake::{Fake, Reply, Request};

/// A site's part: it takes whatever it is told, and has the same to say of everything.
#[derive(Clone, Default)]
struct Heard(Rc<RefCell<Vec<Event>>>);

impl Desk for Heard {
    fn poll_interval(&self) -> Duration {
        Duration::from_secs(60)
    }

    async fn decide(&self, events: Vec<Event>) -> Option<Vec<Verdict>> {
        let verdicts = events.iter().map(|_| Verdict::Accepted).collect();
        self.0.borrow_mut().extend(events);
        Some(verdicts)
    }

    async fn report(&self, _: ObjectName, uid: Uid) -> Option<Report> {
        let conditions = vec![Condition::new("Ready", true, "Done", "")];
        Some(Report { uid, conditions, fields: serde_json::Map::new() })
    }

    async fn unshown(&self, _: Vec<String>) -> Option<Show> {
        None
    }
}

/// A follower and a writer, and the server that they talk to.
struct Lab {
    fake: Fake,
    heard: Heard,
    objects: Rc<Objects>,
    _dir: TempDir,
}

impl Lab {
    fn start(script: impl FnMut(&Request) -> Reply + 'static) -> Self {
        let fake = Fake::start(script);
        let dir = tempfile::tempdir().unwrap();
        let kubeconfig = dir.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: \"http://{}\"}}}}]\n\
             users: [{{name: u, user: {{token: t}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u, namespace: hall}}}}]\ncurrent-context: c\n",
            fake.address
        );
        std::fs::write(&kubeconfig, text).unwrap();
        let settings = Settings {
            site: "hall-7".into(),
            kubeconfig: Some(kubeconfig),
            namespace: None,
            selector: Default::default(),
            files: PathBuf::from("/m"),
        };
        let (heard, objects) = (Heard::default(), Objects::new());
        spawn_local(kube::follow(settings.clone(), objects.clone(), heard.clone()));
        spawn_local(kube::write(settings, objects.clone(), heard.clone()));
        Self { fake, heard, objects, _dir: dir }
    }

    /// How many complete lists the site was told of.
    fn lists(&self) -> usize {
        self.heard.0.borrow().iter().filter(|event| matches!(event, Event::ApiListed(_))).count()
    }

    /// What the site was told of since, as `EdgeGateway/press-1`.
    fn declared(&self) -> Vec<String> {
        let heard = self.heard.0.borrow();
        let listed = heard.iter().filter_map(|event| match event {
            Event::ApiListed(list) => Some(list.objects.iter().map(|(_, intent)| intent.object().to_string())),
            _ => None,
        });
        let changed = heard.iter().filter_map(|event| match event {
            Event::Api(_, fact) => match &**fact {
                ApiFact::Declared(_, intent) => Some(intent.object().to_string()),
                other => Some(format!("{other:?}")),
            },
            _ => None,
        });
        listed.flatten().chain(changed).collect()
    }

    async fn until_down(&self, words: &str) {
        until(words, || matches!(self.objects.link(), Link::Down(why) if why.contains(words))).await;
    }
}

/// Waits until something is so, on a machine that may be slow.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = timeout(Duration::from_secs(60), async {
        while !is_so() {
            sleep(Duration::from_millis(10)).await;
        }
    });
    assert!(waited.await.is_ok(), "never: {what}");
}

async fn local(scenario: impl Future<Output = ()>) {
    LocalSet::new().run_until(scenario).await;
}
