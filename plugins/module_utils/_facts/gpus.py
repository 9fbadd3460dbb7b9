# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. The GPUs from NVML where it answered, else from whatever nvidia-smi wrote.

Both give equal facts, but for those of ``NVML_ONLY``.
"""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpu_record, pci, platform, smi, smi_error
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Command, Evidence, mapping, mappings, number, text, texts

GPU_FIELDS = tuple(gpu_record.KINDS)
# Facts that the XML hasn't: the capability of a product whose generation leaves it open, and what identifies a MIG device. NVLinks need another command.
NVML_ONLY = ("compute_capability", "mig_devices.profile", "mig_devices.uuid", "nvlink")

NVML, SMI = "nvml", "nvidia-smi"
# Commands whose output is nvidia-smi's, in whatever form; the first that ran tells how nvidia-smi ended.
_PREFIX = "nvidia_smi"
_PREFERRED = ("nvidia_smi_xml", "nvidia_smi")
GPU_LIMIT = 4096


class Reading(t.NamedTuple):
    """What the driver's user space said.

    :param source: ``nvml``, ``nvidia-smi``, or ``None`` where neither gave a GPU or a version.
    :param attached_gpus: GPUs that the driver has: its own count, which may be above the number that it lists; ``None`` where it doesn't answer.
    :param failure: why it doesn't answer: ``where``, ``code`` (of ``nvmlReturn_t``, which are nvidia-smi's exit codes, too) and ``text``.
    :param command: how nvidia-smi ended; ``None`` where it wasn't run.
    """

    source: str | None
    driver_version: str | None
    cuda_version: str | None
    attached_gpus: int | None
    gpus: list[gpu_record.Gpu]
    failure: dict[str, t.Any] | None
    command: dict[str, t.Any] | None


def read(evidence: Evidence) -> Reading:
    """What the driver's user space said, and the GPUs that it has."""
    commands = _commands(evidence)
    reports = [(command, smi.parse(command.stdout or command.stderr)) for command in commands]
    said = _smi_fact(*reports[0]) if reports else None
    nvml = evidence.nvml
    gpus = _merged([report["gpus"] for _command, report in reports])
    own = _from_nvml(nvml) if nvml is not None else []
    # An error of NVML may be one GPU's; then nvidia-smi was asked as well, and where it lists nothing the other GPUs still count.
    if nvml is not None and (not mapping(nvml.get("error")) or (own and not gpus)):
        failure = _failure(nvml, said)
        return Reading(NVML, text(nvml.get("driver_version")) or None, text(nvml.get("cuda_version")) or None, len(own), own, failure, said)
    version = _first(reports, "driver_version")
    answered = bool(gpus) or version is not None
    attached = _first(reports, "attached_gpus")
    return Reading(
        source=SMI if answered else None,
        driver_version=version,
        cuda_version=_first(reports, "cuda_version"),
        attached_gpus=(len(gpus) if attached is None else attached) if answered or _is_empty(reports) else None,
        gpus=gpus,
        failure=_failure(nvml, said),
        command=said,
    )


def integrated(platform_kind: str) -> list[gpu_record.Gpu]:
    """The GPU that a Tegra processor always has, of which nothing but that is known where neither NVML nor nvidia-smi serves it."""
    return [gpu_record.complete({**gpu_record.blank(0), "unified_memory": True})] if platform_kind == platform.TEGRA else []


def _commands(evidence: Evidence) -> list[Command]:
    names = [name for name in evidence.commands if name.startswith(_PREFIX)]
    names.sort(key=lambda name: (_PREFERRED.index(name) if name in _PREFERRED else len(_PREFERRED), name))
    return [evidence.commands[name] for name in names]


def _first(reports: t.Sequence[tuple[Command, dict[str, t.Any]]], name: str) -> t.Any:
    return next((report[name] for _command, report in reports if report[name] is not None), None)


def _is_empty(reports: t.Sequence[tuple[Command, dict[str, t.Any]]]) -> bool:
    """Whether nvidia-smi's own answer is that the driver has no device."""
    return bool(reports) and smi_error.exit_code(reports[0][0].stdout) == smi_error.NO_DEVICE


def _merged(lists: t.Sequence[list[gpu_record.Gpu]]) -> list[gpu_record.Gpu]:
    """The GPUs of several outputs of one node, each once: what an output lacks, another may have."""
    known: list[gpu_record.Gpu] = []
    for gpus in lists:
        for gpu in gpus[:GPU_LIMIT]:
            position = next((position for position, other in enumerate(known) if _same(other, gpu)), None)
            if position is None:
                known.append(gpu)
            else:
                known[position] = gpu_record.complete(gpu_record.merged(known[position], gpu))
    return known


def _same(one: gpu_record.Gpu, other: gpu_record.Gpu) -> bool:
    """Whether two records are of one GPU, by the surest name that both have."""
    for name in ("uuid", "pci_address", "index"):
        if one[name] is not None and other[name] is not None:
            return bool(one[name] == other[name])
    return False


def _smi_fact(command: Command, report: dict[str, t.Any]) -> dict[str, t.Any]:
    """How nvidia-smi ended. Of a text that came without its exit code, the code that goes with it."""
    said = command.stdout or command.stderr
    code = smi_error.exit_code(said) if command.rc is None and not command.timed_out and not report["gpus"] else command.rc
    return {
        "exit_code": code,
        "timed_out": command.timed_out,
        "message": None if report["gpus"] else said.strip()[:500] or None,
        "warnings": smi_error.warnings(command.stdout + "\n" + command.stderr),
    }


def _failure(nvml: dict[str, t.Any] | None, said: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
    """Why there is no answer, by nvidia-smi where it ran, else by NVML."""
    if said is not None and said["exit_code"] not in (None, 0):
        return {"where": "nvidia-smi", "code": said["exit_code"], "text": said["message"] or ""}
    error = mapping((nvml or {}).get("error"))
    if said is not None or not error:
        return None
    return {"where": text(error.get("function")) or "NVML", "code": number(error.get("code")), "text": text(error.get("text"))}


def _from_nvml(nvml: dict[str, t.Any]) -> list[gpu_record.Gpu]:
    return [gpu_record.complete(_typed(index, gpu)) for index, gpu in enumerate(mappings(nvml.get("gpus"))[:GPU_LIMIT])]


def _typed(index: int, gpu: dict[str, t.Any]) -> gpu_record.Gpu:
    """A GPU as the collector gives it, with every fact of its promised type; what has another type is unknown."""
    record = gpu_record.blank(index)
    for name, kind in gpu_record.KINDS.items():
        value = _TYPES[kind](gpu.get(name))
        parts = gpu_record.PARTS.get(name)
        if value is not None:
            record[name] = value if parts is None else [_part(item, parts) for item in value] if isinstance(value, list) else _part(value, parts)
    record["pci_address"] = pci.address(text(gpu.get("pci_address")))
    return record


def _part(value: dict[str, t.Any], kinds: dict[str, str]) -> dict[str, t.Any]:
    return {name: _TYPES[kind](value.get(name)) for name, kind in kinds.items()}


def _decimal(value: t.Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


_TYPES: dict[str, t.Callable[[t.Any], t.Any]] = {
    "text": lambda value: text(value) or None,
    "int": number,
    "float": _decimal,
    "flag": lambda value: value if isinstance(value, bool) else None,
    "mapping": lambda value: value if isinstance(value, dict) else None,
    "mappings": mappings,
    "texts": texts,
}
