# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. From the texts of a node to its evidence, as the collector would have given it."""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis import hints
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.recognise import Piece
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import containerd, smi
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import SCHEMA

Object = t.Dict[str, t.Any]

# Marks evidence that somebody picked: what it lacks was not looked at, which is not the same as absent.
PARTIAL = "partial"

KERNEL_LINES = 5000
_KERNEL = re.compile(
    r"NVRM|nvidia|nouveau|nova|vfio|\bXid\b|SXid|\bBAR \d|pcieport|Key was rejected|Required key|Lockdown|module verification|rejected|AER:|"
    r"rivafb|rivatv|\bkernel module\b|in use|GSP|not claim", re.IGNORECASE,
)  # fmt: skip

# Kinds whose text is a file of the node: where that file is.
FILES = {
    "proc_version": "/proc/driver/nvidia/version",
    "toml_template": "/etc/containerd/config.toml.tmpl",
    "toolkit_config": "/etc/nvidia-container-runtime/config.toml",
    "crio_config": "/etc/crio/crio.conf",
    "containerd_config": "/etc/containerd/config.toml",
    "docker_config": "/etc/docker/daemon.json",
    "kubelet_config": "/var/lib/kubelet/config.yaml",
    "cdi_spec": "/etc/cdi/",
    "os_release": "/etc/os-release",
    "tegra_release": "/etc/nv_tegra_release",
    hints.NODE_FILE: "/",
}
# Those that are in one place on every node.
_FIXED = ("proc_version", "os_release", "tegra_release")
_DROP_INS = {"containerd_config": ("config.toml", "/etc/containerd/conf.d/"), "crio_config": ("crio.conf", "/etc/crio/crio.conf.d/")}
# Main configuration files of a distribution, by words that its own generator leaves in them.
_DISTRIBUTIONS = (
    ("k3s", "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"),
    ("rke2", "/var/lib/rancher/rke2/agent/etc/containerd/config.toml"),
    ("microk8s", "/var/snap/microk8s/current/args/containerd.toml"),
    ("k0s", "/etc/k0s/containerd.toml"),
)

_LOGGED = re.compile(r"time=\S+ level=|\w{4}\[\d{4}\]")

_LSPCI = re.compile(
    r"^(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<address>[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<class>[^\[:]+?)(?: \[(?P<code>[0-9a-f]{4})\])?: (?P<name>.*)$"
)
_LSPCI_IDS = re.compile(r"\[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\]")
_LSPCI_NUMBER = re.compile(r"\bDevice (?P<device>[0-9a-f]{4})\b")
_LSPCI_DRIVER = re.compile(r"^\s+Kernel driver in use: (?P<driver>\S+)")
_CLASSES = {"VGA compatible controller": "0300", "3D controller": "0302", "Bridge": "0680", "Audio device": "0403", "Display controller": "0380"}
_NVIDIA = "10de"

_DPKG_QUERY = re.compile(r"^[a-z][A-Za-z]?R?[ ]*\t\S+\t\S+")
_DPKG_LIST = re.compile(r"^(?P<status>[a-z][A-Za-z]R?)\s+(?P<name>[a-z0-9][\w.+-]*)(?::\w+)?\s+(?P<version>\S*\d\S*)(?:\s+(?P<architecture>\S+))?")
_RPM = re.compile(r"^(?P<name>[a-z][\w.+-]*?)-(?P<version>[\d:][\w.+~:]*-[\w.+~]+)\.(?P<architecture>x86_64|aarch64|noarch)$")
_UNAME = re.compile(r"^(?:Linux (?P<host>\S+) )?(?P<kernel>\d+\.\d+\S*)", re.MULTILINE)


# Kinds of which a node may have several: a rotated log, a list in pieces.
_PARTS = ("kernel_log", "lspci", "packages", "uname")


class Slot(t.NamedTuple):
    """Where a piece belongs in a node's evidence; of one node's slots with one key only the first can be filled.

    :param key: equal for pieces that exclude each other, ``None`` where any number is welcome.
    """

    key: t.Optional[str]
    path: str = ""


def slot(piece: Piece) -> t.Optional[Slot]:
    """The place of a piece, ``None`` where it tells nothing about a node."""
    if _is_dump(piece):
        return Slot(containerd.DUMP, containerd.DUMP)
    if piece.kind in FILES:
        path = _path(piece)
        return Slot(f"file {path}", path)
    if piece.kind == "nvidia_smi":
        form = smi.form(piece.value) or "error"
        return Slot(f"nvidia_smi_{form}" if form in ("xml", "table") else None, form)
    return Slot(None if piece.kind in _PARTS else piece.kind) if piece.kind in _FILL else None


def blank() -> Object:
    """Evidence of a node of which nothing is known."""
    return {"schema": SCHEMA, PARTIAL: True, "host": {}, "pci": None, "files": {}, "commands": {}, "collector_errors": []}


def fill(evidence: Object, piece: Piece, place: Slot, exit_code: t.Optional[int]) -> None:
    """Put a piece into a node's evidence.

    :param exit_code: of the command that wrote it, where that is known.
    """
    if _is_dump(piece):
        evidence["commands"][place.path] = command(piece.value, 0 if exit_code is None else exit_code)
    elif piece.kind in FILES:
        evidence["files"][place.path] = {"text": piece.document.text, "truncated": piece.document.truncated}
    elif piece.kind == "nvidia_smi":
        number = sum(name.startswith(f"nvidia_smi_{place.path}") for name in evidence["commands"])
        evidence["commands"][f"nvidia_smi_{place.path}{number or ''}"] = command(piece.value, exit_code)
    else:
        _FILL[piece.kind](evidence, piece.value)


def command(stdout: str, exit_code: t.Optional[int]) -> Object:
    """A command of which only the output is known, and maybe how it ended."""
    return {"argv": [], "rc": exit_code, "stdout": stdout, "stderr": "", "timed_out": False}


def _is_dump(piece: Piece) -> bool:
    """Whether a containerd configuration is what ``containerd config dump`` printed: behind containerd's own log, or called so."""
    name = piece.document.path.rpartition("/")[2]
    return piece.kind == "containerd_config" and (_LOGGED.match(piece.value.lstrip()) is not None or "dump" in name)


def _path(piece: Piece) -> str:
    default = FILES[piece.kind]
    if piece.kind in _FIXED:
        return default
    name = piece.document.path.rpartition("/")[2]
    main, folder = _DROP_INS.get(piece.kind, ("", ""))
    if main and name.endswith((".toml", ".conf")) and name != main and not re.match(r"config|containerd|crio", name):
        default = folder
    if piece.kind == "containerd_config":
        default = next((path for distribution, path in _DISTRIBUTIONS if re.search(rf"\b{distribution}\b", piece.document.text[:20_000])), default)
    if piece.kind == "cdi_spec":
        default += _cdi_name(piece)
    return hints.node_path(piece.document.path, default)


def _cdi_name(piece: Piece) -> str:
    """By its kind, so that two copies of a specification aren't taken for two specifications of one node."""
    kind = piece.value.get("kind") if isinstance(piece.value, dict) else None
    extension = "json" if piece.document.text.lstrip().startswith("{") else "yaml"
    return f"{re.sub(r'[^A-Za-z0-9.-]', '-', kind) if isinstance(kind, str) else 'nvidia'}.{extension}"


def _kernel_log(evidence: Object, content: str) -> None:
    before = evidence.get("kernel_log") or {"dropped": 0, "lines": []}
    lines = before["lines"] + [line for line in content.splitlines() if _KERNEL.search(line)]
    dropped = before["dropped"] + max(0, len(lines) - KERNEL_LINES)
    evidence["kernel_log"] = {"source": None, "complete": False, "dropped": dropped, "lines": lines[-KERNEL_LINES:]}


def _lspci(evidence: Object, content: str) -> None:
    """NVIDIA's functions. A driver is known only from lspci -k; without it, it is unknown and not none."""
    found: t.List[Object] = list(evidence["pci"] or [])
    current: t.Optional[Object] = None
    with_drivers = "Kernel driver in use:" in content or "Kernel modules:" in content
    for line in content.splitlines():
        match = _LSPCI.match(line)
        if match:
            current = _function(match)
            if current and current["address"] not in [item["address"] for item in found]:
                found.append(current)
        driver = _LSPCI_DRIVER.match(line)
        if driver and current:
            current["driver"] = driver.group("driver")
    evidence["pci"] = found
    evidence["pci_drivers_known"] = with_drivers or evidence.get("pci_drivers_known", False)


def _function(match: t.Match[str]) -> t.Optional[Object]:
    ids, number = _LSPCI_IDS.search(match.group("name")), _LSPCI_NUMBER.search(match.group("name"))
    vendor = ids.group("vendor") if ids else _NVIDIA if "NVIDIA" in match.group("name") else ""
    code = match.group("code") or _CLASSES.get(match.group("class"), "")
    if vendor != _NVIDIA:
        return None
    device = ids.group("device") if ids else number.group("device") if number else ""
    address = f"{match.group('domain') or '0000'}:{match.group('address')}"
    return {"address": address, "vendor": f"0x{_NVIDIA}", "device": f"0x{device}" if device else None, "class": f"0x{code}00", "driver": None}


def _packages(evidence: Object, content: str) -> None:
    """In the columns in which the collector asks for them."""
    lines = []
    for line in content.splitlines():
        match = _DPKG_LIST.match(line) or _RPM.match(line)
        if _DPKG_QUERY.match(line):
            lines.append(line)
        elif match:
            groups = match.groupdict()
            lines.append(f"{groups.get('status') or 'ii'} \t{groups['name']}\t{groups['version']}\t{groups['architecture'] or ''}")
    before = evidence["commands"].get("packages", {"stdout": ""})["stdout"]
    evidence["commands"]["packages"] = command(before + "\n".join(lines) + "\n", 0)


def _docker_info(evidence: Object, value: t.Any) -> None:
    evidence["commands"]["docker_info"] = command(json.dumps(value), 0)


def _uname(evidence: Object, content: str) -> None:
    match = _UNAME.search(content)
    if match:
        evidence["host"]["kernel"] = match.group("kernel")
        if match.group("host"):
            evidence["host"]["hostname"] = match.group("host")


_FILL: t.Dict[str, t.Callable[[Object, t.Any], None]] = {
    "kernel_log": _kernel_log,
    "lspci": _lspci,
    "packages": _packages,
    "docker_info": _docker_info,
    "uname": _uname,
}
