# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Everything about a node but the driver's own answer."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import cdi, hardware, kernel_log, machine, runtimes, software
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.driver import NAME, Driver
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.jobs import Jobs
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

SCHEMA = 1

_PLATFORM_FILES = ("/etc/os-release", "/etc/nv_tegra_release", "/sys/devices/soc0/family", "/proc/cpuinfo")
_DRIVER_FILES = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version")


class Survey:
    """One pass; its parameters are those of ``node.collect``."""

    def __init__(self, host: Host, gather: frozenset[str], timeout: float, jobs: Jobs, driver: Driver) -> None:
        self._host = host
        self._gather = gather
        self._timeout = timeout
        self._jobs = jobs
        self._driver = driver
        self._reader = Reader(host)

    def evidence(self) -> dict[str, t.Any]:
        # Everything that is started runs while the rest is read.
        self._jobs.start_all(software.commands(self._host, self._gather))
        self._reader.read_all(_PLATFORM_FILES + _DRIVER_FILES)
        if self._gather & {"toolkit", "cdi"}:
            cdi.observe(self._host, self._reader)
        pci = hardware.pci_functions(self._host, self._reader)
        log = self._kernel_log(pci)
        evidence = {
            "schema": SCHEMA,
            "host": machine.about(self._host),
            "pci": pci,
            "modules": machine.module_files(self._host, machine.running_kernel(self._host)),
            "loaded_modules": hardware.loaded_modules(self._host),
            "libraries": self._driver.about_libraries(),
            **self._runtimes(),
            "nvml": self._driver.answer(self._reader),
        }
        records = self._jobs.results()
        evidence["kernel_log"] = log(records)
        commands = {name: record for name, record in records.items() if name not in (NAME, *kernel_log.COMMANDS)}
        return {**evidence, "files": self._reader.files, "commands": commands, "collector_errors": self._reader.errors}

    def _runtimes(self) -> dict[str, t.Any]:
        if "runtimes" not in self._gather:
            return {"runtimes": None}
        found, commands = runtimes.observe(self._host, self._reader, self._timeout)
        self._jobs.start_all(commands)
        return found

    def _kernel_log(self, pci: list[hardware.Function] | None) -> t.Callable[[t.Mapping[str, t.Any]], kernel_log.Evidence | None]:
        """Read the kernel's log, or start what else gives it; returns what makes the evidence of the commands' records."""
        if "kernel_log" not in self._gather:
            return lambda _records: None
        addresses = [function["address"] for function in pci or ()]
        try:
            log = kernel_log.read(self._host, addresses)
        except OSError as error:
            why = str(error)
            self._jobs.start_all(kernel_log.COMMANDS)
            return lambda records: self._other_log(records, addresses, why)
        return lambda _records: log

    def _other_log(self, records: t.Mapping[str, t.Any], addresses: t.Collection[str], why: str) -> kernel_log.Evidence:
        log = kernel_log.from_commands(records, addresses)
        if log["source"] is None:
            self._reader.error(kernel_log.KMSG, f"{why}; journalctl and dmesg gave nothing either")
        return log
