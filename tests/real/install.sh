#!/usr/bin/env bash
# Installs what the tests with real programs need from Debian's packages, if it is missing: SWUpdate with what makes its
# images, nginx, a registry, and what makes a USB stick. Fails loudly.
set -euo pipefail

readonly tools=(swupdate openssl cpio nginx docker-registry mkfs.vfat mcopy)
# most packages are called like their program
declare -A package_of=([mkfs.vfat]=dosfstools [mcopy]=mtools)
packages=()
for tool in "${tools[@]}"; do
	PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || packages+=("${package_of[$tool]:-$tool}")
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
