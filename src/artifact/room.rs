//! Room on the disk: what nobody needs goes, the oldest first, when it is in the way or a person says so.
//!
//! What may go is not decided here: whoever knows says so, and has forgotten the file by then.

use std::fmt;
use std::pin::Pin;

use super::keeper::Keeper;
use super::listing::{CachedFile, CachedKind};
use super::{ArtifactError, Cache};
use crate::model::{ArtifactKey, Digest};

/// May this artifact of so many bytes go, which is in the way of something? Once it may it counts as gone.
type Ask = dyn Fn(Digest, u64, String) -> Pin<Box<dyn Future<Output = bool>>>;

/// Who is asked.
pub(super) struct MayGo(Box<Ask>);

/// A file that went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freed {
    /// Its name in the cache: the digest's digits, and `.part` if it was only a part.
    pub file: String,
    /// Its length.
    pub bytes: u64,
}

impl Keeper {
    /// Names whom to ask before an artifact goes; without one none ever does.
    pub fn ask_before_collecting(
        &self,
        ask: impl Fn(Digest, u64, String) -> Pin<Box<dyn Future<Output = bool>>> + 'static,
    ) {
        self.may_go.replace(Some(MayGo(Box::new(ask))));
    }

    /// Removes everything that nobody needs, on somebody's word.
    ///
    /// # Errors
    /// The cache cannot be read, or a file of it cannot be removed.
    pub async fn prune(&self, who: &str) -> Result<Vec<Freed>, ArtifactError> {
        self.free(u64::MAX, &format!("pruned by {who}")).await
    }

    /// Removes what nobody needs until so many bytes are free; was there anything?
    pub(super) async fn make_room(&self, bytes: u64, needed_for: &ArtifactKey) -> bool {
        match self.free(bytes, &format!("it made room for {needed_for}")).await {
            Ok(freed) => !freed.is_empty(),
            Err(error) => {
                tracing::warn!(%error, "no room can be made");
                false
            }
        }
    }

    async fn free(&self, bytes: u64, why: &str) -> Result<Vec<Freed>, ArtifactError> {
        let mut files = self.on_disk(Cache::files).await?;
        // a part is of less use than an artifact
        files.sort_by_key(|file| !matches!(file.kind, CachedKind::Part(_) | CachedKind::Record(_)));
        let mut freed = Vec::new();
        let mut sum: u64 = 0;
        for file in files {
            if sum >= bytes {
                break;
            }
            if self.goes(&file, why).await && self.remove(file.clone()).await? {
                let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                tracing::info!(file = name, bytes = file.size, why, "removed from the cache");
                sum = sum.saturating_add(file.size);
                freed.push(Freed { file: name, bytes: file.size });
            }
        }
        Ok(freed)
    }

    async fn goes(&self, file: &CachedFile, why: &str) -> bool {
        match file.kind {
            CachedKind::Part(digest) => self.unwanted(&digest),
            // one with a part goes with it
            CachedKind::Record(digest) => self.unwanted(&digest) && !file.path.with_extension("part").exists(),
            CachedKind::Artifact(digest) if self.unwanted(&digest) => {
                let asked = self.may_go.borrow().as_ref().map(|ask| (ask.0)(digest, file.size, why.to_owned()));
                match asked {
                    Some(asked) => asked.await,
                    None => false,
                }
            }
            CachedKind::Artifact(_) | CachedKind::Damaged | CachedKind::Other => false,
        }
    }

    /// Nobody has it in hand here. The last word before a file goes, as it may be wanted again since it was asked for.
    fn unwanted(&self, digest: &Digest) -> bool {
        let state = self.state.borrow();
        !state.wanted.contains(digest) && !state.busy.contains_key(digest)
    }

    /// False if it is wanted again by now, or gone. Whoever wants it later verifies that it is there once this is done.
    async fn remove(&self, file: CachedFile) -> Result<bool, ArtifactError> {
        let _turn = self.disk.acquire().await.map_err(|_| ArtifactError::Stopped)?;
        if let CachedKind::Artifact(digest) | CachedKind::Part(digest) | CachedKind::Record(digest) = file.kind {
            if !self.unwanted(&digest) {
                return Ok(false);
            }
            self.state.borrow_mut().ready.remove(&digest);
        }
        let cache = self.cache.clone();
        let removed = tokio::task::spawn_blocking(move || cache.remove(&file)).await;
        removed.unwrap_or(Err(ArtifactError::Stopped))
    }
}

impl fmt::Debug for MayGo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MayGo")
    }
}
