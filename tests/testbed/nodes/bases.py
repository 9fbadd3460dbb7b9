# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian file systems that machines boot from: built once per suite and recipe, never written to afterwards."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.testbed.paths import BASES

SUITES = ("bookworm", "trixie")
RECIPE = Path(__file__).parent / "recipe"
PACKAGES = (
    "ca-certificates",
    "containerd",
    "dbus",
    "gpg",
    "gpgv",
    "iproute2",
    "kmod",
    "openssh-server",
    "pciutils",
    "procps",
    "python3",
    "python3-apt",
    "python3-debian",
    "runc",
    "systemd",
    "systemd-sysv",
)
# Nothing on a test node reads these, and they are half of the size.
LEFT_OUT = ("doc", "i18n", "locale", "man")
MIRROR_VARIABLE = "GPUFLEET_DEBIAN_MIRROR"


def recipe_key(suite: str) -> str:
    """Return a short hash that changes whenever the base of ``suite`` would come out differently."""
    digest = hashlib.sha256(repr((suite, PACKAGES, LEFT_OUT)).encode())
    for path in sorted(RECIPE.rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(RECIPE)} {path.stat().st_mode & 0o111:o}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def base_dir(suite: str) -> Path:
    """Return the folder of the base of ``suite`` as the recipe stands now; it may not be built yet.

    :raises ValueError: no recipe makes that suite
    """
    if suite not in SUITES:
        raise ValueError(f"suite {suite!r}: expected one of {', '.join(SUITES)}")
    return BASES / f"{suite}-{recipe_key(suite)}"


def select_mirror(index_targets: str) -> str | None:
    """Return the Debian mirror among apt's index targets, or None where apt has none.

    :param index_targets: lines of origin, codename and repository URI, separated by ``|``
    """
    for line in index_targets.splitlines():
        origin, codename, uri = line.split("|")
        if origin == "Debian" and "-" not in codename:
            return uri
    return None


def debian_mirror() -> str | None:
    """Return the mirror to build from: the variable's, else that of this machine's apt, else None (mmdebstrap's own default)."""
    if os.environ.get(MIRROR_VARIABLE):
        return os.environ[MIRROR_VARIABLE]
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN)|$(CODENAME)|$(REPO_URI)", "Created-By: Packages"]
    return select_mirror(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@contextmanager
def _locked(suite: str) -> Iterator[None]:
    BASES.mkdir(parents=True, exist_ok=True)
    with (BASES / f".{suite}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _bootstrap(suite: str, target: Path) -> None:
    log = BASES / f"{suite}.log"
    mirror = debian_mirror()
    command = [
        "mmdebstrap",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in LEFT_OUT),
        "--dpkgopt=force-unsafe-io",
        '--aptopt=Acquire::Languages "none"',
        "--skip=cleanup/reproducible",
        f"--customize-hook=sync-in {RECIPE / 'files'} /",
        f"--customize-hook={RECIPE / 'customize.sh'}",
        suite,
        str(target),
        *([mirror] if mirror else []),
    ]
    with log.open("wb") as output:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        shutil.rmtree(target, ignore_errors=True)
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise RuntimeError(f"mmdebstrap of {suite} ended with {done.returncode}; the end of {log}:\n{tail}")


def _drop_outdated(suite: str, current: Path) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    for path in BASES.glob(f"{suite}-*"):
        if path != current and str(path) not in mounts:
            shutil.rmtree(path)


def build_base(suite: str, say: Callable[[str], None]) -> Path:
    """Build the base of ``suite`` unless it is there, and drop those of older recipes that no running machine has mounted.

    :param say: called with a line per step
    :raises RuntimeError: mmdebstrap failed; the message has the end of its log
    """
    target = base_dir(suite)
    with _locked(suite):
        if target.exists():
            say(f"base {suite}: there already")
            return target
        say(f"base {suite}: building (about a minute)")
        unfinished = BASES / f".{suite}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        _bootstrap(suite, unfinished)
        unfinished.rename(target)
        _drop_outdated(suite, target)
        say(f"base {suite}: built")
    return target


def build_bases(say: Callable[[str], None]) -> None:
    """Build all bases at the same time."""
    with ThreadPoolExecutor(len(SUITES)) as pool:
        for done in [pool.submit(build_base, suite, say) for suite in SUITES]:
            done.result()
