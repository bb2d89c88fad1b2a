//! Manifest directories, read and followed.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use lamplighter::intake::{Manifests, Pace, follow};
use lamplighter::model::{Intent, Listing, Refusal};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;

use crate::resources::{gateway, rollout};

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(dir.join(name), text).unwrap();
}

fn list(dirs: &[&Path]) -> Listing {
    Manifests::new(dirs.iter().map(|dir| dir.to_path_buf()).collect(), Duration::from_secs(60)).list()
}

fn names(listing: &Listing) -> Vec<String> {
    let name = |intent: &Intent| match intent {
        Intent::Gateway(spec) => spec.name.clone(),
        Intent::Rollout(identity, _) => identity.to_string(),
        Intent::Service(name, _) => name.to_string(),
    };
    listing.intents.iter().map(name).collect()
}

/// The reason given for the object or file whose label contains `what`.
fn why<'a>(listing: &'a Listing, what: &str) -> &'a str {
    let mut matching = listing.refused.iter().filter(|refusal| refusal.what.contains(what));
    &matching.next().unwrap_or_else(|| panic!("{what} is not refused: {listing:?}")).why
}

#[test]
fn manifests_are_read_in_the_order_of_their_names_and_other_files_are_not() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "b.yml", gateway("gw-b", "{}"));
    write(dir.path(), "a.yaml", gateway("gw-a2", "{}") + "---\n" + &gateway("gw-a1", "{}"));
    write(
        dir.path(),
        "c.json",
        "{\"apiVersion\":\"lamplighter.dev/v1alpha1\",\"kind\":\"EdgeGateway\",\"metadata\":{\"name\":\"gw-c\"}}",
    );
    write(dir.path(), ".hidden.yaml", "nonsense: [");
    write(dir.path(), "os-2.swu", [0xff; 64]);
    write(dir.path(), "notes.txt", "nonsense: [");
    std::fs::create_dir(dir.path().join("sub")).unwrap();
    write(&dir.path().join("sub"), "d.yaml", gateway("gw-d", "{}"));
    let listing = list(&[dir.path()]);
    assert_eq!(names(&listing), ["gw-a2", "gw-a1", "gw-b", "gw-c"]);
    assert_eq!(listing.refused, []);
}

#[test]
fn a_refusal_names_file_object_field_and_remedy() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "r.yaml", rollout("fw", "  attempts: 99\n"));
    let listing = list(&[dir.path()]);
    assert_eq!(listing.refused[0].what, "r.yaml: OtaRollout/fw");
    assert_eq!(listing.refused[0].why, "spec.attempts: is 99; use at most 10");
}

#[test]
fn the_same_name_or_controller_id_twice_refuses_all() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(one.path(), "a.yaml", gateway("gw", "{}") + "---\n" + &gateway("other", "{controllerId: SN-1}"));
    write(
        two.path(),
        "b.yaml",
        gateway("gw", "{controllerId: x}") + "---\n" + &gateway("third", "{controllerId: SN-1}"),
    );
    write(two.path(), "c.yaml", rollout("gw", "") + "---\n" + &gateway("fine", "{}"));
    let listing = list(&[one.path(), two.path()]);
    assert_eq!(names(&listing), ["gw", "fine"], "a rollout may be called as a gateway is");
    assert_eq!(listing.refused.len(), 4);
    assert!(why(&listing, "a.yaml: EdgeGateway/gw").contains("b.yaml: EdgeGateway/gw"));
    assert!(why(&listing, "b.yaml: EdgeGateway/gw").contains("a.yaml: EdgeGateway/gw"));
    assert!(why(&listing, "EdgeGateway/third").contains("the controller id SN-1"));
}

#[test]
fn a_gateway_whose_name_is_anothers_controller_id_is_refused() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.yaml", gateway("gw-1", "{controllerId: gw-2}") + "---\n" + &gateway("gw-2", "{}"));
    assert_eq!(list(&[dir.path()]).refused.len(), 2);
}

#[test]
fn two_sizes_of_one_digest_are_refused() {
    let dir = TempDir::new().unwrap();
    write(
        dir.path(),
        "a.yaml",
        rollout("r1", "") + "---\n" + &rollout("r2", "").replace("sizeBytes: 4", "sizeBytes: 5"),
    );
    let listing = list(&[dir.path()]);
    assert_eq!(listing.intents, []);
    assert!(why(&listing, "r1").contains("sizeBytes"));
}

#[test]
fn a_manifest_of_100_mb_is_refused_by_its_length() {
    let dir = TempDir::new().unwrap();
    std::fs::File::create(dir.path().join("big.yaml")).unwrap().set_len(100_000_000).unwrap();
    write(dir.path(), "good.yaml", gateway("gw", "{}"));
    let listing = list(&[dir.path()]);
    assert!(why(&listing, "big.yaml").contains("100000000 bytes"));
    assert_eq!(names(&listing), ["gw"]);
}

#[test]
fn links_out_of_the_directory_and_special_files_are_refused_without_blocking() {
    let (dir, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write(outside.path(), "x.yaml", gateway("gw", "{}"));
    symlink(outside.path().join("x.yaml"), dir.path().join("link.yaml")).unwrap();
    symlink("/dev/zero", dir.path().join("zero.yaml")).unwrap();
    symlink("loop.yaml", dir.path().join("loop.yaml")).unwrap();
    std::fs::create_dir(dir.path().join("dir.yaml")).unwrap();
    let status = std::process::Command::new("mkfifo").arg(dir.path().join("pipe.yaml")).status().unwrap();
    assert!(status.success());
    let listing = list(&[dir.path()]);
    assert_eq!(listing.intents, []);
    assert!(why(&listing, "link.yaml").contains("leads out"));
    assert!(why(&listing, "zero.yaml").contains("leads out"));
    assert!(why(&listing, "pipe.yaml").contains("a pipe"));
    assert!(why(&listing, "dir.yaml").contains("a directory"));
    assert!(why(&listing, "loop.yaml").contains("cannot be opened"));
}

#[test]
fn what_is_refused_is_shown_without_the_control_characters_of_its_name() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a\n\u{1b}[2J.yaml", "\"b\\e[2J\": 1");
    let listing = list(&[dir.path()]);
    let Refusal { what, why } = &listing.refused[0];
    assert!(what.starts_with("a\u{fffd}\u{fffd}[2J.yaml"), "{what:?}");
    assert!(!why.contains(char::is_control), "{why:?}");
}

#[test]
fn too_many_manifests_are_read_up_to_the_bound_and_said() {
    let dir = TempDir::new().unwrap();
    for n in 0..1_001 {
        write(dir.path(), &format!("{n:04}.yaml"), gateway(&format!("gw-{n}"), "{}"));
    }
    let listing = list(&[dir.path()]);
    assert_eq!(listing.intents.len(), 1_000);
    assert!(listing.refused[0].why.contains("1001 manifests"));
}

#[test]
fn a_directory_that_is_not_there_is_a_refusal() {
    let listing = list(&[Path::new("/nowhere/at/all")]);
    assert!(why(&listing, "/nowhere/at/all").contains("does not exist"));
}

/// Quick enough to test with, slow enough that a swap is never seen half-way.
const PACE: Pace = Pace {
    quiet: Duration::from_millis(20),
    longest: Duration::from_millis(500),
    rescan: Duration::from_secs(3_600),
    poll: Duration::from_millis(20),
};

struct Followed {
    listings: mpsc::UnboundedReceiver<Listing>,
    files: watch::Receiver<u64>,
}

impl Followed {
    async fn next(&mut self) -> Listing {
        tokio::time::timeout(Duration::from_secs(60), self.listings.recv()).await.expect("no listing came").unwrap()
    }

    /// The listing with these objects; ones on the way to it are passed over.
    async fn until(&mut self, wanted: &[&str]) -> Listing {
        loop {
            let listing = self.next().await;
            if names(&listing) == wanted {
                return listing;
            }
        }
    }

    fn nothing(&mut self) -> bool {
        self.listings.try_recv().is_err()
    }
}

async fn following(dir: &Path, pace: Pace, test: impl AsyncFnOnce(Followed)) {
    let manifests = Manifests::new(vec![dir.to_owned()], Duration::from_secs(60));
    let local = LocalSet::new();
    local
        .run_until(async {
            let (sender, listings) = mpsc::unbounded_channel();
            let (ticks, files) = watch::channel(0);
            let task =
                tokio::task::spawn_local(follow(watch::channel(manifests).1, pace, ticks, async move |listing| {
                    sender.send(listing).unwrap();
                }));
            test(Followed { listings, files }).await;
            task.abort();
        })
        .await;
}

#[tokio::test]
async fn the_first_listing_comes_at_once_and_a_new_manifest_follows() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.yaml", gateway("gw-a", "{}"));
    following(dir.path(), PACE, async |mut followed| {
        assert_eq!(names(&followed.next().await), ["gw-a"]);
        write(dir.path(), "b.yaml", gateway("gw-b", "{}"));
        followed.until(&["gw-a", "gw-b"]).await;
        std::fs::remove_file(dir.path().join("a.yaml")).unwrap();
        followed.until(&["gw-b"]).await;
    })
    .await;
}

#[tokio::test]
async fn a_swapped_configmap_volume_is_read_again_each_time() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let publish = |version: u32| {
        let data = format!("..v{version}");
        std::fs::create_dir(at(&data)).unwrap();
        write(&at(&data), "gateways.yaml", gateway(&format!("gw-{version}"), "{}"));
        symlink(&data, at("..data_tmp")).unwrap();
        std::fs::rename(at("..data_tmp"), at("..data")).unwrap();
        if version > 1 {
            std::fs::remove_dir_all(at(&format!("..v{}", version - 1))).unwrap();
        }
    };
    publish(1);
    symlink("..data/gateways.yaml", at("gateways.yaml")).unwrap();
    following(dir.path(), PACE, async |mut followed| {
        assert_eq!(names(&followed.next().await), ["gw-1"]);
        for version in 2..6 {
            publish(version);
            followed.until(&[&format!("gw-{version}")]).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_unchanged_directory_is_no_news_but_a_copied_artifact_ticks() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.yaml", rollout("r", ""));
    following(dir.path(), PACE, async |mut followed| {
        followed.next().await;
        write(dir.path(), "os-2.swu", "test");
        let changed = followed.files.changed();
        tokio::time::timeout(Duration::from_secs(60), changed).await.expect("no tick came").unwrap();
        write(dir.path(), "a.yaml", rollout("r", ""));
        tokio::time::timeout(Duration::from_secs(60), followed.files.changed()).await.expect("no tick came").unwrap();
        assert!(followed.nothing(), "the bytes are the same");
    })
    .await;
}

#[tokio::test]
async fn a_directory_that_is_made_later_or_replaced_is_followed() {
    let parent = TempDir::new().unwrap();
    let dir = parent.path().join("manifests");
    following(&dir, PACE, async |mut followed| {
        assert!(why(&followed.next().await, "manifests").contains("does not exist"));
        std::fs::create_dir(&dir).unwrap();
        write(&dir, "a.yaml", gateway("gw-a", "{}"));
        followed.until(&["gw-a"]).await;
        std::fs::rename(&dir, parent.path().join("old")).unwrap();
        std::fs::create_dir(&dir).unwrap();
        write(&dir, "b.yaml", gateway("gw-b", "{}"));
        followed.until(&["gw-b"]).await;
        write(&dir, "c.yaml", gateway("gw-c", "{}"));
        followed.until(&["gw-b", "gw-c"]).await;
    })
    .await;
}
