//! Has the linker lay out the program that is shipped, see release/layout.ld.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=release");
    let is = |variable, value| env::var(variable).is_ok_and(|is| is == value);
    // what is recorded are the names of one architecture, and only an optimised program aborts on a panic
    if is("CARGO_CFG_TARGET_ENV", "musl") && is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("PROFILE", "release") {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/release");
        let map = env::var("OUT_DIR").unwrap_or_default() + "/layout.map";
        println!("cargo:rustc-link-arg-bins=-L{directory}");
        println!("cargo:rustc-link-arg-bins=-Wl,-Map,{map}");
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{directory}/layout.ld");
        // musl reads addresses to relocate as ranges: a quarter of a megabyte less
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
