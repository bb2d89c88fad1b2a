//! What services read, on a real file system: as the kubelet writes it, as people write it, and where nothing is heard.

mod files;
mod kubelet;
mod limits;
mod maps;
mod seen;
