//! The store against power cuts, full disks, garbled files and its own past.

mod crash;
mod damage;
mod directory;
mod faults;
mod handle;
mod journal;
mod marker;
mod measure;
mod sample;
