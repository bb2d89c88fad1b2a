//! The load's side: one thread for all of it, so that the other core is the site's.

use tokio::task::{LocalSet, spawn_local};

pub fn in_one_thread<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, work)
}

/// So many at once, each with its number, and what they say in that order.
pub async fn together<T: 'static, F: Future<Output = T> + 'static>(count: usize, one: impl Fn(usize) -> F) -> Vec<T> {
    let running: Vec<_> = (0..count).map(|number| spawn_local(one(number))).collect();
    let mut said = Vec::with_capacity(count);
    for one in running {
        said.push(one.await.unwrap());
    }
    said
}
