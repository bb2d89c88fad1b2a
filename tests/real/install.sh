#!/usr/bin/env bash
# Installs what the tests with real programs need from Debian's packages, if it is missing: SWUpdate with what makes its
# images, nginx, and a registry. Fails loudly.
set -euo pipefail

readonly tools=(swupdate openssl cpio nginx docker-registry)
packages=()
for tool in "${tools[@]}"; do
	# each package is called like its program
	PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || packages+=("$tool")
done
[[ ${#packages[@]} -gt 0 ]] || exit 0

root=()
if [[ $(id -u) -ne 0 ]]; then
	command -v sudo >/dev/null || { echo "$0: needs root to install ${packages[*]}" >&2; exit 1; }
	root=(sudo)
fi
"${root[@]}" apt-get update -qq </dev/null
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null

for tool in "${tools[@]}"; do
	PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "$0: $tool is still missing after the installation" >&2; exit 1; }
done
