//! The power goes at each step of a fetch: images of the cache in which what was not synced is lost or garbled.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lamplighter::model::ArtifactSpec;

use super::server::{Server, serve};
use super::{World, firmware, local, spec};

const SIZE: usize = 4 << 20;

/// What lay in the cache at a moment of the fetch.
#[derive(Clone, Default, PartialEq)]
struct Image {
    part: Option<Vec<u8>>,
    record: Option<String>,
}

impl Image {
    /// The record first: it never says more than the part has.
    fn of(world: &World, spec: &ArtifactSpec) -> Self {
        let record = fs::read_to_string(world.file(spec, ".resume")).ok();
        Self { part: fs::read(world.file(spec, ".part")).ok(), record }
    }

    /// How many bytes a power cut cannot take away.
    fn safe(&self) -> usize {
        let record = self.record.as_ref().and_then(|record| serde_json::from_str::<serde_json::Value>(record).ok());
        record.and_then(|record| record["safe"].as_u64()).unwrap_or(0).try_into().unwrap()
    }

    fn put(&self, world: &World, spec: &ArtifactSpec) {
        fs::create_dir_all(world.file(spec, "").parent().unwrap()).unwrap();
        let write = |path: &Path, bytes: Option<&[u8]>| bytes.map(|bytes| fs::write(path, bytes).unwrap());
        write(&world.file(spec, ".part"), self.part.as_deref());
        write(&world.file(spec, ".resume"), self.record.as_ref().map(String::as_bytes));
    }

    /// After the power came back: another boot, and any end for what lies behind the last safe byte.
    fn cut(&self, boot: &str) -> Vec<Self> {
        let record = self.record.as_ref().map(|record| record.replace(boot, "another boot"));
        let safe = self.safe();
        let Some(part) = &self.part else { return vec![Self { record, part: None }] };
        assert!(safe <= part.len(), "no record says more than is there: {safe} of {}", part.len());
        let with = |edit: &dyn Fn(&mut Vec<u8>)| {
            let mut part = part.clone();
            edit(&mut part);
            Self { part: Some(part), record: record.clone() }
        };
        vec![
            with(&|part| part.truncate(safe)),
            with(&|part| part.truncate(safe + (part.len() - safe) / 2)),
            with(&|part| part[safe..].fill(0)),
            with(&|part| part[safe..].iter_mut().for_each(|byte| *byte ^= 0x55)),
            Self { part: Some(part.clone()), record: None },
        ]
    }
}

#[tokio::test]
async fn whatever_a_power_cut_leaves_the_safe_bytes_are_kept_and_no_wrong_one_is() {
    local(async || {
        let (mut world, bytes) = (World::new(), firmware(SIZE));
        world.uplink.bytes_per_second = std::num::NonZeroU64::new(8 << 20);
        let file = bytes.clone();
        let server = Server::start(move |_, request| serve(request, &file, "\"a\"")).await;
        let spec = spec(&bytes, &[server.url("/os")]);
        let mut running = world.start(&spec);
        let mut images = vec![Image::default()];
        while !running.keeper.ready(&spec.key.digest) {
            let image = Image::of(&world, &spec);
            if image.part.as_ref().map(Vec::len) != images.last().unwrap().part.as_ref().map(Vec::len) {
                images.push(image);
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        running.verified().await;
        assert!(images.iter().filter(|image| image.safe() > 0).count() > 2, "{} images", images.len());
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        // a few of them, the first and the last included
        let step = images.len().div_ceil(6);
        let chosen = images.iter().step_by(step).chain(images.last());
        for left in chosen.flat_map(|image| image.cut(boot.trim())) {
            let (world, before) = (World::new(), server.sent());
            left.put(&world, &spec);
            world.fetch(&spec).await.unwrap();
            assert_eq!(world.cached(), [spec.key.digest.hex()]);
            let safe = if left.part.is_some() { left.safe() } else { 0 };
            assert_eq!(server.sent() - before, SIZE - safe, "what was safe is never fetched again");
        }
    })
    .await;
}
