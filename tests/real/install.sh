#!/usr/bin/env bash
# Installs what the tests with a real SWUpdate need from Debian's packages, if it is missing. Fails loudly.
set -euo pipefail

packages=()
need() { command -v "$1" >/dev/null || packages+=("$2"); }
need swupdate swupdate
need openssl openssl
need cpio cpio
[[ ${#packages[@]} -gt 0 ]] || exit 0

root=()
if [[ $(id -u) -ne 0 ]]; then
	command -v sudo >/dev/null || { echo "$0: needs root to install ${packages[*]}" >&2; exit 1; }
	root=(sudo)
fi
"${root[@]}" apt-get update -qq </dev/null
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null

for tool in swupdate openssl cpio; do
	command -v "$tool" >/dev/null || { echo "$0: $tool is still missing after the installation" >&2; exit 1; }
done
