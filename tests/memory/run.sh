#!/usr/bin/env bash
# The release binary serves a rollout to 500 simulated gateways and stays within its memory budget: 12 MB (12,000,000
# bytes, 11,718 KiB) of peak resident memory. Over plain HTTP, and over TLS.
set -euo pipefail

readonly BUDGET_KIB=11718

cd "$(dirname "$0")/../.."
cargo build --locked --release

figure() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" <<<"$report" | head -n 1; }

# measure NAME [flag of simulate]…
measure() {
	local name=$1 peak code
	report=$(target/release/lamplighter simulate --gateways 500 -o json "${@:2}" </dev/null) || {
		code=$?
		echo "$report"
		echo "memory: the simulation over $name failed with exit code $code" >&2
		exit 1
	}
	echo "$report"
	peak=$(figure peakRssKiB)
	[[ $peak =~ ^[0-9]+$ ]] || { echo "memory: the report has no server.peakRssKiB" >&2; exit 1; }
	echo "memory: $name: peak RSS $peak KiB of $BUDGET_KIB, RssAnon $(figure rssAnonKiB) KiB, CPU $(figure cpuSeconds) s, $(figure updated) of $(figure gateways) gateways updated"
	((peak <= BUDGET_KIB)) || { echo "memory: $name: peak RSS $peak KiB is over the budget of $BUDGET_KIB KiB" >&2; exit 1; }
}

measure "plain HTTP"
measure TLS --tls
