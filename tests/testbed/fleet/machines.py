# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands behind a Node: a testbed machine, looked at anew each time. Simulated ones are in simulated.py."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tests.testbed import nodes
from tests.testbed.fleet import cri

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
NVIDIA_RUNTIME = "nvidia-container-runtime"
GPU_LIST_SECONDS = 10
COMMAND_SECONDS = 30
# A runtime that is being restarted is away for a second; a kubelet doesn't notice, so neither does a Node's allocatable.
RESTART_SECONDS = 3
GPU_BLOCK = re.compile(r"\t<gpu id=.*?</gpu>\n", re.DOTALL)
_UUID = re.compile(r"GPU-[0-9a-f-]{36}")


@dataclass(frozen=True)
class Outcome:
    """What a command printed (stdout and stderr together) and its exit code."""

    output: str
    exit_code: int


@dataclass(frozen=True)
class Facts:
    """What the kubelet of a node would know of its machine now."""

    running: bool
    boot_id: str = ""
    driver: str | None = None
    gpus: tuple[str, ...] = ()  # UUIDs, in the driver's order
    runtime: cri.RuntimeStatus | None = None
    runtime_error: str = ""
    missing_binaries: frozenset[str] = frozenset()  # handlers whose OCI runtime isn't on the machine
    system: dict[str, str] = field(default_factory=dict)  # fields of nodeInfo
    address: str = ""

    def handler(self, name: str | None) -> str:
        """The handler that a pod gets: the named one, or the runtime's default."""
        return name if name is not None else self.runtime.default_handler if self.runtime else ""

    def sandbox_error(self, name: str | None) -> str | None:
        """Why no sandbox can be made with this handler (None: the default one), in the kubelet's words; None where it can."""
        handler = self.handler(name)
        if self.runtime is None:
            reason = self.runtime_error
        elif handler not in self.runtime.handlers:
            reason = f'code = Unknown desc = failed to get sandbox runtime: no runtime for "{handler}" is configured'
        elif handler in self.missing_binaries:
            reason = (
                "code = Unknown desc = failed to create containerd task: failed to create shim task: OCI runtime create failed: "
                f"unable to retrieve OCI runtime error: fork/exec {self.runtime.handlers[handler]}: no such file or directory"
            )
        else:
            return None
        return f"Failed to create pod sandbox: rpc error: {reason}"

    @property
    def cdi_enabled(self) -> bool:
        """Whether the runtime injects CDI devices."""
        return self.runtime is not None and self.runtime.cdi_enabled

    def injects_gpus(self, name: str | None) -> bool:
        """Whether containers of this handler get the driver: its OCI runtime is NVIDIA's."""
        return self.sandbox_error(name) is None and self.runtime is not None and NVIDIA_RUNTIME in self.runtime.handlers[self.handler(name)]


class Machine(Protocol):
    """Where the containers of a node would run."""

    def facts(self) -> Facts:
        """Looks at the machine. Never raises on a sick one."""

    def nvidia_smi(self, arguments: Sequence[str]) -> Outcome:
        """Runs nvidia-smi there."""


def only(gpus: Sequence[str], report: str) -> str:
    """Leaves only the named GPUs in what ``nvidia-smi -q -x`` printed, as inside a container that was given these."""
    kept = GPU_BLOCK.sub(lambda block: block.group() if any(f"<uuid>{gpu}</uuid>" in block.group() for gpu in gpus) else "", report)
    return re.sub(r"<attached_gpus>\d+<", f"<attached_gpus>{len(gpus)}<", kept)


class TestbedMachine:
    """A booted machine of the instance, looked at from outside through its first process."""

    def __init__(self, instance: Path, name: str) -> None:
        self._instance = instance
        self._name = name
        self._gpus: tuple[str, ...] = ()
        self._gpus_of: tuple[str, str | None] | None = None  # boot and driver that the list was read under
        self._gpus_until = 0.0
        self._runtime_of = ""  # boot that the status below was read under
        self._runtime_until = 0.0
        self._runtime_last: cri.RuntimeStatus | None = None

    def facts(self) -> Facts:
        """Looks at the machine. A machine that is down, or goes down meanwhile, is just not running."""
        try:
            leader = nodes.leader(self._instance, self._name)
            return Facts(running=False) if leader is None else self._look(Path(f"/proc/{leader}/root"))
        except OSError:
            return Facts(running=False)

    def _look(self, root: Path) -> Facts:
        boot_id = (root / "proc/sys/kernel/random/boot_id").read_text().strip()
        version = root / "sys/module/nvidia/version"
        driver = version.read_text().strip() if version.exists() else None
        runtime, error = self._runtime(root, boot_id)
        missing = {name for name, binary in runtime.handlers.items() if binary and not self._exists(root, binary)} if runtime else set()
        return Facts(
            running=True, boot_id=boot_id, driver=driver, gpus=self._list_gpus(boot_id, driver), runtime=runtime, runtime_error=error,
            missing_binaries=frozenset(missing), system=self._system(root, boot_id, runtime),
            address=(self._instance / "nodes" / self._name / "address").read_text().strip(),
        )

    @staticmethod
    def _exists(root: Path, binary: str) -> bool:
        names = [binary.lstrip("/")] if "/" in binary else [f"{folder}/{binary}" for folder in ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin")]
        return any((root / name).exists() or (root / name).is_symlink() for name in names)

    @staticmethod
    def _ask_runtime(root: Path) -> tuple[cri.RuntimeStatus | None, str]:
        socket = root / CONTAINERD_SOCKET.lstrip("/")
        if not socket.exists():
            dialing = f"transport: Error while dialing: dial unix {CONTAINERD_SOCKET}: connect: no such file or directory"
            return None, f'code = Unavailable desc = connection error: desc = "{dialing}"'
        try:
            return cri.runtime_status(socket), ""
        except cri.CriError as error:
            return None, str(error)

    def _runtime(self, root: Path, boot_id: str) -> tuple[cri.RuntimeStatus | None, str]:
        """What the runtime says, or what it said a moment ago while it may be restarting."""
        status, error = self._ask_runtime(root)
        if status is not None:
            self._runtime_of, self._runtime_until, self._runtime_last = boot_id, time.monotonic() + RESTART_SECONDS, status
        elif self._runtime_of == boot_id and time.monotonic() < self._runtime_until:
            return self._runtime_last, ""
        return status, error

    @staticmethod
    def _system(root: Path, boot_id: str, runtime: cri.RuntimeStatus | None) -> dict[str, str]:
        release = dict(line.split("=", 1) for line in (root / "etc/os-release").read_text().splitlines() if "=" in line)
        kernel = (root / "proc/sys/kernel/osrelease").read_text().strip()
        version = {"containerRuntimeVersion": runtime.version} if runtime else {}
        return {"bootID": boot_id, "osImage": release.get("PRETTY_NAME", "").strip('"'), "kernelVersion": kernel, **version}

    def _list_gpus(self, boot_id: str, driver: str | None) -> tuple[str, ...]:
        """The GPUs that the driver shows; read again after a boot or another driver, and every few seconds."""
        if driver is None:
            return ()
        if self._gpus_of != (boot_id, driver) or time.monotonic() > self._gpus_until:
            listed = self.nvidia_smi(["-L"])
            self._gpus = tuple(_UUID.findall(listed.output)) if listed.exit_code == 0 else ()
            self._gpus_of, self._gpus_until = (boot_id, driver), time.monotonic() + GPU_LIST_SECONDS
        return self._gpus

    def nvidia_smi(self, arguments: Sequence[str]) -> Outcome:
        """Runs nvidia-smi on the machine; 127 where there is none (nsenter says so as a shell does), 137 where it was killed."""
        try:
            done = nodes.node_exec(
                self._instance, self._name, ["nvidia-smi", *arguments], check=False, timeout=COMMAND_SECONDS,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )
        except subprocess.TimeoutExpired:
            return Outcome(f"nvidia-smi: killed after {COMMAND_SECONDS} s\n", 137)
        except RuntimeError as error:  # the machine has just gone down
            return Outcome(f"{error}\n", 137)
        return Outcome(done.stdout, done.returncode)
