#!/usr/bin/env bash
# Plays a gateway with a real SWUpdate: it polls the site, installs what it is offered into a directory, and waits.
#
#   gateway.sh URL DEVICE_DIR [option of SWUpdate's suricatta]…
#
# `gateway.sh URL DEVICE_DIR` is the gateway as it runs; `gateway.sh URL DEVICE_DIR -c 2` is its start after the reboot: it
# reports that the new system came up well. Once DEVICE_DIR/version exists, what stands in it is reported as `gateway-os`.
# SAMPLE_CA=FILE is the authority that it trusts, for a URL with https; SAMPLE_TOKEN=TOKEN what it signs in with.
# Where a real gateway would reboot after an installation, this one leaves DEVICE_DIR/run/reboot.
set -euo pipefail

[[ $# -ge 2 ]] || { echo "usage: $0 URL DEVICE_DIR [suricatta option]…" >&2; exit 2; }
url=$1 device=$2
shift 2
command -v swupdate >/dev/null || { echo "$0: swupdate is missing; tests/real/install.sh installs it" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)

# SWUpdate puts its sockets into TMPDIR: a directory of its own lets several gateways run side by side.
mkdir -p "$device/run"
rm -f "$device/run/reboot"
export TMPDIR=$device/run
{
	echo 'globals: { verbose = true; };'
	[[ -z ${SAMPLE_CA-} ]] || echo "suricatta: { cafile = \"$SAMPLE_CA\"; };"
	[[ ! -f $device/version ]] || echo "identify: ( { name = \"gateway-os\"; value = \"$(cat "$device/version")\"; } );"
} >"$device/run/swupdate.cfg"
exec swupdate -f "$device/run/swupdate.cfg" -p "touch $device/run/reboot" -H lamplighter-sample:1.0 -k "$here/signing/test-only.crt" \
	-u "-t DEFAULT -u $url -i sample-gateway -k ${SAMPLE_TOKEN:-sample-token-change-me} -p 1 $*"
