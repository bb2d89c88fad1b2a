#!/usr/bin/env bash
# The binary that is shipped stays within its budgets: through a rollout to 500 simulated gateways, and idle afterwards.
# Memory is in KiB; 12 MB are 11,718 KiB.
set -euo pipefail

readonly PEAK=11718 PEAK_ANON=5859 # 12 MB and 6 MB
readonly IDLE=7812 IDLE_ANON=2441  # 8 MB and 2.5 MB
readonly BINARY=10240

cd "$(dirname "$0")/../.."
binary=$(release/build.sh --or-dynamic)
dir=$(mktemp -d)
site=
trap 'end_site; rm -rf "$dir"' EXIT

failed=0
within() { # WHAT FIGURE BUDGET
	[[ $2 =~ ^[0-9]+$ ]] || { echo "memory: no figure for: $1" >&2; exit 1; }
	echo "memory: $1: $2 KiB of $3"
	(($2 <= $3)) || { echo "memory: $1 is over its budget" >&2; failed=1; }
}

start_site() { # DIR
	"$binary" run --config "$1/site.yaml" </dev/null >"$dir/log" 2>&1 &
	site=$!
	for _ in {1..300}; do
		grep -qs "\"pid\": *$site\b" "$1/state/endpoints.json" && return
		sleep 0.1
	done
	echo "memory: the site does not start: $(cat "$dir/log")" >&2
	exit 1
}

end_site() {
	[[ -n $site ]] || return 0
	kill "$site" && wait "$site" || true
	site=
}

# A figure of the site's /proc/PID/status.
status() { sed -n "s/^$1:\s*\([0-9]*\) kB/\1/p" "/proc/$site/status"; }

idle() { # WHAT DIR [BUDGET OF RSS]
	start_site "$2"
	sleep 2 # after a start everything is at rest by then
	if [[ -n ${3:-} ]]; then
		within "$1: idle RSS" "$(status VmRSS)" "$3"
	else
		echo "memory: $1: idle RSS: $(status VmRSS) KiB"
	fi
	within "$1: idle RssAnon" "$(status RssAnon)" "$IDLE_ANON"
	end_site
}

within "the binary" $(($(stat --format %s "$binary") / 1024)) "$BINARY"

report=$(TMPDIR=$dir "$binary" simulate --gateways 500 --keep -o json </dev/null) || {
	code=$?
	echo "$report"
	echo "memory: the simulation failed with exit code $code" >&2
	exit 1
}
echo "$report"
figure() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" <<<"$report" | head -n 1; }
within "500 gateways: peak RssAnon" "$(figure rssAnonKiB)" "$PEAK_ANON"

# what the C library and the loader of a dynamic one take is not ours to promise
if [[ $binary != *-musl/* ]]; then
	echo "memory: 500 gateways: peak RSS: $(figure peakRssKiB) KiB"
	echo "memory: the peak and idle memory are promised for the static binary only; this is not one"
else
	within "500 gateways: peak RSS" "$(figure peakRssKiB)" "$PEAK"
	mkdir -p "$dir/empty/manifests"
	cat >"$dir/empty/site.yaml" <<-END
		apiVersion: lamplighter.dev/v1alpha1
		kind: SiteConfig
		site: empty
		state: state
		intake: {manifests: [manifests]}
		devices: {listen: "127.0.0.1:0", insecure: true}
	END
	idle "no gateway" "$dir/empty" "$IDLE"
	# of what 500 gateways add only the anonymous part is promised: the rest are pages of the file, as many as were read
	idle "500 gateways, all updated" "$(echo "$dir"/lamplighter-simulate-*)"
	LAMPLIGHTER=$binary cargo test --locked --quiet --test cluster memory:: -- --ignored --nocapture || failed=1
fi
exit "$failed"
