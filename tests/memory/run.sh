#!/usr/bin/env bash
# The release binary serves a rollout to 500 simulated gateways and stays within its memory budget: 12 MB (12,000,000
# bytes, 11,718 KiB) of peak resident memory.
set -euo pipefail

readonly BUDGET_KIB=11718

cd "$(dirname "$0")/../.."
cargo build --locked --release
report=$(target/release/lamplighter simulate --gateways 500 -o json </dev/null) || {
	code=$?
	echo "$report"
	echo "memory: the simulation failed with exit code $code" >&2
	exit 1
}
echo "$report"

figure() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" <<<"$report" | head -n 1; }
peak=$(figure peakRssKiB)
[[ $peak =~ ^[0-9]+$ ]] || { echo "memory: the report has no server.peakRssKiB" >&2; exit 1; }
echo "memory: peak RSS $peak KiB of $BUDGET_KIB, RssAnon $(figure rssAnonKiB) KiB, CPU $(figure cpuSeconds) s, $(figure updated) of $(figure gateways) gateways updated"
((peak <= BUDGET_KIB)) || { echo "memory: peak RSS $peak KiB is over the budget of $BUDGET_KIB KiB" >&2; exit 1; }
