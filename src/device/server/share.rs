//! One gateway's share of the bodies: a client that asks for its artifact over and over must not keep the others waiting.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::model::ControllerId;

/// Who has bodies on their way.
#[derive(Debug)]
pub(super) struct Shares {
    most: usize,
    bodies: RefCell<HashMap<ControllerId, Arc<Semaphore>>>,
}

/// A gateway's leave for one body, as long as it lives.
#[derive(Debug)]
pub(super) struct Share {
    shares: Rc<Shares>,
    gateway: ControllerId,
    /// `None` only while it is dropped.
    permit: Option<OwnedSemaphorePermit>,
}

impl Shares {
    /// So many for each.
    pub(super) fn new(most: usize) -> Self {
        Self { most, bodies: RefCell::default() }
    }

    fn of(&self, gateway: &ControllerId) -> Arc<Semaphore> {
        let mut bodies = self.bodies.borrow_mut();
        Arc::clone(bodies.entry(gateway.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.most))))
    }

    /// A share that is free now.
    pub(super) fn try_take(self: &Rc<Self>, gateway: &ControllerId) -> Option<Share> {
        let permit = self.of(gateway).try_acquire_owned().ok()?;
        Some(self.share(gateway, permit))
    }

    /// A share, once there is one.
    pub(super) async fn take(self: &Rc<Self>, gateway: &ControllerId) -> Option<Share> {
        let permit = self.of(gateway).acquire_owned().await.ok()?;
        Some(self.share(gateway, permit))
    }

    fn share(self: &Rc<Self>, gateway: &ControllerId, permit: OwnedSemaphorePermit) -> Share {
        Share { shares: Rc::clone(self), gateway: gateway.clone(), permit: Some(permit) }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut bodies = self.shares.bodies.borrow_mut();
        // nobody has one, and nobody waits for one
        if bodies.get(&self.gateway).is_some_and(|of| Arc::strong_count(of) == 1) {
            bodies.remove(&self.gateway);
        }
    }
}
