//! One artifact's way into the cache: verified where it is, else brought from the first source that has it.

use std::rc::Rc;

use super::copy::Stamp;
use super::fetch::name_of;
use super::keeper::{Done, Keeper};
use super::{ArtifactError, Cache};
use crate::model::{ArtifactFact, ArtifactSpec, Digest, Source, Sums};

impl Keeper {
    pub(super) async fn job(self: Rc<Self>, spec: ArtifactSpec) -> Done {
        let result = match self.have(&spec).await {
            Ok(sums) => self.stamped(spec.key.digest, sums).await,
            Err(error) => Err(error),
        };
        Done { spec, result }
    }

    /// With what shows later that somebody wrote into the file.
    async fn stamped(&self, digest: Digest, sums: Sums) -> Result<(Sums, Stamp), ArtifactError> {
        self.on_disk(move |cache| {
            let stamp = cache.open_file(&digest).and_then(|file| Stamp::of(&file));
            Ok((sums, stamp.map_err(ArtifactError::io("cannot open", cache.path(&digest)))?))
        })
        .await
    }

    /// What is cached is verified; what is not, or is damaged, comes from the first source that has it.
    async fn have(&self, spec: &ArtifactSpec) -> Result<Sums, ArtifactError> {
        let (digest, size) = (spec.key.digest, spec.size);
        match self.on_disk(move |cache| cache.verify(&digest, size)).await {
            Err(ArtifactError::NotCached { .. }) => {}
            Err(damaged @ ArtifactError::Damaged { .. }) => {
                tracing::error!("{damaged}");
                // until it is there again nobody is offered it
                self.tell(digest, ArtifactFact::Failed(damaged.to_string()));
            }
            result => return result,
        }
        let mut errors = Vec::new();
        for source in &spec.sources {
            match self.bring_with_room(spec, source).await {
                Err(ArtifactError::Stopped) => return Err(ArtifactError::Stopped),
                Err(error) => errors.push(error),
                sums => return sums,
            }
        }
        match errors.pop() {
            Some(only) if errors.is_empty() => Err(only),
            last => Err(ArtifactError::AllSources(errors.into_iter().chain(last).collect())),
        }
    }

    /// What nobody needs makes room, as long as there is some of it.
    async fn bring_with_room(&self, spec: &ArtifactSpec, source: &Source) -> Result<Sums, ArtifactError> {
        loop {
            let result = self.bring(spec, source).await;
            match result.as_ref().err().and_then(ArtifactError::short_of) {
                Some(short) if self.make_room(short, &spec.key).await => {}
                _ => return result,
            }
        }
    }

    async fn bring(&self, spec: &ArtifactSpec, source: &Source) -> Result<Sums, ArtifactError> {
        if let Source::File { dir, name } = source {
            let (spec, dir, name) = (spec.clone(), dir.clone(), name.clone());
            return self.on_disk(move |cache| cache.copy_in(&spec, &dir, &name)).await;
        }
        let _turn = self.uplink.acquire().await.map_err(|_| ArtifactError::Stopped)?;
        let digest = spec.key.digest;
        self.asks(digest, name_of(source));
        let moved = |bytes| {
            let mut state = self.state.borrow_mut();
            state.busy.entry(digest).or_default().moved(bytes);
            state.wanted.contains(&digest)
        };
        self.fetcher.fetch(&self.cache, spec, source, &moved).await
    }

    pub(super) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cache) -> Result<T, ArtifactError> + Send + 'static,
    ) -> Result<T, ArtifactError> {
        let _turn = self.disk.acquire().await.map_err(|_| ArtifactError::Stopped)?;
        let cache = self.cache.clone();
        tokio::task::spawn_blocking(move || work(&cache)).await.unwrap_or(Err(ArtifactError::Stopped))
    }

    /// Another source is asked; that it begins at all is worth a row, that it is tried again is not.
    fn asks(&self, digest: Digest, source: String) {
        let first = {
            let state = &mut *self.state.borrow_mut();
            let job = state.busy.entry(digest).or_default();
            let first = job.progress().source.is_none() && !state.failed.contains_key(&digest);
            job.asks(source.clone());
            first
        };
        if first {
            self.tell(digest, ArtifactFact::Fetching(source));
        }
    }
}
