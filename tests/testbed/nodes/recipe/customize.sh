#!/bin/sh
# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
# Last step of a base: $1 is its root folder.
set -eu
root=$1

# Each machine gets its own on its first boot.
: > "$root/etc/machine-id"
rm -f "$root/etc/hostname" "$root/etc/resolv.conf"
: > "$root/etc/resolv.conf"

# A node reaches no mirror: the only repositories are those that somebody adds.
rm -f "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/* "$root"/etc/apt/apt.conf.d/99mmdebstrap

systemctl --root="$root" --quiet enable ssh.service containerd.service gpu-hardware.service
# No devices to manage, no console to sit at, and nothing that wakes up in the middle of a test.
systemctl --root="$root" --quiet mask systemd-udevd.service console-getty.service \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer
