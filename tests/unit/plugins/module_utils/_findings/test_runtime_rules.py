# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule on runtimes, toolkit and CDI: one fault made to a healthy node, and the finding that names it."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import NODE_INFO_OPTIONS, SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import toolkit
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import ERROR, INFO, WARNING
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings
from tests.unit import node_cases

Evidence = dict[str, t.Any]
Fault = t.Callable[[Evidence], None]

MAIN = "/etc/containerd/config.toml"
TOOLKIT = "/etc/nvidia-container-runtime/config.toml"
SPEC = "/var/run/cdi/nvidia.yaml"
DOCKER = "/etc/docker/daemon.json"
RECORD = "/var/lib/gpufleet/toolkit/record"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
NAMES = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")
GPUS = ("GPU-00000001-0000-4000-8000-000000000001", "GPU-00000002-0000-4000-8000-000000000002")
SECTION = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes'
RUNC = f"""version = 2
[{SECTION}.runc]
runtime_type = "io.containerd.runc.v2"
[{SECTION}.runc.options]
SystemdCgroup = true
"""
NVIDIA = f"""[{SECTION}.nvidia]
runtime_type = "io.containerd.runc.v2"
[{SECTION}.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
SystemdCgroup = true
"""


def _spec(version: str = "0.5.0", driver: str = "580.159.04", gpus: t.Sequence[str] = GPUS, root: str = "", **edits: t.Any) -> str:
    library = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{driver}"
    return json.dumps({
        "cdiVersion": version,
        "kind": "nvidia.com/gpu",
        "devices": [{"name": name, "containerEdits": {"deviceNodes": [{"path": f"/dev/nvidia{index}"}]}} for index, name in enumerate([*gpus, "all"])],
        "containerEdits": {"mounts": [{"hostPath": root + library, "containerPath": library}], **edits},
    })


def _text(text: str) -> Evidence:
    return {"text": text, "truncated": False}


def _said(stdout: str = "", rc: int = 0, stderr: str = "") -> Evidence:
    return {"argv": [], "rc": rc, "stdout": stdout, "stderr": stderr, "timed_out": False}


def _daemon(*handlers: str, version: str = "1.7.24") -> Evidence:
    return {
        "endpoint": "unix:///run/containerd/containerd.sock",
        "version": {"name": "containerd", "version": version},
        "conditions": [{"type": "RuntimeReady", "status": True, "reason": "", "message": ""}],
        "info": {},
        "runtime_handlers": list(handlers),
    }


def _healthy() -> Evidence:
    base = copy.deepcopy(next(check.evidence for check in node_cases.checks() if check.name == "h200 node"))
    packages = "".join(f"ii \t{name}\t1.20.2-1\tamd64\n" for name in NAMES) + "ii \tnvidia-open\t580.159.04-1\tamd64\n"
    base["commands"].update(packages=_said(packages), containerd_config_dump=_said(RUNC + NVIDIA))
    base["files"].update({MAIN: _text(RUNC + NVIDIA), TOOLKIT: _text("disable-require = false\n"), SPEC: _text(_spec())})
    base["libraries"] = [{"path": LIBRARY, "target": "libnvidia-ml.so.580.159.04"}]
    base["runtimes"] = [{
        "name": "containerd",
        "distribution": "kubeadm",
        "socket": "/run/containerd/containerd.sock",
        "config": MAIN,
        "program": "/usr/bin/containerd",
        "arguments": [],
        "binaries": {"/usr/bin/nvidia-container-runtime": True},
        "cri": _daemon("runc", "nvidia"),
    }]
    base["kubelet"] = {"config": None, "arguments": ["--cgroup-driver=systemd"]}
    return base


def _config(text: str, *handlers: str) -> Fault:
    def change(evidence: Evidence) -> None:
        evidence["files"][MAIN] = _text(text)
        evidence["commands"]["containerd_config_dump"] = _said(text)
        evidence["runtimes"][0]["cri"] = _daemon(*(handlers or ("runc", "nvidia")))

    return change


def _file(path: str, text: str) -> Fault:
    def change(evidence: Evidence) -> None:
        evidence["files"][path] = _text(text)

    return change


def _all(*faults: Fault) -> Fault:
    def change(evidence: Evidence) -> None:
        for fault in faults:
            fault(evidence)

    return change


def _runtime(**values: t.Any) -> Fault:
    def change(evidence: Evidence) -> None:
        evidence["runtimes"][0].update(values)

    return change


def _undumped(evidence: Evidence) -> None:
    del evidence["commands"]["containerd_config_dump"]


def _old(evidence: Evidence) -> None:
    _config(RUNC + NVIDIA)(evidence)
    text = RUNC + '[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n' + NVIDIA
    evidence["files"][MAIN] = _text(text)
    evidence["runtimes"][0]["cri"] = _daemon("runc", "nvidia", version="1.6.20~ds1")


def _packages(old: str, new: str) -> Fault:
    def change(evidence: Evidence) -> None:
        evidence["commands"]["packages"]["stdout"] = evidence["commands"]["packages"]["stdout"].replace(old, new)

    return change


def _consumer(text: str) -> Fault:
    def change(evidence: Evidence) -> None:
        evidence["commands"]["cdi_consumer"] = _said(rc=1, stderr=text)

    return change


def _docker(config: str, info: Evidence | None) -> Fault:
    """Docker alone, on a machine without a kubelet."""

    def change(evidence: Evidence) -> None:
        evidence["kubelet"] = None
        evidence["runtimes"][0].update(distribution=None, cri={**_daemon(), "conditions": [], "version": {}, "grpc_status": 12})
        evidence["files"][MAIN] = _text('disabled_plugins = ["cri"]\n')
        evidence["commands"]["containerd_config_dump"] = _said('version = 2\ndisabled_plugins = ["cri"]\n')
        evidence["files"][DOCKER] = _text(config)
        evidence["runtimes"].append({"name": "docker", "socket": "/run/docker.sock", "config": DOCKER, "program": "/usr/bin/dockerd", "cri": None})
        if info:
            evidence["commands"]["docker_info"] = _said(json.dumps(info))

    return change


def _crio(config: str, *handlers: str) -> Fault:
    def change(evidence: Evidence) -> None:
        path = "/etc/crio/crio.conf.d/99-nvidia.conf"
        del evidence["files"][MAIN]
        _undumped(evidence)
        evidence["files"].update({"/etc/crio/crio.conf": _text("[crio.runtime]\n"), path: _text(config)})
        evidence["runtimes"] = [{
            "name": "cri-o",
            "socket": "/run/crio/crio.sock",
            "config": "/etc/crio/crio.conf",
            "program": "/usr/bin/crio",
            "cri": _daemon(*handlers),
        }]

    return change


DOCKER_CONFIG = '{"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}'
DOCKER_INFO = {"ServerVersion": "28.2.2", "Runtimes": {"runc": {}, "nvidia": {}}, "DefaultRuntime": "runc", "CgroupDriver": "systemd"}
CRIO_CONFIG = '[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\nruntime_type = "oci"\n'
RECORDED = f"# x\nconfig: {MAIN}\nhandler: nvidia\n"
LOST = ["RuntimeConfigOverwritten", "RuntimeHandlerMissing"]
WITHOUT_TYPE = NVIDIA.replace('runtime_type = "io.containerd.runc.v2"\n', "")
WITHOUT_CGROUP = NVIDIA.replace("SystemdCgroup = true\n", "")
ENVVAR = "accept-nvidia-visible-devices-envvar-when-unprivileged = false\n"
VOLUMES = "accept-nvidia-visible-devices-as-volume-mounts = true\n"
UNRESOLVABLE = "failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=7, nvidia.com/gpu=all"
REFUSED = 'failed to load CDI Spec: failed to parse CDI Spec "/etc/cdi/old.yaml": error unmarshaling JSON: json: unknown field "hostPath"'
DRIVER_CONTAINER = [{"path": "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "target": "libnvidia-ml.so.580.159.04"}]

FAULTS: list[tuple[str, Fault, list[str], str]] = [
    ("a number as text", _all(_undumped, _file(MAIN, RUNC.replace("version = 2", 'version = "2"') + NVIDIA)), ["ConfigInvalid"], ERROR),
    ("true as text", _all(_undumped, _file(MAIN, RUNC + NVIDIA.replace("= true", '= "true"'))), ["ConfigInvalid", "CgroupDriverMismatch"], ERROR),
    ("a template beside the configuration", _file("/etc/containerd/config.toml.tmpl", '{{ template "base" . }}\n'), ["TemplateNotToml"], INFO),
    ("CRI disabled", _config('disabled_plugins = ["io.containerd.grpc.v1.cri"]\n' + RUNC + NVIDIA), ["CriPluginDisabled"], ERROR),
    ("no runtime_type", _config(RUNC + WITHOUT_TYPE), ["RuntimeTypeMissing"], ERROR),
    ("no systemd cgroups", _config(RUNC + WITHOUT_CGROUP), ["CgroupDriverMismatch"], WARNING),
    ("no systemd cgroups anywhere", _config(RUNC.replace("= true", "= false") + WITHOUT_CGROUP), ["CgroupDriverMismatch"], WARNING),
    ("record without a handler", _all(_config(RUNC, "runc"), _file(RECORD, RECORDED)), LOST, ERROR),
    ("copy with a handler", _all(_config(RUNC, "runc"), _file(MAIN + ".bak", RUNC + NVIDIA)), LOST, ERROR),
    ("leftover drop-in", _file("/etc/containerd/config.d/99-nvidia.toml", NVIDIA), ["DropInNotImported"], INFO),
    ("CDI on an old containerd", _old, ["RuntimeTooOld"], WARNING),
    ("toolkit's program gone", _runtime(binaries={"/usr/bin/nvidia-container-runtime": False}), ["ToolkitNotInstalled"], ERROR),
    ("old toolkit", _packages("1.20.2-1", "1.17.8-1"), ["ToolkitVulnerable"], WARNING),
    ("mixed toolkit", _packages("libnvidia-container1\t1.20.2", "libnvidia-container1\t1.20.0"), ["ToolkitVersionMixed"], ERROR),
    ("toolkit's configuration broken", _file(TOOLKIT, "[nvidia-ctk\n"), ["ConfigInvalid"], ERROR),
    ("nvidia runs runc", _config(RUNC + NVIDIA.replace("nvidia-container-runtime", "runc")), ["ToolkitNotInjecting"], ERROR),
    ("no variable and no CDI", _file(TOOLKIT, ENVVAR), ["EnvVarDevicesNotAllowed"], WARNING),
    ("toolkit's driver root", _file(TOOLKIT, '[nvidia-container-cli]\nroot = "/run/nvidia/driver"\n'), ["DriverRootMismatch"], ERROR),
    ("driver in a container, all else on the host", lambda evidence: evidence.update(libraries=DRIVER_CONTAINER), ["DriverRootMismatch"] * 2, ERROR),
    ("specification's driver root", _file(SPEC, _spec(root="/run/nvidia/driver")), ["DriverRootMismatch"], ERROR),
    ("specification of another driver", _file(SPEC, _spec(driver="570.86.10")), ["CdiSpecStale"], ERROR),
    ("specification of other GPUs", _file(SPEC, _spec(gpus=[GPUS[0], "GPU-9"])), ["CdiSpecStale"], ERROR),
    ("specification lacks a GPU", _file(SPEC, _spec(gpus=GPUS[:1])), ["CdiSpecStale"], ERROR),
    ("specification is no YAML", _file(SPEC, "a: [\n"), ["CdiSpecInvalid"], ERROR),
    ("specification is empty", _file(SPEC, ""), ["CdiSpecInvalid"], ERROR),
    ("specification newer than it says", _file(SPEC, _spec(additionalGids=[44])), ["CdiSpecInvalid"], ERROR),
    ("specification that a reader refused", _consumer(REFUSED), ["CdiSpecInvalid"], ERROR),
    ("unknown device", _consumer(UNRESOLVABLE), ["CdiDeviceUnresolvable"], ERROR),
    ("two specifications of the same", _file("/var/run/cdi/nvidia.json", _spec()), ["CdiDeviceUnresolvable"], ERROR),
    (
        "specification newer than the runtime",
        _all(_config(RUNC + '[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n' + NVIDIA), _file(SPEC, _spec(version="0.7.0")),
             lambda evidence: evidence["runtimes"][0].update(cri=_daemon("runc", "nvidia", version="1.7.12"))),
        ["RuntimeTooOld"], ERROR,
    ),
    ("Docker not restarted", _docker(DOCKER_CONFIG, {**DOCKER_INFO, "Runtimes": {"runc": {}}}), ["DaemonNotUsingConfig"], ERROR),
    ("Docker's other default", _docker('{"default-runtime": "nvidia", ' + DOCKER_CONFIG[1:], DOCKER_INFO), ["DaemonNotUsingConfig"], ERROR),
    ("Docker's default undefined", _docker('{"default-runtime": "nvidia"}', None), ["DefaultRuntimeUndefined"], ERROR),
    ("Docker's file broken", _docker(DOCKER_CONFIG + "}", DOCKER_INFO), ["ConfigInvalid"], ERROR),
    ("CRI-O without the handler", _crio("[crio.runtime]\n", "runc", "crun"), ["RuntimeHandlerMissing"], ERROR),
    ("CRI-O's drop-in broken", _crio("[crio.runtime\n", "runc", "nvidia"), ["ConfigInvalid"], ERROR),
]

HARMLESS: list[tuple[str, Fault]] = [
    ("nothing", lambda evidence: None),
    ("Docker alone", _docker(DOCKER_CONFIG, DOCKER_INFO)),
    ("Docker without a file", _all(_docker("", DOCKER_INFO), lambda evidence: evidence["files"].pop(DOCKER))),
    ("CRI-O", _crio(CRIO_CONFIG, "runc", "nvidia")),
    ("hardened with volume mounts", _file(TOOLKIT, ENVVAR + VOLUMES)),
    ("cgroupfs everywhere", _all(_config((RUNC + NVIDIA).replace("= true", "= false")), lambda evidence: evidence.update(kubelet=None))),
    ("a specification of another vendor", _file("/etc/cdi/other.yaml", "cdiVersion: 0.3.0\nkind: example.com/device\ndevices: []\n")),
    ("a specification cut off", lambda evidence: evidence["files"].update({SPEC: {"text": _spec()[:300], "truncated": True}})),
    ("a configuration cut off", _all(_undumped, lambda evidence: evidence["files"].update({MAIN: {"text": (RUNC + NVIDIA)[:-3], "truncated": True}}))),
    ("a specification by number", _file(SPEC, _spec(gpus=["0", "1"]))),
    ("a record that fits", _file(RECORD, RECORDED)),
    ("one GPU partitioned", lambda evidence: evidence["files"].update({SPEC: _text(_spec(gpus=[*GPUS, "MIG-1"]))})),
]


def _findings(fault: Fault) -> list[Evidence]:
    evidence = _healthy()
    fault(evidence)
    return node_findings(node_facts(evidence, SUBSETS), "gpu-1")


@pytest.mark.parametrize(("fault", "codes", "severity"), [pytest.param(*fault[1:], id=fault[0]) for fault in FAULTS])
def test_fault(fault: Fault, codes: list[str], severity: str) -> None:
    findings = _findings(fault)
    assert [found["code"] for found in findings] == codes
    assert findings[0]["severity"] == severity
    assert all(found["evidence"] and found["next_step"] and found["summary"].endswith(".") for found in findings)


@pytest.mark.parametrize("change", [pytest.param(change, id=name) for name, change in HARMLESS])
def test_no_false_alarm(change: Fault) -> None:
    assert [(found["code"], found["summary"]) for found in _findings(change)] == []


def test_the_floor_is_an_option() -> None:
    assert NODE_INFO_OPTIONS["toolkit_floor"]["default"] == toolkit.FLOOR
    facts = node_facts(_healthy(), SUBSETS, toolkit_floor="1.21.0")
    assert facts["toolkit"]["vulnerable_below"] == "1.21.0"
    assert [found["code"] for found in node_findings(facts, "gpu-1")] == ["ToolkitVulnerable"]


def test_hardening_with_cdi_is_only_worth_a_note() -> None:
    (found,) = _findings(_all(_config(RUNC + '[plugins."io.containerd.grpc.v1.cri"]\nenable_cdi = true\n' + NVIDIA), _file(TOOLKIT, ENVVAR)))
    assert (found["code"], found["severity"]) == ("EnvVarDevicesNotAllowed", INFO)


def test_every_code_of_the_runtime_table_has_a_rule() -> None:
    made = {code for _name, _fault, codes, _severity in FAULTS for code in codes}
    assert made >= {
        "ConfigInvalid", "TemplateNotToml", "CriPluginDisabled", "DefaultRuntimeUndefined", "RuntimeTypeMissing", "CgroupDriverMismatch",
        "DropInNotImported", "RuntimeConfigOverwritten", "DaemonNotUsingConfig", "RuntimeHandlerMissing", "RuntimeTooOld", "ToolkitNotInstalled",
        "ToolkitVersionMixed", "ToolkitVulnerable", "ToolkitNotInjecting", "CdiSpecInvalid", "CdiSpecStale", "CdiDeviceUnresolvable",
        "EnvVarDevicesNotAllowed", "DriverRootMismatch",
    }
