//! A disk in memory that loses power and fails on order: the fake under the real store.
//!
//! It keeps two images, as redb's own crash tests do: *live*, what the process reads back, and *durable*, what the platter
//! has. A sync makes everything durable; a power cut keeps a seeded subset of what was written since the last one, whole
//! writes or single sectors of them.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// What a disk writes at once.
const SECTOR: usize = 512;

/// A disk; clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct CrashDisk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    live: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Op>,
    /// Writes, length changes and syncs so far.
    steps: u64,
    bytes: u64,
    plan: Option<(u64, Fault)>,
    /// Backends from before the last power cut are dead.
    boot: u64,
    dead: bool,
}

#[derive(Debug, Clone)]
enum Op {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

/// What happens at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The power goes before it; everything fails until `power_on`.
    PowerCut,
    /// Half of it is written and then there is no space, from then on, until `heal`. A sync still works.
    NoSpace,
    /// It fails with EIO, and so does everything after it, until `heal`.
    Io,
    /// The next sync from this step on fails, and what it should have saved is saved in part, as Linux does it; later syncs
    /// work. The live image keeps it all until `drop_caches`.
    Sync,
}

impl CrashDisk {
    /// An empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// A disk with these bytes on the platter.
    pub fn with(bytes: Vec<u8>) -> Self {
        let disk = Self::new();
        disk.state(|state| {
            state.live.clone_from(&bytes);
            state.durable = bytes;
        });
        disk
    }

    /// Another disk with everything that this one has, unsynced writes included.
    pub fn copy(&self) -> Self {
        let copy = Self::new();
        self.state(|from| {
            copy.state(|to| {
                to.live.clone_from(&from.live);
                to.durable.clone_from(&from.durable);
                to.unsynced.clone_from(&from.unsynced);
            });
        });
        copy
    }

    /// What redb gets. After a power cut it is dead; take another.
    pub fn backend(&self) -> Plug {
        Plug { disk: self.clone(), boot: self.state(|state| state.boot) }
    }

    /// Plans a fault at the `n`th write, length change or sync from now on, the next being 0.
    pub fn fail_at(&self, n: u64, fault: Fault) {
        self.state(|state| state.plan = Some((state.steps + n, fault)));
    }

    /// The disk works again; a planned fault that was not reached is forgotten.
    pub fn heal(&self) {
        self.state(|state| {
            state.plan = None;
            state.dead = false;
        });
    }

    /// Writes, length changes and syncs so far.
    pub fn steps(&self) -> u64 {
        self.state(|state| state.steps)
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.state(|state| state.bytes)
    }

    /// What a process reads.
    pub fn image(&self) -> Vec<u8> {
        self.state(|state| state.live.clone())
    }

    /// The power goes and comes back: of the unsynced writes a subset is there, by `seed`; with `torn`, of each a subset of
    /// its sectors. Seed 0 keeps nothing and seed 1 everything.
    pub fn cut_power(&self, seed: u64, torn: bool) {
        self.state(|state| {
            let unsynced = std::mem::take(&mut state.unsynced);
            state.durable = subset(std::mem::take(&mut state.durable), &unsynced, seed, torn);
            state.live.clone_from(&state.durable);
            state.plan = None;
            state.dead = false;
            state.boot += 1;
        });
    }

    /// The process dies but the machine does not: every write stays, and the next process reads it.
    pub fn kill(&self) {
        self.state(|state| {
            state.plan = None;
            state.dead = false;
            state.boot += 1;
        });
    }

    /// What a failed sync left only in memory is gone.
    pub fn drop_caches(&self) {
        self.state(|state| {
            let mut image = state.durable.clone();
            for op in &state.unsynced {
                apply(&mut image, op);
            }
            state.live = image;
        });
    }

    fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }
}

fn apply(image: &mut Vec<u8>, op: &Op) {
    match op {
        Op::SetLen(len) => image.resize(*len, 0),
        Op::Write(at, data) => {
            // a write beyond an end that was not saved is not seen
            let end = image.len().min(at + data.len());
            if *at < end {
                image[*at..end].copy_from_slice(&data[..end - at]);
            }
        }
    }
}

fn subset(mut image: Vec<u8>, unsynced: &[Op], seed: u64, torn: bool) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut keep = || match seed {
        0 => false,
        1 => true,
        _ => random.bool(),
    };
    for op in unsynced {
        match op {
            Op::Write(at, data) if torn => {
                for (n, sector) in data.chunks(SECTOR).enumerate() {
                    if keep() {
                        apply(&mut image, &Op::Write(at + n * SECTOR, sector.to_vec()));
                    }
                }
            }
            op if keep() => apply(&mut image, op),
            _ => {}
        }
    }
    image
}

/// One process's view of the disk.
#[derive(Debug)]
pub struct Plug {
    disk: CrashDisk,
    boot: u64,
}

enum Outcome {
    Works,
    Half,
    FailsToSync,
}

impl Plug {
    /// Counts a step and says how it ends.
    fn step(&self, state: &mut State, sync: bool) -> io::Result<Outcome> {
        self.alive(state)?;
        let now = state.steps;
        state.steps += 1;
        match state.plan {
            Some((at, fault)) if now >= at => match fault {
                Fault::PowerCut | Fault::Io => {
                    state.dead = true;
                    Err(eio())
                }
                Fault::NoSpace if sync => Ok(Outcome::Works),
                Fault::NoSpace => Ok(Outcome::Half),
                Fault::Sync if sync => {
                    state.plan = None;
                    Ok(Outcome::FailsToSync)
                }
                Fault::Sync => Ok(Outcome::Works),
            },
            _ => Ok(Outcome::Works),
        }
    }

    fn alive(&self, state: &State) -> io::Result<()> {
        if state.dead || state.boot != self.boot { Err(eio()) } else { Ok(()) }
    }
}

/// `EIO` itself, so that its kind is the one that a disk gives.
fn eio() -> io::Error {
    io::Error::from_raw_os_error(5)
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

impl StorageBackend for Plug {
    fn len(&self) -> io::Result<u64> {
        self.disk.state(|state| self.alive(state).map(|()| state.live.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.disk.state(|state| {
            self.alive(state)?;
            let there = state.live.get(position(offset)..).and_then(|rest| rest.get(..out.len()));
            out.copy_from_slice(there.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.state(|state| {
            if matches!(self.step(state, false)?, Outcome::Half) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let op = Op::SetLen(position(len));
            apply(&mut state.live, &op);
            state.unsynced.push(op);
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.state(|state| {
            let outcome = self.step(state, true)?;
            let unsynced = std::mem::take(&mut state.unsynced);
            let fails = matches!(outcome, Outcome::FailsToSync);
            // not the live image: what an earlier sync failed to save counts as saved, and is not tried again
            let seed = if fails { state.steps + 2 } else { 1 };
            state.durable = subset(std::mem::take(&mut state.durable), &unsynced, seed, false);
            if fails { Err(eio()) } else { Ok(()) }
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.disk.state(|state| {
            let outcome = self.step(state, false)?;
            let part = if matches!(outcome, Outcome::Half) { &data[..data.len() / 2] } else { data };
            let end = position(offset) + part.len();
            if end > state.live.len() {
                let op = Op::SetLen(end);
                apply(&mut state.live, &op);
                state.unsynced.push(op);
            }
            let op = Op::Write(position(offset), part.to_vec());
            apply(&mut state.live, &op);
            state.unsynced.push(op);
            state.bytes += part.len() as u64;
            if matches!(outcome, Outcome::Half) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
        })
    }
}
