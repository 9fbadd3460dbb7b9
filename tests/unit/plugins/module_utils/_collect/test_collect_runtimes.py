# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runtimes, the kubelet and CDI specifications of a machine that is a folder."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import cdi, processes, reader, runtimes
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.reader import Reader

K3S = "/var/lib/rancher/k3s/agent/etc/containerd"
RKE2 = "/var/lib/rancher/rke2/agent/etc/containerd"
MICROK8S = "/var/snap/microk8s/current/args"


class Machine(Host):
    """A folder as root, with programs that are only named."""

    def __init__(self, root: Path, programs: t.Collection[str] = ()) -> None:
        super().__init__(lambda *_arguments, **_options: None, str(root))
        self.programs = programs

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if name in self.programs else None


def _machine(root: Path, files: dict[str, str], programs: t.Collection[str] = ()) -> Machine:
    for path, text in files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
    return Machine(root, programs)


def _observe(machine: Machine) -> tuple[dict[str, t.Any], dict[str, t.Sequence[str]], Reader]:
    files = Reader(machine)
    found, commands = runtimes.observe(machine, files, 1)
    return found, commands, files


CONTAINERD = 'version = 2\nBinaryName = "/usr/bin/nvidia-container-runtime"\n'

# (files, programs, (name, distribution, configuration) of each runtime, commands)
MACHINES: list[tuple[str, dict[str, str], list[str], list[tuple[str, str | None, str]], list[str]]] = [
    ("nothing", {}, [], [], []),
    ("containerd", {}, ["containerd"], [("containerd", None, "/etc/containerd/config.toml")], ["containerd_config_dump"]),
    (
        "kubeadm", {"/etc/containerd/config.toml": CONTAINERD, "/var/lib/kubelet/kubeadm-flags.env": ""}, ["containerd"],
        [("containerd", "kubeadm", "/etc/containerd/config.toml")], ["containerd_config_dump"],
    ),
    ("k3s", {f"{K3S}/config.toml": CONTAINERD, f"{K3S}/config.toml.tmpl": "{{"}, [], [("containerd", "k3s", f"{K3S}/config.toml")], []),
    ("rke2", {f"{RKE2}/config.toml": CONTAINERD}, [], [("containerd", "rke2", f"{RKE2}/config.toml")], []),
    (
        "k3s beside Docker", {f"{K3S}/config.toml": CONTAINERD, "/etc/docker/daemon.json": "{}", "/run/docker.sock": ""}, ["containerd", "docker", "dockerd"],
        [("containerd", "k3s", f"{K3S}/config.toml"), ("containerd", None, "/etc/containerd/config.toml"), ("docker", None, "/etc/docker/daemon.json")],
        ["containerd_config_dump", "docker_info"],
    ),
    (
        "microk8s", {f"{MICROK8S}/containerd.toml": CONTAINERD, f"{MICROK8S}/containerd-template.toml": CONTAINERD}, [],
        [("containerd", "microk8s", f"{MICROK8S}/containerd.toml")], [],
    ),
    ("k0s", {"/etc/k0s/containerd.toml": CONTAINERD, "/etc/k0s/containerd.d/nvidia.toml": ""}, [], [("containerd", "k0s", "/etc/k0s/containerd.toml")], []),
    (
        "cri-o", {"/etc/crio/crio.conf": "", "/etc/crio/crio.conf.d/10-x.conf": "", "/etc/crio/conf.d/99-nvidia.toml": ""}, ["crio"],
        [("cri-o", None, "/etc/crio/crio.conf")], ["crio_config"],
    ),
    ("docker without its socket", {"/etc/docker/daemon.json": "{}"}, ["docker"], [("docker", None, "/etc/docker/daemon.json")], []),
]


@pytest.mark.parametrize(("files", "programs", "expected", "commands"), [pytest.param(*case[1:], id=case[0]) for case in MACHINES])
def test_each_runtime_is_found_with_its_files(
    tmp_path: Path, files: dict[str, str], programs: list[str], expected: list[tuple[str, str | None, str]], commands: list[str]
) -> None:
    found, asked, kept = _observe(_machine(tmp_path, files, programs))
    assert [(runtime["name"], runtime["distribution"], runtime["config"]) for runtime in found["runtimes"]] == expected
    assert sorted(asked) == commands
    configurations = {path for path in files if not path.endswith((".sock", ".env"))}
    assert set(kept.files) == configurations
    assert kept.errors == []


def test_what_was_configured_and_by_what_program(tmp_path: Path) -> None:
    files = {"/etc/containerd/config.toml": CONTAINERD, "/etc/containerd/config.toml.bak": "", "/etc/containerd/conf.d/99.toml": ""}
    found, commands, kept = _observe(_machine(tmp_path, files, ["containerd"]))
    assert found["runtimes"][0]["binaries"] == {"/usr/bin/nvidia-container-runtime": False}
    assert commands["containerd_config_dump"] == ("/usr/bin/containerd", "--config", "/etc/containerd/config.toml", "config", "dump")
    assert set(kept.files) == set(files)


@pytest.mark.parametrize("pid", ["", "²", "-1", "12 13", "999999999"])
def test_a_docker_that_left_its_pid_behind(tmp_path: Path, pid: str) -> None:
    found, _commands, kept = _observe(_machine(tmp_path, {"/etc/docker/daemon.json": "{}", "/run/docker.pid": pid}, []))
    assert [runtime["program"] for runtime in found["runtimes"]] == [None]
    assert kept.errors == []


def test_the_kubelet_by_its_control_group(tmp_path: Path) -> None:
    command = "/usr/bin/kubelet\0--config=/etc/k.yaml\0--cgroup-driver\0systemd\0--token=s3cret\0"
    files = {"/sys/fs/cgroup/system.slice/kubelet.service/cgroup.procs": "41\n42\n", "/proc/42/cmdline": command, "/etc/k.yaml": "cgroupDriver: systemd\n"}
    found, _commands, kept = _observe(_machine(tmp_path, files))
    assert found["kubelet"] == {"config": "/etc/k.yaml", "arguments": ["--config=/etc/k.yaml", "--cgroup-driver=systemd"]}
    assert "/etc/k.yaml" in kept.files


def test_the_kubelet_by_its_configuration(tmp_path: Path) -> None:
    found, _commands, _kept = _observe(_machine(tmp_path, {"/var/lib/kubelet/config.yaml": ""}))
    assert found["kubelet"] == {"config": "/var/lib/kubelet/config.yaml", "arguments": []}


def test_a_machine_without_a_kubelet(tmp_path: Path) -> None:
    assert _observe(Machine(tmp_path))[0]["kubelet"] is None


def test_secrets_of_a_distributions_settings_stay_on_the_node(tmp_path: Path) -> None:
    settings = "token: K10abc::server:xyz\nagent-token: 'quoted'\ndatastore-endpoint: postgres://user:hidden@db/k3s\ndefault-runtime: nvidia\n"
    _found, _commands, kept = _observe(_machine(tmp_path, {"/etc/rancher/k3s/config.yaml": settings}))
    text = kept.files["/etc/rancher/k3s/config.yaml"]["text"]
    assert not [secret for secret in ("K10abc", "quoted", "hidden") if secret in text]
    assert "default-runtime: nvidia" in text


def test_specifications_are_read_within_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {f"/etc/cdi/{number:02}.yaml": "cdiVersion: 0.5.0\n" for number in range(20)}
    files.update({"/etc/nvidia-container-runtime/config.toml": "", "/etc/cdi/notes.txt": "x", "/etc/cdi/00.yaml": "x" * 100})
    monkeypatch.setattr(reader, "FILE_LIMIT", 64)
    machine = _machine(tmp_path, files)
    kept = Reader(machine)
    cdi.observe(machine, kept)
    assert sorted(kept.files) == sorted([f"/etc/cdi/{number:02}.yaml" for number in range(16)] + ["/etc/nvidia-container-runtime/config.toml"])
    assert kept.files["/etc/cdi/00.yaml"] == {"text": "x" * 64, "truncated": True}
    assert [error["what"] for error in kept.errors] == ["/etc/cdi/16.yaml"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], None), (["x", "-c", "a"], "a"), (["x", "--config=a"], "a"), (["x", "--config"], None), (["x", "--configs=a"], None)],
)
def test_option(arguments: list[str], expected: str | None) -> None:
    assert processes.option(arguments, ("-c", "--config")) == expected
