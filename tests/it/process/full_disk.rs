//! full_disk
