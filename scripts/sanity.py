# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run `ansible-test sanity` in a copy of this checkout, the arguments being ansible-test's.

ansible-test wants the collection in a folder that is named after it, beside the collections that it imports, and judges
every file there; so the copy has what git tracks or would track and nothing else. JUnit reports lie in the copy's tests/output.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from ansible_test._internal.host_configs import NativePythonConfig
from ansible_test._internal.python_requirements import get_venv_packages

from scripts.processes import LOGS, REPOSITORY, environment

SANITY = REPOSITORY / ".cache" / "sanity"
COLLECTIONS = SANITY / "ansible_collections"
COPY = COLLECTIONS / "gpufleet" / "k8s"
HOME = SANITY / "home"
PYTHON_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def files_of_checkout() -> list[Path]:
    """Return the files that git tracks or would track, relative to the repository's root."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    )
    return [Path(name) for name in listing.stdout.split("\0") if name and (REPOSITORY / name).is_file()]


def copy_checkout() -> None:
    shutil.rmtree(COPY, ignore_errors=True)
    for path in files_of_checkout():
        target = COPY / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / path, target, follow_symlinks=False)
    # A repository of its own: else ansible-test would ask git about this checkout, which ignores the copy.
    subprocess.run(["git", "init", "--quiet"], cwd=COPY, check=True)


def link_kubernetes_core() -> None:
    """Make kubernetes.core importable in the copy; it comes with the ansible package."""
    link = COLLECTIONS / "kubernetes" / "core"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(Path(sysconfig.get_path("purelib"), "ansible_collections", "kubernetes", "core"))


def provide_get_pip() -> None:
    """Put our pip installer where ansible-test keeps the one that it downloads."""
    pip_version = get_venv_packages(NativePythonConfig(version=PYTHON_VERSION, path=sys.executable))["pip"]
    cached = HOME / ".ansible" / "test" / "cache" / f"get_pip_{pip_version.replace('.', '_')}.py"
    cached.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(REPOSITORY / "scripts" / "get_pip.py", cached)


def ansible_test(arguments: list[str], **options: Any) -> int:
    argv = ["ansible-test", "sanity", "--python", PYTHON_VERSION, "--color", "no", *arguments]
    return subprocess.run(argv, cwd=COPY, env=environment(HOME=str(HOME)), check=False, **options).returncode


def make_virtual_environments() -> int:
    """Make what the tests run in, with pip's many lines in a log of their own; returns ansible-test's exit code."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "sanity-virtual-environments.log"
    with log.open("wb") as output:
        exit_code = ansible_test(["--prime-venvs"], stdout=output, stderr=subprocess.STDOUT)
    if exit_code != 0:
        print(f"ansible-test could not make its virtual environments, see {log.relative_to(REPOSITORY)}", flush=True)
    return exit_code


def main() -> int:
    print("copying the checkout and making virtual environments", flush=True)
    copy_checkout()
    link_kubernetes_core()
    provide_get_pip()
    return make_virtual_environments() or ansible_test(["--junit", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
