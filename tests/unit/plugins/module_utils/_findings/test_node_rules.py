# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule about a node: one fault made to a healthy node, and the finding that names it."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE, ERROR, INFO, WARNING, finding
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings
from tests.unit import node_cases

DRIVER = "ii \tnvidia-open\t580.159.04-1\tamd64\nii \tnvidia-driver-cuda\t580.159.04-1\tamd64\n"
TOOLKIT_NAMES = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")
TOOLKIT = "".join(f"ii \t{name}\t1.20.2-1\tamd64\n" for name in TOOLKIT_NAMES)
RUNC = """version = 2
[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
"""
NVIDIA = """[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
SystemdCgroup = true
"""
MAIN = "/etc/containerd/config.toml"
PCI = [{"address": f"0000:00:0{number}.0", "vendor": "0x10de", "device": "0x2335", "class": "0x030200", "driver": "nvidia"} for number in (6, 7)]

Evidence = dict[str, t.Any]


def _healthy() -> Evidence:
    """A node on which everything is right."""
    base = next(check.evidence for check in node_cases.checks() if check.name == "h200 node")
    evidence = copy.deepcopy(base)
    evidence["pci"] = copy.deepcopy(PCI)
    evidence["commands"]["packages"] = _said(DRIVER + TOOLKIT + "ii \tcontainerd\t1.7.24~ds1-6\tamd64\n")
    evidence["commands"]["containerd_config_dump"] = _said(RUNC + NVIDIA)
    evidence["files"][MAIN] = {"text": RUNC + NVIDIA, "truncated": False}
    evidence["runtimes"] = [{
        "name": "containerd",
        "distribution": "kubeadm",
        "socket": "/run/containerd/containerd.sock",
        "config": MAIN,
        "program": "/usr/bin/containerd",
        "arguments": ["/usr/bin/containerd"],
        "cri": _daemon("runc", "nvidia"),
    }]
    return evidence


def _said(stdout: str = "", rc: int | None = 0, stderr: str = "", timed_out: bool = False) -> dict[str, t.Any]:
    return {"argv": [], "rc": rc, "stdout": stdout, "stderr": stderr, "timed_out": timed_out}


def _daemon(*handlers: str) -> dict[str, t.Any]:
    return {
        "endpoint": "unix:///run/containerd/containerd.sock",
        "error": None,
        "grpc_status": None,
        "version": {"name": "containerd", "version": "1.7.24"},
        "conditions": [{"type": "RuntimeReady", "status": True, "reason": "", "message": ""}],
        "info": {},
        "runtime_handlers": list(handlers),
    }


def _unloaded(evidence: Evidence) -> None:
    evidence["files"] = {path: record for path, record in evidence["files"].items() if "nvidia/version" not in path}
    evidence["commands"] = {name: record for name, record in evidence["commands"].items() if not name.startswith("nvidia_smi")}
    for function in evidence["pci"]:
        function["driver"] = None


def _bare(evidence: Evidence) -> None:
    _unloaded(evidence)
    evidence["modules"] = []
    evidence["commands"]["packages"] = _said()
    evidence["commands"]["containerd_config_dump"] = _said(RUNC)
    evidence["runtimes"][0]["cri"] = _daemon("runc")


def _half_configured(evidence: Evidence) -> None:
    _unloaded(evidence)
    evidence["commands"]["packages"] = _said(DRIVER.replace("ii ", "iF ") + TOOLKIT)


def _no_gpu(evidence: Evidence) -> None:
    _unloaded(evidence)
    evidence["pci"] = []


def _bound_to(driver: str, count: int) -> t.Callable[[Evidence], None]:
    def change(evidence: Evidence) -> None:
        if count == len(evidence["pci"]):
            _unloaded(evidence)
        for function in evidence["pci"][:count]:
            function["driver"] = driver

    return change


def _libraries(version: str) -> t.Callable[[Evidence], None]:
    def change(evidence: Evidence) -> None:
        evidence["libraries"] = [{"path": "/usr/lib/libnvidia-ml.so.1", "target": f"libnvidia-ml.so.{version}"}]
        evidence["commands"]["nvidia_smi_xml"] = _said("Failed to initialize NVML: Driver/library version mismatch\n", 18)

    return change


def _smi(**record: t.Any) -> t.Callable[[Evidence], None]:
    def change(evidence: Evidence) -> None:
        evidence["commands"]["nvidia_smi_xml"] = _said(**record)

    return change


def _inforom(evidence: Evidence) -> None:
    evidence["commands"]["nvidia_smi_xml"]["rc"] = 14


def _recovery(action: str) -> t.Callable[[Evidence], None]:
    def change(evidence: Evidence) -> None:
        record = evidence["commands"]["nvidia_smi_xml"]
        record["stdout"] = record["stdout"].replace("<gpu_recovery_action>None", f"<gpu_recovery_action>{action}", 1)

    return change


def _one_more_on_the_bus(evidence: Evidence) -> None:
    evidence["pci"].append({**PCI[0], "address": "0000:00:08.0"})


def _packages(*replacements: tuple[str, str]) -> t.Callable[[Evidence], None]:
    def change(evidence: Evidence) -> None:
        for old, new in replacements:
            evidence["commands"]["packages"]["stdout"] = evidence["commands"]["packages"]["stdout"].replace(old, new)

    return change


def _dump(text: str, *handlers: str) -> t.Callable[[Evidence], None]:
    def change(evidence: Evidence) -> None:
        evidence["commands"]["containerd_config_dump"] = _said(text)
        evidence["files"][MAIN]["text"] = text
        evidence["runtimes"][0]["cri"] = _daemon(*handlers)

    return change


def _broken_file(evidence: Evidence) -> None:
    evidence["files"][MAIN]["text"] = "version = 2\n[plugins\n"
    evidence["commands"]["containerd_config_dump"] = _said(rc=1, stderr="containerd: failed to load TOML: (3, 1): unexpected end\n")


def _cri(**values: t.Any) -> t.Callable[[Evidence], None]:
    def change(evidence: Evidence) -> None:
        evidence["runtimes"][0]["cri"] = {**evidence["runtimes"][0]["cri"], "conditions": [], "version": {}, "runtime_handlers": [], **values}

    return change


def _lost_runc(evidence: Evidence) -> None:
    """What containerd 1.6 and 1.7 make of a drop-in with nvidia alone: it replaces the whole section, and the plugin doesn't load."""
    _dump(RUNC.partition("[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]")[0] + NVIDIA)(evidence)
    _cri(grpc_status=12, error="gRPC status 12: unknown service runtime.v1.RuntimeService")(evidence)


def _no_socket(evidence: Evidence) -> None:
    evidence["runtimes"][0]["cri"] = None


def _orphan(evidence: Evidence) -> None:
    _dump(RUNC, "runc")(evidence)
    evidence["files"]["/etc/containerd/config.d/99-nvidia.toml"] = {"text": "version = 2\n" + NVIDIA, "truncated": False}


def _not_restarted(evidence: Evidence) -> None:
    evidence["runtimes"][0]["cri"] = _daemon("runc")


def _no_toolkit(evidence: Evidence) -> None:
    _packages((TOOLKIT, ""))(evidence)
    _dump(RUNC, "runc")(evidence)


FAULTS: list[tuple[str, t.Callable[[Evidence], None], list[str], str]] = [
    ("no GPU on the bus", _no_gpu, ["NoGpu"], ERROR),
    ("all GPUs for virtual machines", _bound_to("vfio-pci", 2), ["BoundToVfio"], WARNING),
    ("one GPU for virtual machines", _bound_to("vfio-pci", 1), ["BoundToVfio"], INFO),
    ("nouveau", _bound_to("nouveau", 2), ["DriverConflict"], ERROR),
    ("nova", _bound_to("NovaCore", 2), ["DriverConflict"], ERROR),
    ("a bare node", _bare, ["DriverNotInstalled", "ToolkitNotInstalled"], WARNING),
    ("installed, not loaded", _unloaded, ["DriverNotLoaded"], ERROR),
    ("interrupted installation", _half_configured, ["PackagesInterrupted", "DriverNotInstalled"], WARNING),
    ("interrupted later", _packages(("ii \tlibnvidia-container1", "iU \tlibnvidia-container1")), ["PackagesInterrupted"], WARNING),
    ("libraries of another version", _libraries("580.178.04"), ["DriverLibraryMismatch"], ERROR),
    ("nvidia-smi hangs", _smi(rc=None, timed_out=True), ["NvidiaSmiTimeout"], ERROR),
    ("driver without devices", _smi(stdout="No devices were found\n", rc=6), ["NoGpuBoundToDriver"], ERROR),
    ("GPU off the bus", _smi(stdout="Unable to determine the device handle\n", rc=15), ["GpuFallenOffBus"], ERROR),
    ("infoROM", _inforom, ["InfoRomCorrupted"], WARNING),
    ("one GPU less in the driver", _one_more_on_the_bus, ["GpuCountMismatch"], ERROR),
    ("reset wanted", _recovery("Reset"), ["GpuResetRequired"], ERROR),
    ("reboot wanted", _recovery("Reboot"), ["NodeRebootRequired"], WARNING),
    ("no TOML", _broken_file, ["ConfigInvalid"], ERROR),
    ("CRI disabled", _dump('disabled_plugins = ["cri"]\n' + RUNC + NVIDIA, "runc", "nvidia"), ["CriPluginDisabled"], ERROR),
    ("CRI failed", _cri(grpc_status=12, error="gRPC status 12: unknown service"), ["CriPluginDisabled"], ERROR),
    ("CRI failed for want of the default handler", _lost_runc, ["DefaultRuntimeUndefined", "CriPluginDisabled"], ERROR),
    ("containerd stopped", _cri(error="[Errno 111] Connection refused"), ["RuntimeNotRunning"], ERROR),
    ("containerd never started", _no_socket, ["RuntimeNotRunning"], ERROR),
    ("default without a handler", _dump(RUNC.replace('= "runc"', '= "nvidia"'), "runc"), ["DefaultRuntimeUndefined", "RuntimeHandlerMissing"], ERROR),
    ("no runtime_type", _dump(RUNC + NVIDIA.replace('runtime_type = "io.containerd.runc.v2"', ""), "runc", "nvidia"), ["RuntimeTypeMissing"], ERROR),
    ("drop-in not imported", _orphan, ["DropInNotImported"], ERROR),
    ("containerd not restarted", _not_restarted, ["DaemonNotUsingConfig"], ERROR),
    ("handler without systemd cgroups", _dump(RUNC + NVIDIA.replace("SystemdCgroup = true", ""), "runc", "nvidia"), ["CgroupDriverMismatch"], WARNING),
    ("no handler", _dump(RUNC, "runc"), ["RuntimeHandlerMissing"], ERROR),
    ("no toolkit", _no_toolkit, ["ToolkitNotInstalled"], WARNING),
    ("toolkit of two versions", _packages(("libnvidia-container1\t1.20.2", "libnvidia-container1\t1.19.1")), ["ToolkitVersionMixed"], ERROR),
]


def _findings(evidence: Evidence) -> list[dict[str, t.Any]]:
    return node_findings(node_facts(evidence, SUBSETS), "gpu-1")


def test_a_healthy_node_has_no_finding() -> None:
    assert _findings(_healthy()) == []


@pytest.mark.parametrize(("fault", "codes", "severity"), [pytest.param(*fault[1:], id=fault[0]) for fault in FAULTS])
def test_fault(fault: t.Callable[[Evidence], None], codes: list[str], severity: str) -> None:
    evidence = _healthy()
    fault(evidence)
    findings = _findings(evidence)
    assert [found["code"] for found in findings] == codes
    assert findings[0]["severity"] == severity
    assert all(found["evidence"] and found["next_step"] and found["summary"].endswith(".") for found in findings)


def test_what_we_may_not_ask_is_no_fault() -> None:
    evidence = _healthy()
    _cri(error="[Errno 13] Permission denied", denied=True)(evidence)
    assert node_facts(evidence, SUBSETS)["runtimes"][0]["active"] is None
    assert _findings(evidence) == []


def test_every_setting_of_a_handler_is_compared_with_the_daemon() -> None:
    evidence = _healthy()
    runc = {"runtimeType": "io.containerd.runc.v2", "options": {"SystemdCgroup": True}}
    nvidia = {"runtimeType": "io.containerd.runc.v2", "options": {"SystemdCgroup": True, "BinaryName": "/opt/nvidia-container-runtime"}}
    containerd = {"defaultRuntimeName": "nvidia", "runtimes": {"runc": runc, "nvidia": nvidia}}
    evidence["runtimes"][0]["cri"]["info"] = {"config": json.dumps({"containerd": containerd})}
    (found,) = _findings(evidence)
    assert found["code"] == "DaemonNotUsingConfig"
    assert "handler nvidia has other settings; default is nvidia instead of runc" in found["summary"]


def test_a_held_package_is_a_fact_and_no_finding() -> None:
    evidence = _healthy()
    _packages(("ii ", "hi "))(evidence)
    facts = node_facts(evidence, SUBSETS)
    assert {(package["status"], package["held"]) for package in facts["driver"]["packages"] + facts["toolkit"]["packages"]} == {("ii", True)}
    assert _findings(evidence) == []


def test_a_finding_has_the_shape_that_is_promised() -> None:
    found = finding("NoGpu", kind="node", name="gpu-1", summary="None.", next_step="Buy one.", severity=INFO)
    assert list(found) == ["code", "severity", "subject", "summary", "cause", "next_step", "evidence", "retryable", "consequence_of"]
    assert (found["severity"], found["next_step"], found["cause"]) == (INFO, "Buy one.", CATALOGUE["NoGpu"].cause)
    with pytest.raises(KeyError):
        finding("NoSuchCode", kind="node", name="gpu-1", summary="x")
