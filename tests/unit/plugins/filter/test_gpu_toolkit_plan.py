# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import hashlib
import typing as t

import pytest

from ansible_collections.gpufleet.k8s.plugins.filter import gpu_toolkit_plan as subject

Object = dict[str, t.Any]

VERSION = "1.20.2-1"
PACKAGES = ["nvidia-container-toolkit", "libnvidia-container1"]
WANTED: Object = {
    "runtime": "containerd",
    "version": VERSION,
    "packages": PACKAGES,
    "hold": True,
    "config": "/etc/containerd/config.toml",
    "drop_in": "/etc/containerd/conf.d/99-nvidia.toml",
    "handler": "nvidia",
    "binary": "/usr/bin/nvidia-container-runtime",
    "default_runtime": False,
    "cdi": True,
}
RECORDED = hashlib.sha256(subject.record(WANTED).encode()).hexdigest()
RUNC: Object = {"name": "runc", "runtime_type": "io.containerd.runc.v2", "binary": None, "systemd_cgroup": True}
NVIDIA: Object = {"name": "nvidia", "runtime_type": "io.containerd.runc.v2", "binary": WANTED["binary"], "systemd_cgroup": True}


def daemon(*handlers: Object, ready: bool = True, default: str | None = "runc") -> Object:
    names = [handler["name"] for handler in handlers]
    return {"ready": ready, "reason": None, "message": None, "handlers": names, "default_handler": default, "runtimes": list(handlers)}


def runtime(*handlers: Object, **facts: t.Any) -> Object:
    return {
        "name": "containerd",
        "version": "1.7.24",
        "active": True,
        "config_path": WANTED["config"],
        "config_valid": True,
        "config_error": None,
        "config_error_path": None,
        "handlers": list(handlers),
        "default_handler": "runc",
        "cdi_enabled": True,
        "cri": daemon(*handlers),
        **facts,
    }


def package(name: str, version: str = VERSION, status: str = "ii", held: bool = True) -> Object:
    return {"name": name, "version": version, "status": status, "held": held}


def node(*runtimes: Object, packages: t.Sequence[Object] = tuple(package(name) for name in PACKAGES), interrupted: t.Sequence[str] = ()) -> Object:
    return {"runtimes": list(runtimes), "toolkit": {"packages": list(packages), "interrupted_packages": list(interrupted)}}


def plan(facts: Object, recorded: str = RECORDED, **wanted: t.Any) -> Object:
    return subject.plan(facts, {**WANTED, **wanted}, "gpu-1", recorded)


def test_a_node_that_has_it_gets_nothing() -> None:
    result = plan(node(runtime(RUNC, NVIDIA)))
    assert (result["failures"], result["announce"], result["configure"]) == ([], [], False)


def test_a_bare_node_gets_everything() -> None:
    result = plan(node(runtime(RUNC, cdi_enabled=False), packages=[]), recorded="")
    assert result["install"] == [f"{name}={VERSION}" for name in PACKAGES]
    assert result["effective"] == ["no handler nvidia", "CDI is off"]
    assert result["configure"]
    announced = "\n".join(result["announce"])
    for expected in (VERSION, WANTED["drop_in"], WANTED["config"], "restart containerd"):
        assert expected in announced


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        (runtime(RUNC), "no handler nvidia"),
        (runtime(RUNC, {**NVIDIA, "binary": "/usr/local/bin/nvidia-container-runtime"}), "handler nvidia runs /usr/local/bin/nvidia-container-runtime"),
        (runtime(RUNC, {**NVIDIA, "runtime_type": None}), "handler nvidia has no runtime type"),
        (runtime(RUNC, {**NVIDIA, "systemd_cgroup": None}), "handler nvidia doesn't use systemd cgroups as runc does"),
        (runtime(RUNC, NVIDIA, default_handler="nvidia"), "default handler is nvidia"),
        (runtime(RUNC, NVIDIA, cdi_enabled=False), "CDI is off"),
    ],
)
def test_each_fault_of_the_effective_configuration_is_named(facts: Object, fault: str) -> None:
    result = plan(node(facts))
    assert (result["effective"], result["configure"]) == ([fault], True)


def test_a_default_that_is_asked_for_is_missed() -> None:
    assert plan(node(runtime(RUNC, NVIDIA)), default_runtime=True)["effective"] == ["default handler is runc"]


@pytest.mark.parametrize(
    ("version", "asked", "enabled", "ask", "after"),
    [("1.6.20", True, False, False, False), ("1.7.24", True, False, True, True), ("2.4.2", False, True, False, True), ("1.7.24", False, False, False, False)],
)
def test_cdi_is_asked_of_runtimes_that_can(version: str, asked: bool, enabled: bool, ask: bool, after: bool) -> None:
    result = plan(node(runtime(RUNC, NVIDIA, version=version, cdi_enabled=enabled)), cdi=asked)
    assert (result["ask_cdi"], result["cdi"]) == (ask, after)
    assert ("CDI is off" in result["effective"]) is (ask and not enabled)


@pytest.mark.parametrize("change", [{"handler": "nvidia-2"}, {"cdi": False}, {"default_runtime": True}, {"drop_in": "/etc/containerd/conf.d/1.toml"}])
def test_other_settings_are_not_the_recorded_ones(change: Object) -> None:
    assert plan(node(runtime(RUNC, NVIDIA)), **change)["configure"]


def test_without_a_record_of_a_complete_run_it_is_done_again() -> None:
    assert plan(node(runtime(RUNC, NVIDIA)), recorded="")["configure"]


@pytest.mark.parametrize(
    ("facts", "fault"),
    [
        (runtime(RUNC, NVIDIA, cri=None), "containerd isn't running"),
        (runtime(RUNC, NVIDIA, active=False), "containerd isn't running"),
        (runtime(RUNC, NVIDIA, cri=daemon(RUNC, NVIDIA, ready=False)), "the CRI of containerd isn't ready (None: None)"),
        (runtime(RUNC, NVIDIA, cri=daemon(RUNC)), "the running containerd doesn't know the handler nvidia"),
        (runtime(RUNC, NVIDIA, cri=daemon(RUNC, {**NVIDIA, "binary": "/old"})), "the running containerd uses older settings of the handler nvidia"),
        (runtime(RUNC, NVIDIA, cri=daemon(RUNC, NVIDIA, default="nvidia")), "the running containerd has the default handler nvidia"),
    ],
)
def test_each_fault_of_the_running_daemon_is_named(facts: Object, fault: str) -> None:
    result = plan(node(facts))
    assert (result["daemon"], result["configure"]) == ([fault], False)
    assert result["announce"] == [f"restart containerd ({fault})"]


def test_a_daemon_that_still_knows_a_removed_handler_is_found() -> None:
    assert subject.daemon_faults(runtime(RUNC, cri=daemon(RUNC, NVIDIA)), "nvidia") == ["the running containerd still knows the handler nvidia"]


def test_a_daemon_that_does_not_say_its_default_is_believed() -> None:
    assert subject.daemon_faults(runtime(RUNC, NVIDIA, cri=daemon(RUNC, NVIDIA, default=None)), "nvidia") == []


@pytest.mark.parametrize(
    ("packages", "interrupted", "expected"),
    [
        ([package(PACKAGES[0])], [], {"install": [f"{PACKAGES[1]}={VERSION}"]}),
        ([package(PACKAGES[0]), package(PACKAGES[1], version="1.19.1-1")], [], {"install": [f"{PACKAGES[1]}={VERSION}"]}),
        ([package(PACKAGES[0]), package(PACKAGES[1], status="iF")], [PACKAGES[1]], {"finish": [PACKAGES[1]], "install": [f"{PACKAGES[1]}={VERSION}"]}),
        ([package(PACKAGES[0]), package(PACKAGES[1], held=False)], [], {"hold": [PACKAGES[1]]}),
    ],
    ids=["missing", "of another version", "half configured", "not held"],
)
def test_only_the_packages_that_are_wrong_are_touched(packages: list[Object], interrupted: list[str], expected: Object) -> None:
    result = plan(node(runtime(RUNC, NVIDIA), packages=packages, interrupted=interrupted))
    assert {name: result[name] for name in ("finish", "install", "hold", "unhold") if result[name]} == expected


@pytest.mark.parametrize(
    ("facts", "code", "text"),
    [
        (node(), "RuntimeNotInstalled", "containerd"),
        (
            node(runtime(config_valid=False, config_error="unexpected token (at line 9)", config_error_path="/etc/containerd/conf.d/x.toml")),
            "ConfigInvalid",
            "/etc/containerd/conf.d/x.toml on gpu-1 to parse; found unexpected token (at line 9)",
        ),
    ],
)
def test_what_can_not_be_configured_is_refused(facts: Object, code: str, text: str) -> None:
    [failure] = plan(facts)["failures"]
    assert failure["code"] == code
    assert text in failure["message"]
