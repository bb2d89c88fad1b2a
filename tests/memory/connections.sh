#!/usr/bin/env bash
# What a connection that polled and stays open costs the release binary in memory, over plain HTTP and over TLS: 48 of
# them, as many as are ever open.
set -euo pipefail

readonly CONNECTIONS=48

cd "$(dirname "$0")/../.."
cargo build --locked --release --quiet
binary=$PWD/target/release/lamplighter
dir=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir"' EXIT

"$binary" init --dir "$dir" --site memory --host 127.0.0.1 >/dev/null
printf 'apiVersion: lamplighter.dev/v1alpha1\nkind: EdgeGateway\nmetadata: {name: gw-1}\nspec: {}\n' >"$dir/manifests/gw-1.yaml"
token=$("$binary" token gw-1 --config "$dir/site.yaml")
request="GET /DEFAULT/controller/v1/gw-1 HTTP/1.1\r\nHost: site\r\nAuthorization: TargetToken $token\r\n\r\n"

rss() { awk '/^RssAnon/ { print $2 }' "/proc/$1/status"; }

# measure NAME SITE_FILE
measure() {
	rm -f "$dir/state/endpoints.json"
	"$binary" run --config "$2" --listen 127.0.0.1:0 2>/dev/null &
	local site=$! before after at
	until [[ -s $dir/state/endpoints.json ]]; do sleep 0.1; done
	at=$(sed -n 's|.*"devices":"https\?://\([^"]*\)".*|\1|p' "$dir/state/endpoints.json")
	sleep 2
	open "$at" "$1" 0.2
	sleep 3
	before=$(rss $site)
	for ((n = 0; n < CONNECTIONS; n++)); do open "$at" "$1" 20; done
	sleep 5
	after=$(rss $site)
	echo "memory: $1: RssAnon $before KiB, with $CONNECTIONS connections open $after KiB: $(((after - before) * 1024 / CONNECTIONS)) bytes each"
	kill $site
	wait $site || true
}

# open ADDRESS NAME SECONDS: polls once and stays open for so long.
open() {
	if [[ $2 == TLS ]]; then
		{ printf "$request"; sleep "$3"; } | openssl s_client -quiet -connect "$1" -CAfile "$dir/tls/ca.crt" >/dev/null 2>&1 &
	else
		{ printf "$request" >&3; sleep "$3"; } 3<>"/dev/tcp/${1%:*}/${1#*:}" &
	fi
}

sed 's/^  tls:$/  insecure: true/; /^    certificate:/d; /^    key:/d' "$dir/site.yaml" >"$dir/plain.yaml"
measure "plain HTTP" "$dir/plain.yaml"
measure TLS "$dir/site.yaml"
