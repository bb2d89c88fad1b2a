#!/usr/bin/env bash
# Installs what the tests with real programs need, if it is missing. From Debian's packages: SWUpdate with what makes its
# images, nginx, a registry, and what makes a USB stick. From PyPI, into the target directory: the client rauc-hawkbit. Fails
# loudly.
set -euo pipefail

readonly tools=(swupdate openssl cpio nginx docker-registry mkfs.vfat mcopy)
# most packages are called like their program
declare -A package_of=([mkfs.vfat]=dosfstools [mcopy]=mtools)
packages=()
for tool in "${tools[@]}"; do
	PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || packages+=("${package_of[$tool]:-$tool}")
done
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3 python3-venv)
if [[ ${#packages[@]} -gt 0 ]]; then
	root=()
	if [[ $(id -u) -ne 0 ]]; then
		command -v sudo >/dev/null || { echo "$0: needs root to install ${packages[*]}" >&2; exit 1; }
		root=(sudo)
	fi
	"${root[@]}" apt-get update -qq </dev/null
	"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null
fi

for tool in "${tools[@]}"; do
	PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "$0: $tool is still missing after the installation" >&2; exit 1; }
done

# Only its DDI classes are used, so of its dependencies only the HTTP client: the rest is for D-Bus, and has to be compiled.
venv=$(cd "$(dirname "$0")/../.." && pwd)
venv=${CARGO_TARGET_DIR:-$venv/target}/tmp/rauc-hawkbit
if ! "$venv/bin/python" -c 'import aiohttp, rauc_hawkbit' 2>/dev/null; then
	mkdir -p "$(dirname "$venv")"
	python3 -m venv --clear "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check --no-deps rauc-hawkbit==0.2.0
	"$venv/bin/pip" install -q --disable-pip-version-check --no-warn-conflicts aiohttp==3.14.5
	"$venv/bin/python" -c 'import aiohttp, rauc_hawkbit'
fi
