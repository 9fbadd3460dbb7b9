# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The web server that gives the machines of an instance their packages."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.testbed.nodes import cgroups
from tests.testbed.paths import PACKAGE_REPOSITORY

PORT = 8180
_GROUP = "repository"
_READY_AFTER = 10.0  # seconds


def url_file(instance: Path) -> Path:
    return instance / "repository_url"


def start(instance: Path, address: str) -> str:
    """Serve the repositories on the host's side of the instance's network, and return the URL above them.

    :param address: the host's address there
    :raises TimeoutError: the server doesn't answer
    """
    stop(instance)
    url = f"http://{address}:{PORT}"
    group = cgroups.create(instance, _GROUP)
    command = [sys.executable, "-m", "http.server", "--bind", address, "--directory", str(PACKAGE_REPOSITORY), str(PORT)]
    with (instance / "repository.log").open("ab") as log:
        server = subprocess.Popen(
            ["/bin/sh", "-c", 'echo $$ > "$1/cgroup.procs" || exit 1; shift; exec "$@"', "sh", str(group), *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env={"PATH": os.environ["PATH"]},
        )
    pids = instance / "pids"
    pids.mkdir(exist_ok=True)
    (pids / "repository").write_text(f"{server.pid}\n")
    _wait_until_ready(f"{url}/gpgkey", server)
    url_file(instance).write_text(f"{url}\n")
    return url


def _wait_until_ready(url: str, server: subprocess.Popen) -> None:
    deadline = time.monotonic() + _READY_AFTER
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            opener.open(url, timeout=2).close()
            return
        except urllib.error.URLError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"{url}: no answer from the repository's server: {error.reason}") from error
            time.sleep(0.05)


def is_running(instance: Path) -> bool:
    """Whether the server's process is there."""
    return any(cgroups.processes(cgroups.instance_cgroup(instance) / _GROUP))


def stop(instance: Path) -> None:
    """End the server if it runs; ``repository_url`` stays, so the machines see a repository that doesn't answer."""
    cgroups.end(cgroups.instance_cgroup(instance) / _GROUP)
    (instance / "pids" / "repository").unlink(missing_ok=True)
