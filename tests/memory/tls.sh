#!/usr/bin/env bash
# The static binary serves a rollout to 500 simulated gateways over TLS and stays within its memory budget: 12 MB (12,000,000
# bytes, 11,718 KiB) of peak resident memory.
#
#   tls.sh [SIZE]           that, with an artifact of this size, such as 64Mi; 16Mi if not said
#   tls.sh --connections    what a connection that polled and stays open costs, over plain HTTP and over TLS, with 48 of them
set -euo pipefail

readonly BUDGET_KIB=11718 CONNECTIONS=48

cd "$(dirname "$0")/../.."
binary=$(release/build.sh --or-dynamic)
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT

rollout() { # SIZE
	local report code peak
	report=$("$binary" simulate --gateways 500 --artifact-size "$1" --tls -o json </dev/null) || {
		code=$?
		echo "$report"
		echo "memory: the simulation over TLS failed with exit code $code" >&2
		exit 1
	}
	figure() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" <<<"$report" | head -n 1; }
	peak=$(figure peakRssKiB)
	[[ $peak =~ ^[0-9]+$ ]] || { echo "memory: the report has no server.peakRssKiB" >&2; exit 1; }
	echo "memory: TLS, $1: peak RSS $peak KiB of $BUDGET_KIB, RssAnon $(figure rssAnonKiB) KiB, CPU $(figure cpuSeconds) s, $(figure polls) polls, $(figure updated) of $(figure gateways) gateways updated"
	# what the C library and the loader of a dynamic one take is not ours to promise
	[[ $binary == *-musl/* ]] || { echo "memory: TLS: promised for the static binary only; this is not one"; return; }
	((peak <= BUDGET_KIB)) || { echo "memory: TLS: peak RSS $peak KiB is over the budget of $BUDGET_KIB KiB" >&2; exit 1; }
}

if [[ ${1:-} != --connections ]]; then
	rollout "${1:-16Mi}"
	exit
fi

"$binary" init --dir "$dir" --site memory --host 127.0.0.1 >/dev/null
printf 'apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {name: gw-1}\nspec: {}\n' >"$dir/manifests/gw-1.yaml"
sed 's/^  tls:$/  insecure: true/; /^    certificate:/d; /^    key:/d' "$dir/site.yaml" >"$dir/plain.yaml"
token=$("$binary" token gw-1 --config "$dir/site.yaml")
request="GET /DEFAULT/controller/v1/gw-1 HTTP/1.1\r\nHost: site\r\nAuthorization: TargetToken $token\r\n\r\n"

anonymous() { awk '/^RssAnon/ { print $2 }' "/proc/$1/status"; }

# poll_and_stay ADDRESS NAME SECONDS
poll_and_stay() {
	if [[ $2 == TLS ]]; then
		{ printf "$request"; sleep "$3"; } | openssl s_client -quiet -connect "$1" -CAfile "$dir/tls/ca.crt" >/dev/null 2>&1 &
	else
		{ printf "$request" >&3; sleep "$3"; } 3<>"/dev/tcp/${1%:*}/${1#*:}" &
	fi
}

# connections NAME SITE_FILE
connections() {
	rm -f "$dir/state/endpoints.json"
	"$binary" run --config "$2" --listen 127.0.0.1:0 2>/dev/null &
	local site=$! before after at
	until [[ -s $dir/state/endpoints.json ]]; do sleep 0.1; done
	at=$(sed -n 's|.*"devices":"https\?://\([^"]*\)".*|\1|p' "$dir/state/endpoints.json")
	# the first one brings in what all share
	poll_and_stay "$at" "$1" 0.2
	sleep 3
	before=$(anonymous $site)
	for ((n = 0; n < CONNECTIONS; n++)); do poll_and_stay "$at" "$1" 20; done
	sleep 5
	after=$(anonymous $site)
	echo "memory: $1: $CONNECTIONS open connections: RssAnon from $before to $after KiB, $(((after - before) * 1024 / CONNECTIONS)) bytes each"
	kill $site
	wait $site || true
}

connections "plain HTTP" "$dir/plain.yaml"
connections TLS "$dir/site.yaml"
