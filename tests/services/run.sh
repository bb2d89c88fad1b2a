#!/usr/bin/env bash
# Services with a real systemd, its D-Bus and its units: boots one beside this machine's, runs a command with LAB_PID set to its
# PID 1, and ends it. Installs Debian's packages for that if they are missing. Needs root. Fails loudly.
#
#   run.sh COMMAND…
set -euo pipefail

cd "$(dirname "$0")/../.."
say() { echo "test-services: $*" >&2; }

[[ $(id -u) -eq 0 ]] || { say "needs root: a systemd of its own has to mount file systems"; exit 1; }
packages=()
[[ -x /lib/systemd/systemd ]] || packages+=(systemd)
command -v dbus-daemon >/dev/null || packages+=(dbus)
command -v nsenter >/dev/null || packages+=(util-linux)
if [[ ${#packages[@]} -gt 0 ]]; then
	apt-get update -qq </dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" </dev/null
fi

scratch=$(mktemp -d)
BINARY=$(readlink -f "${LAMPLIGHTER:?the binary to test}")
export BINARY
LAB=$scratch setsid unshare --fork --pid --mount --cgroup --uts --ipc --kill-child \
	tests/services/systemd.sh >"$scratch/log" 2>&1 &
unshare=$!
finish() {
	code=$?
	if [[ $code -ne 0 ]]; then
		say "what systemd said:"
		tail -n 40 "$scratch/log" >&2
	fi
	# with PID 1 goes everything in its namespace
	kill -KILL "${LAB_PID:-$unshare}" 2>/dev/null || true
	wait "$unshare" 2>/dev/null || true
	rm -rf "$scratch"
}
trap finish EXIT

for _ in $(seq 600); do
	LAB_PID=$(pgrep -P "$unshare" || true)
	if [[ -n $LAB_PID ]] && nsenter -t "$LAB_PID" -a systemctl is-active --quiet lab.target 2>/dev/null; then
		break
	fi
	kill -0 "$unshare" 2>/dev/null || { say "systemd does not boot here"; exit 1; }
	sleep 0.2
done
nsenter -t "$LAB_PID" -a systemctl is-active --quiet lab.target || { say "systemd is not up after two minutes"; exit 1; }
export LAB_PID
"$@"
