# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. One pass over a node: raw evidence, nothing judged, nothing changed."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.driver import Driver
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.jobs import Jobs


def collect(host: Host, gather: t.Collection[str], timeout: float, driver_root: str | None = None) -> dict[str, t.Any]:
    """Look once at a node.

    :param host: the machine.
    :param gather: of ``options.SUBSETS``, those whose facts are wanted.
    :param timeout: seconds for each command, for NVML, and for the container runtime's answer; the commands and NVML run side by side.
    :param driver_root: below which to look for NVML's library; ``None`` for all known places.
    :return: the evidence, JSON-able; what could not be read is in its ``collector_errors``.
    """
    wanted = frozenset(gather)
    jobs = Jobs(host, timeout)
    driver = Driver(host, jobs, timeout, driver_root)
    if wanted & {"driver", "gpus"}:
        driver.ask()
    # Imported while the driver thinks, which takes it as long as all the rest.
    from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.survey import Survey

    return Survey(host, wanted, timeout, jobs, driver).evidence()
