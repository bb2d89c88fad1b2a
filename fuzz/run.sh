#!/usr/bin/env bash
# The device API under libFuzzer, with the pinned toolchain: coverage is a pass of LLVM that every compiler has, and no sanitizer is
# missed where there is no unsafe code. Needs a C++ compiler, and installs Debian's if there is none.
#
#   run.sh [SECONDS]    60 if not said; fails if an input breaks a promise of fuzz_targets/answer.rs, and names its file
#   run.sh FILE         only that input
#
# What it learns stays in fuzz/target/corpus, so that the next run goes on from there; fuzz/seeds is where every run begins.
set -euo pipefail

cd "$(dirname "$0")/.."
what=${1:-60}
host=$(rustc -vV | sed -n 's/^host: //p')

install_compiler() {
	command -v c++ >/dev/null && return
	local root=()
	[[ $(id -u) -eq 0 ]] || root=(sudo -n)
	"${root[@]}" apt-get update -qq
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++
}

# Every dependency as it is in what is shipped: libFuzzer itself is all that this lock has beside.
build() {
	cp Cargo.lock fuzz/Cargo.lock
	RUSTC_WRAPPER=$PWD/fuzz/coverage.sh \
		cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target-dir fuzz/target --target "$host"
}

install_compiler >&2 </dev/null
build >&2
fuzzer=fuzz/target/$host/release/answer
mkdir -p fuzz/target/corpus fuzz/target/crashes
if [[ $what =~ ^[0-9]+$ ]]; then
	exec "$fuzzer" -max_total_time="$what" -max_len=4096 -timeout=5 -rss_limit_mb=1024 -dict=fuzz/ddi.dict \
		-artifact_prefix=fuzz/target/crashes/ -verbosity=0 -print_final_stats=1 fuzz/target/corpus fuzz/seeds
fi
exec "$fuzzer" "$what"
