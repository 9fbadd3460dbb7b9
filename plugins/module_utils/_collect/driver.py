# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Asks the driver for its GPUs: NVML first, and nvidia-smi where that may tell more."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import nvml
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.jobs import Jobs
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

NAME = "nvml"

# The driver isn't asked while none of these is there, since asking would load it.
_PRESENT = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version", "/dev/dxg", "/dev/nvhost-ctrl-gpu")
_NVIDIA_SMI = {"nvidia_smi_xml": ("nvidia-smi", "-q", "-x"), "nvidia_smi_nvlink": ("nvidia-smi", "nvlink", "--status")}


class Driver:
    """The driver's user space.

    :param jobs: that the asking is one of.
    :param timeout: seconds that ``jobs`` gives each.
    :param driver_root: below which to look for NVML's library; ``None`` for all known places.
    :ivar libraries: where NVML's library is.
    """

    def __init__(self, host: Host, jobs: Jobs, timeout: float, driver_root: str | None) -> None:
        self._host = host
        self._jobs = jobs
        self._timeout = timeout
        self._asked = False
        self.libraries = nvml.libraries(host, driver_root)

    def ask(self) -> None:
        """Begin to ask, where the driver is loaded."""
        self._asked = any(self._host.exists(path) for path in _PRESENT)
        if self._asked and self.libraries:
            self._jobs.fork(NAME, nvml.reader(self._host, self.libraries))

    def answer(self, reader: Reader) -> nvml.Record | None:
        """The evidence's ``nvml``. Where NVML gave no answer nvidia-smi is started, unless it would hang in the same place."""
        if not self._asked:
            return None
        if not self.libraries:
            self._jobs.start_all(_NVIDIA_SMI)
            return None
        told = self._jobs.result(NAME)
        record, failures = nvml.record(told, self.libraries, self._timeout)
        for failure in failures:
            reader.error(NAME, failure)
        if record["error"] is not None and not told["timed_out"]:
            self._jobs.start_all(_NVIDIA_SMI)
        return record

    def about_libraries(self) -> list[dict[str, t.Any]]:
        """Where NVML's library is and the versioned file that it leads to."""
        return [{"path": path, "target": self._host.leads_to(path)} for path in self.libraries]
