#!/usr/bin/env bash
# Records what a site runs at rest, at work and where it follows an API server, as lists for release/layout.ld. To be run before a release, and after much has
# changed: what is not on the lists costs memory, nothing else. Needs gcc, x86-64, what tests/cluster needs, and the right to trace
# processes.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -O1 -Wall release/record.c -o "$work/record"

binary=$(release/build.sh)
map=$(ls -t "$(dirname "$binary")"/build/lamplighter-*/out/layout.map | head -n 1)

# Each function is a section of its own: where it lies, and what it is called.
awk '/^ \.text\./ { name = $1; if (NF == 1) getline; else sub(/^ [^ ]+/, ""); if ($2 != "0x0") print substr($1, 3), name }' "$map" |
	sed 's/^0*//' >"$work/functions"
cut -d' ' -f1 "$work/functions" >"$work/offsets"

record() { # NAME COMMAND...
	echo "layout: recording $1" >&2
	"$work/record" "$binary" "$work/offsets" "$work/$1" "${@:2}" >"$work/log" 2>&1 || [[ $? == 124 ]] || { cat "$work/log" >&2; return 1; }
}

# Functions by name, without what says which compiler and which copy: all instances of a generic function lie together.
names() { # OFFSETS...
	sort -u "$@" | awk 'NR == FNR { met[$1]; next } $1 in met { print $2 }' - "$work/functions" |
		sed -E 's/(\.llvm)?\.[0-9]+$/*/; s/17h[0-9a-f]{16}E/17h*/; s/Cs[0-9a-zA-Z]+_/Cs*_/g' | sort -u
}

write() { # LIST, names on stdin
	sed 's/.*/*(&)/' >"$work/list"
	mv "$work/list" "release/$1.ld"
	echo "layout: $(wc -l <"release/$1.ld") functions in release/$1.ld" >&2
}

# What follows an API server is recorded through its tests, against a real one. What is recorded may be slow and large.
cluster() { # NAME TEST...
	record "$1" env LAMPLIGHTER="$binary" bash -c 'cargo test --locked --quiet --test cluster "$@" -- --include-ignored --test-threads=1 || true' \
		cluster "${@:2}"
}
tests/cluster/build.sh >/dev/null
cargo test --locked --quiet --test cluster --no-run

mkdir -p "$work/site/manifests"
cat >"$work/site/site.yaml" <<-END
	apiVersion: lamplighter.dev/v1alpha1
	kind: SiteConfig
	site: layout
	state: state
	intake: {manifests: [manifests]}
	devices: {listen: "127.0.0.1:0", insecure: true}
	metrics: {listen: "127.0.0.1:0"}
END
record at_rest timeout 10 "$binary" run --config "$work/site/site.yaml"
cluster at_rest_following memory::
record plain "$binary" simulate --gateways 40 --faults 20%
record killed "$binary" simulate --gateways 20 --kill-every 5s
record tls "$binary" simulate --gateways 40 --tls
cluster following following:: offline::

names "$work/at_rest" >"$work/names"
write at_rest <"$work/names"
names "$work"/{plain,killed,tls} | comm -13 "$work/names" - >"$work/more"
write at_work <"$work/more"
# what only the link takes lies apart: most sites at work have none
names "$work"/{at_rest_following,following} | comm -13 <(sort -u "$work"/{names,more}) - | write following
