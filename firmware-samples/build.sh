#!/usr/bin/env bash
# Builds a small signed firmware for SWUpdate, and the manifest of a rollout that brings it to the gateways.
#
#   build.sh OUT_DIR VERSION [DEVICE_DIR]
#
# OUT_DIR/gateway-os-VERSION.swu  the image, signed with the test key in signing/
# OUT_DIR/rollout.yaml            its OtaRollout, with the digest and size of this very image (a CMS signature carries the
#                                 time, so no two builds are alike)
# OUT_DIR/gateway.yaml            the EdgeGateway that takes it
#
# DEVICE_DIR (default /tmp/lamplighter/gateway) is the directory that plays the gateway's flash: the image writes
# firmware.bin, version and installs there and nothing else anywhere.
set -euo pipefail

[[ $# -eq 2 || $# -eq 3 ]] || { echo "usage: $0 OUT_DIR VERSION [DEVICE_DIR]" >&2; exit 2; }
out=$1 version=$2 device=${3:-/tmp/lamplighter/gateway}
[[ $version =~ ^[A-Za-z0-9][A-Za-z0-9.+~_-]*$ ]] || { echo "$0: $version is no version: letters, digits and . + ~ _ -" >&2; exit 2; }
[[ $device =~ ^/[A-Za-z0-9./_-]+$ ]] || { echo "$0: $device must be an absolute path of letters, digits and . / _ -" >&2; exit 2; }
for tool in openssl cpio sha256sum; do
	command -v "$tool" >/dev/null || { echo "$0: $tool is missing; tests/real/install.sh installs what is needed" >&2; exit 1; }
done

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
out=$(cd "$out" && pwd)

fill() { sed -e "s|@VERSION@|$version|g" -e "s|@DEVICE@|$device|g" "${@:2}" "$here/$1"; }
sha256() { sha256sum "$1" | cut -d' ' -f1; }

# A quarter of a megabyte, or SAMPLE_BYTES, that does not compress and follows from the version alone.
head -c "${SAMPLE_BYTES:-262144}" /dev/zero |
	openssl enc -aes-128-ctr -K "$(printf %s "$version" | sha256sum | cut -c1-32)" -iv 0 -out "$work/firmware.bin" 2>/dev/null
fill installed.sh.in >"$work/installed.sh"
fill sw-description.in \
	-e "s|@FIRMWARE_SHA256@|$(sha256 "$work/firmware.bin")|" \
	-e "s|@SCRIPT_SHA256@|$(sha256 "$work/installed.sh")|" >"$work/sw-description"
openssl cms -sign -in "$work/sw-description" -out "$work/sw-description.sig" -outform DER -nosmimecap -binary \
	-signer "$here/signing/test-only.crt" -inkey "$here/signing/test-only.key"

# The order matters: SWUpdate reads the description and its signature before anything else.
image=gateway-os-$version.swu
(cd "$work" && printf '%s\n' sw-description sw-description.sig firmware.bin installed.sh | cpio --quiet -o -H crc) >"$out/.$image.part"
mv "$out/.$image.part" "$out/$image"

cp "$here/gateway.yaml" "$out/gateway.yaml"
fill rollout.yaml.in -e "s|@DIGEST@|sha256:$(sha256 "$out/$image")|" -e "s|@SIZE@|$(stat -c %s "$out/$image")|" >"$out/.rollout.yaml.part"
mv "$out/.rollout.yaml.part" "$out/rollout.yaml"
echo "$out/$image"
