# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the host must have before machines can be built and booted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

# Program that is called: Debian package that has it.
PROGRAMS = {
    "apt-ftparchive": "apt-utils",
    "dpkg-deb": "dpkg",
    "gpg": "gpg",
    "gpgconf": "gpgconf",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "mount": "mount",
    "nsenter": "util-linux",
    "ssh-keygen": "openssh-client",
    "systemd-nspawn": "systemd-container",
}
# What mmdebstrap checks Debian's archive with; Ubuntu doesn't have it by itself.
FILES = {"/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring"}


class Unmet(RuntimeError):
    """The host lacks something; the message says what, and the command that brings it."""


def missing_packages() -> list[str]:
    """Return the Debian packages whose programs are not on PATH, or whose files are not there."""
    programs = {package for program, package in PROGRAMS.items() if shutil.which(program) is None}
    return sorted(programs | {package for path, package in FILES.items() if not Path(path).exists()})


def check() -> None:
    """Check that machines can be built and booted here.

    :raises Unmet: not as root, or programs are missing
    """
    if os.geteuid() != 0:
        raise Unmet("machines need root: systemd-nspawn, mounts and network namespaces; run this as root, or go without machines (--no-machines)")
    if missing := missing_packages():
        raise Unmet(f"{', '.join(missing)} are missing; install them: apt-get install --no-install-recommends {' '.join(missing)}")
