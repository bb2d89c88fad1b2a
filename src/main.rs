//! The `lamplighter` binary.

fn main() {}
