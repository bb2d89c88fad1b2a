//! Bodies: the artifact's, piece by piece to the disk; and small ones, whole.

use std::time::Duration;

use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::error::RemoteError;
use super::pace::{LeastSpeed, Pace, Speed};
use crate::artifact::ArtifactError;
use crate::artifact::copy::BUFFER;

/// Bytes wait so long at most for their way to the disk.
const GATHER: Duration = Duration::from_secs(1);

/// How a body ended.
#[derive(Debug)]
pub(super) enum End {
    /// The server says that this was all.
    Whole,
    /// What came until then is on the disk.
    Broken(RemoteError),
}

/// Hands the body over in pieces of about [`BUFFER`] bytes; what came before it broke is handed over too.
pub(super) async fn pour(
    mut response: Response,
    pace: &Pace,
    least: &LeastSpeed,
    mut to: impl AsyncFnMut(Vec<u8>) -> Result<Vec<u8>, ArtifactError>,
) -> Result<End, ArtifactError> {
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut speed = Speed::default();
    let mut since = Instant::now();
    let end = loop {
        let asked = Instant::now();
        let chunk = match timeout(least.silence, response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => break End::Whole,
            Ok(Err(_)) => break End::Broken(RemoteError::Cut),
            Err(_) => break End::Broken(RemoteError::Slow),
        };
        let fast = speed.came(least, asked.elapsed(), chunk.len());
        buffer.extend_from_slice(&chunk);
        if !fast {
            break End::Broken(RemoteError::Slow);
        }
        let came = chunk.len();
        drop(chunk);
        if buffer.len() >= BUFFER || since.elapsed() >= GATHER {
            buffer = to(buffer).await?;
            since = Instant::now();
        }
        pace.pay(came).await;
    };
    // the connection goes before the disk is waited for
    drop(response);
    if !buffer.is_empty() {
        to(buffer).await?;
    }
    Ok(end)
}

/// A whole body, or nothing if it is longer.
pub(super) async fn read_small(mut response: Response, longest: usize) -> Result<Option<Vec<u8>>, RemoteError> {
    let least = LeastSpeed::default();
    let mut body = Vec::new();
    let mut speed = Speed::default();
    loop {
        let asked = Instant::now();
        let chunk = timeout(least.silence, response.chunk()).await.map_err(|_| RemoteError::Slow)?;
        let Some(chunk) = chunk.map_err(|_| RemoteError::Cut)? else { return Ok(Some(body)) };
        if chunk.len() > longest - body.len() {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
        if !speed.came(&least, asked.elapsed(), chunk.len()) {
            return Err(RemoteError::Slow);
        }
    }
}
