#!/usr/bin/env bash
# Builds what is shipped: one static, stripped binary for any Linux of its architecture. Installs the target's standard
# library and Debian's musl-tools if they are missing. Prints where the binary is; everything else goes to stderr.
#
#   build.sh [TARGET] [--or-dynamic]
#
# TARGET is this machine's architecture with musl; for another one, bring its C compiler and linker in cargo's variables
# CC_<target> and CARGO_TARGET_<TARGET>_LINKER. With --or-dynamic a machine that cannot have the target builds for itself.
set -euo pipefail

cd "$(dirname "$0")/.."
target=$(uname -m)-unknown-linux-musl
or_dynamic=
for argument; do
	case $argument in
	--or-dynamic) or_dynamic=yes ;;
	*) target=$argument ;;
	esac
done
compiler=CC_${target//-/_}

say() { echo "release: $*" >&2; }

have_std() { [[ -d $(rustc --print sysroot)/lib/rustlib/$target/lib ]]; }

install_std() {
	have_std && return
	command -v rustup >/dev/null || {
		say "this Rust has no standard library for $target and is not rustup's: install it from where your Rust comes from"
		return 1
	}
	rustup target add "$target" >&2 </dev/null && have_std || {
		say "rustup cannot install $target: see that it reaches its server, then run: rustup target add $target"
		return 1
	}
}

install_compiler() {
	[[ -z ${!compiler-} ]] || return 0
	[[ $target == "$(uname -m)-unknown-linux-musl" ]] || { say "set $compiler to a C compiler for $target"; return 1; }
	export "$compiler=musl-gcc"
	command -v musl-gcc >/dev/null && return
	local root=()
	[[ $(id -u) -eq 0 ]] || root=(sudo -n)
	{
		"${root[@]}" apt-get update -qq &&
			"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends musl-tools
	} >&2 </dev/null && command -v musl-gcc >/dev/null || {
		say "there is no musl-gcc, and apt-get cannot install musl-tools: install it as root, or set $compiler"
		return 1
	}
}

# Nothing to load at its start, and no library: it runs on any distribution, and in an empty container.
is_static() {
	local headers
	headers=$(LC_ALL=C readelf --wide --program-headers --dynamic "$1") || return
	! grep -Eq 'INTERP|\(NEEDED\)' <<<"$headers"
}

# No clock that says a time before this is believed. The last commit's, so that the same source makes the same binary.
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || true)}"
[[ -z $SOURCE_DATE_EPOCH ]] || export SOURCE_DATE_EPOCH

if install_std && install_compiler; then
	cargo build --locked --release --bins --target "$target" >&2
	binary=${CARGO_TARGET_DIR:-target}/$target/release/lamplighter
	is_static "$binary" || { say "$binary is not static"; exit 1; }
elif [[ $or_dynamic ]]; then
	say "no static binary on this machine: going on with a dynamic one"
	cargo build --locked --release --bins >&2
	binary=${CARGO_TARGET_DIR:-target}/release/lamplighter
else
	exit 1
fi
say "$(($(stat --format %s "$binary") / 1024)) KiB"
realpath "$binary"
