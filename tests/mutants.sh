#!/bin/sh
# Mutates what holds gateways back, or these files, and says which mutants no test notices: tests/mutants.sh [FILE]...
#
# A mutant of the whole crate would take minutes to build. The rules are pure, so what they need is copied into a crate of
# its own with their tests, and a mutant takes seconds. Needs `cargo install cargo-mutants --locked`.
set -eu
cd "$(dirname "$0")/.."
if [ $# = 0 ]; then
    for name in failure_limit wave deal spread health gate approval brake room allowance window silence; do
        set -- "$@" "src/engine/$name.rs"
    done
    for name in amount gate gate_allowance wave window zone; do set -- "$@" "src/model/$name.rs"; done
fi
for file; do
    shift
    set -- "$@" --file "$file"
done

crate=${CARGO_TARGET_DIR:-target}/mutants
fresh() { rm -rf "$crate/$1" && mkdir -p "$crate/$1"; }

fresh src && mkdir "$crate/src/device" "$crate/src/store" "$crate/src/site"
fresh tests
cp -r src/model src/engine "$crate/src"
cp src/device/board.rs "$crate/src/device"
cp src/store/record.rs "$crate/src/store"
cp src/site/core.rs src/site/outlook.rs src/site/records.rs src/site/wanted.rs "$crate/src/site"
cp -r tests/it/engine "$crate/tests/engine"
cp Cargo.lock "$crate"

dependency() { grep "^$1 = " Cargo.toml; }
{
    printf '[workspace]\n[package]\nname = "lamplighter"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\n'
    for name in jiff percent-encoding ring semver serde sha2 strsim thiserror tokio url; do dependency "$name"; done
    printf '[dev-dependencies]\n'
    for name in proptest serde_json; do dependency "$name"; done
    printf '[profile.dev]\ndebug = false\n[profile.dev.package."*"]\nopt-level = 1\n'
} >"$crate/Cargo.toml"
echo 'pub mod device; pub mod engine; pub mod model; pub mod site; pub mod store;' >"$crate/src/lib.rs"
echo 'mod board; pub use board::*;' >"$crate/src/device/mod.rs"
echo 'mod record; pub use record::*;' >"$crate/src/store/mod.rs"
echo 'mod core; mod outlook; mod records; mod wanted; pub use self::core::*; pub use outlook::Outlook;' >"$crate/src/site/mod.rs"
echo 'mod engine;' >"$crate/tests/rules.rs"

cd "$crate"
# the slowest three take longer than all others, and are about other rules
exec cargo mutants --in-place --timeout 60 "$@" -- --lib --test rules -- --skip a_thousand_and_no_more \
    --skip too_many_accepted_drops --skip attribute_keys_that_come_and_go
