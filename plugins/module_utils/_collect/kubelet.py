# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. How the kubelet was started, as far as container runtimes are concerned."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.processes import arguments_of, of_unit, option
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

_UNITS = ("kubelet.service", "rke2-server.service", "rke2-agent.service", "k0sworker.service", "k0scontroller.service")
_CONFIGS = ("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet/config.json", "/etc/kubernetes/kubelet/kubelet-config.json")
# Nothing else of its command line is of interest, and some of it is nobody's business.
_KEPT = ("--config", "--cgroup-driver", "--container-runtime-endpoint")


def observe(host: Host, reader: Reader) -> dict[str, t.Any] | None:
    """The evidence's ``kubelet``: ``config``, the path of its configuration, and ``arguments``, those that matter here; ``None`` where there is none."""
    arguments = next((found for unit in _UNITS for pid in of_unit(host, unit) if _is_kubelet(found := arguments_of(host, pid))), [])
    config = option(arguments, ("--config",)) or next((path for path in _CONFIGS if host.exists(path)), None)
    if config is None and not arguments:
        return None
    if config:
        reader.read(config)
    values = {name: option(arguments, (name,)) for name in _KEPT}
    return {"config": config, "arguments": [f"{name}={value}" for name, value in values.items() if value is not None]}


def _is_kubelet(arguments: t.Sequence[str]) -> bool:
    return bool(arguments) and arguments[0].rpartition("/")[2] == "kubelet"
