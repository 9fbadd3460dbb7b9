# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node without a machine: driver, toolkit and GPUs are always there, and the stand-in nvidia-smi answers for them in this process."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tests.testbed.fleet import cri, hardware
from tests.testbed.fleet.machines import GPU_BLOCK, NVIDIA_RUNTIME, Facts, Outcome

NVIDIA_SMI = Path(__file__).parent / "packages" / "driver" / "nvidia_smi.py"
_IDENTITIES = uuid.UUID("0b8f6c3e-5a0e-4f0e-9b7c-3f1d2a6f9c55")  # namespace of the simulated nodes' GPU UUIDs
_FIRST_SLOT = 6  # of the capture's GPUs on their PCI bus


def _gpu(name: str, index: int) -> dict[str, str]:
    identity = uuid.uuid5(_IDENTITIES, f"{name}/{index}")
    return {"pci_address": f"0000:00:{_FIRST_SLOT + index:02x}.0", "uuid": f"GPU-{identity}", "serial": f"165{identity.int % 10**10:010d}"}


def _capture(count: int) -> str:
    """The capture with ``count`` GPUs, each at an address of its own."""
    text = hardware.CAPTURE.read_text()
    blocks = GPU_BLOCK.findall(text)
    before, after = text[:text.index(blocks[0])], text[text.rindex(blocks[-1]) + len(blocks[-1]):]
    placed = [re.sub(r"\d{8}:00:[0-9A-F]{2}\.0", f"00000000:00:{_FIRST_SLOT + index:02X}.0", blocks[index % len(blocks)]) for index in range(count)]
    return before + "".join(placed) + after


def _load_nvidia_smi(folder: Path, gpus: Sequence[dict[str, str]], version: str) -> ModuleType:
    """A copy of the stand-in for one node, which looks at ``folder`` instead of at a machine's own files."""
    spec = importlib.util.spec_from_file_location(f"nvidia_smi_{folder.name}", NVIDIA_SMI)
    if spec is None or spec.loader is None:
        raise ImportError(f"{NVIDIA_SMI} is no Python module")
    stand_in = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stand_in)
    for gpu in gpus:
        (folder / "gpus" / gpu["pci_address"]).mkdir(parents=True)
    (folder / "version").write_text(f"{version}\n")
    (folder / "hardware.json").write_text(json.dumps({"gpus": gpus}))
    (folder / "capture.xml").write_text(_capture(len(gpus)))
    (folder / "libnvidia-ml.so.1").symlink_to(f"libnvidia-ml.so.{version}")
    files = {
        "HARDWARE": "hardware.json", "SICK": "sick.json", "CAPTURE": "capture.xml", "LOADED_VERSION": "version", "GPU_FOLDERS": "gpus",
        "NVML": "libnvidia-ml.so.1",
    }
    for constant, file in files.items():
        setattr(stand_in, constant, folder / file)
    return stand_in


class SimulatedMachine:
    """What stands behind a simulated node; the same name always has the same GPUs."""

    def __init__(self, folder: Path, name: str, gpus: int) -> None:
        """``folder``: for the files that the stand-in reads, made anew. ``gpus``: how many the node has."""
        found = re.search(r"<driver_version>([^<]*)<", hardware.CAPTURE.read_text())
        version = found.group(1) if found else ""
        devices = [_gpu(name, index) for index in range(gpus)]
        if folder.exists():
            shutil.rmtree(folder)
        self._nvidia_smi = _load_nvidia_smi(folder, devices, version) if devices else None
        self._facts = Facts(
            running=True,
            driver=version,
            gpus=tuple(gpu["uuid"] for gpu in devices),
            runtime=cri.RuntimeStatus(handlers={"runc": "/usr/bin/runc", "nvidia": f"/usr/bin/{NVIDIA_RUNTIME}"}, default_handler="runc", cdi_enabled=True),
        )

    def facts(self) -> Facts:
        """Always the same, always well."""
        return self._facts

    def nvidia_smi(self, arguments: Sequence[str]) -> Outcome:
        """What the stand-in answers."""
        if self._nvidia_smi is None:
            return Outcome("No devices were found\n", 6)
        try:
            return Outcome(self._nvidia_smi.answer(self._nvidia_smi.parsed(list(arguments))), 0)
        except self._nvidia_smi.Failure as failure:
            return Outcome(f"{failure}\n", failure.code)
