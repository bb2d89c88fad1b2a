#!/usr/bin/env bash
# Boots a real systemd as PID 1 of namespaces of its own, over an overlay of the root file system: nothing outside is written.
# Started by run.sh under unshare; LAB is a scratch directory, BINARY what is tested.
set -euo pipefail

mount --make-rprivate /
lab=${LAB:?a scratch directory}/lab
mkdir -p "$lab"
mount -t tmpfs tmpfs "$lab"
mkdir -p "$lab/up" "$lab/work" "$lab/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$lab/up,workdir=$lab/work" "$lab/root"
cp "${BINARY:?the binary}" "$lab/root/usr/local/bin/lamplighter"
cd "$lab/root"
mkdir -p old
mount -t proc proc proc
mount --rbind /dev dev
mount -t sysfs sysfs sys || true
# without a /run and /tmp of its own it would clean up those that are shared
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p sys/fs/cgroup
mount -t cgroup2 none sys/fs/cgroup
cat >etc/systemd/system/lab.target <<-UNIT
	[Unit]
	Requires=basic.target dbus.service
	After=basic.target dbus.service
	AllowIsolate=yes
UNIT
pivot_root . old
umount -l old || true
export container=lab
exec /lib/systemd/systemd --system --unit=lab.target --log-target=console --log-level=notice </dev/null
