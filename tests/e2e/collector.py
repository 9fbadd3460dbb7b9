# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collector alone, without Ansible: ``python3 -m tests.e2e.collector`` prints a node's evidence as JSON; ``--xml`` lets it find no NVML."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.node import collect
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS

_NOWHERE = "/nonexistent"


def evidence(*, use_nvml: bool, timeout: float = 10.0) -> dict[str, t.Any]:
    """One pass over this machine."""
    return collect(Host(run_command), SUBSETS, timeout, None if use_nvml else _NOWHERE)


def run_command(argv: t.Sequence[str], environ_update: dict[str, str], before_communicate_callback: t.Callable[[t.Any], None], **_options: t.Any) -> None:
    """As much of ``AnsibleModule.run_command`` as the collector uses: the process is taken over as soon as it runs."""
    environment = {**os.environ, **environ_update}
    before_communicate_callback(subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment))


if __name__ == "__main__":
    json.dump(evidence(use_nvml="--xml" not in sys.argv[1:]), sys.stdout)
