# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Kubernetes control plane of an instance: etcd, API server, controllers and scheduler, and kwok as the kubelets.

Everything listens on the loopback address. TLS, RBAC and all admission plug-ins that Kubernetes has by default are on.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.testbed import paths
from tests.testbed.cluster import gobuild, processes
from tests.testbed.fleet import ownership

STAGES = Path(__file__).resolve().parent / "stages.yaml.in"
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok-controller")
PROGRAMS = (*COMPONENTS[:-1], "kwok", "kubectl", "kwokctl")
READY_SECONDS = 120

Say = Callable[[str], None]


def _home(instance: Path) -> Path:
    return instance.resolve() / "kwok"


def _folder(instance: Path, name: str) -> Path:
    """Where kwokctl keeps this cluster: pki, etcd's data, logs and pids; also the components' working directory."""
    return _home(instance) / "clusters" / name


def _component(instance: Path, component: str | None = None) -> Callable[[processes.Process], bool]:
    """Recognises the processes of the instance's control plane: our binaries at work in its folder."""
    home, binaries = _home(instance), paths.BIN.resolve()
    names = {"kwok" if component == "kwok-controller" else component} if component else {*PROGRAMS}

    def belongs(process: processes.Process) -> bool:
        at_work = process.directory.is_relative_to(home) or str(home) in " ".join(process.arguments)
        return at_work and process.executable.parent == binaries and process.executable.name in names

    return belongs


def _options(name: str) -> dict[str, object]:
    binaries = paths.BIN.resolve()
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "metadata": {"name": name},
        "options": {
            "runtime": "binary",
            "bindAddress": "127.0.0.1",
            "securePort": True,
            "kubeAuthorization": True,
            "kubeAdmission": True,
            "kubeVersion": gobuild.kubernetes_version(),
            "enableCRDs": ["Logs", "Exec", "ClusterLogs", "ClusterExec"],
            "etcdBinary": str(binaries / "etcd"),
            "kubeApiserverBinary": str(binaries / "kube-apiserver"),
            "kubeControllerManagerBinary": str(binaries / "kube-controller-manager"),
            "kubeSchedulerBinary": str(binaries / "kube-scheduler"),
            "kubectlBinary": str(binaries / "kubectl"),
            "kwokControllerBinary": str(binaries / "kwok"),
        },
        # There is one of each; electing a leader would only make them exit when the API server is away for some seconds.
        "componentsPatches": [
            {"name": component, "extraArgs": [{"key": "leader-elect", "value": "false"}]} for component in ("kube-controller-manager", "kube-scheduler")
        ],
    }


def _kwokctl(instance: Path, name: str, *arguments: str, log: Path) -> None:
    environment = {
        **os.environ,
        "KWOK_WORKDIR": str(_home(instance)),
        "KWOK_KUBE_VERSION": gobuild.kubernetes_version(),
        "PATH": f"{paths.BIN.resolve()}:{os.environ['PATH']}",
    }
    command = [str(paths.BIN / "kwokctl"), "--name", name, *arguments]
    with log.open("a") as output:
        done = subprocess.run(command, env=environment, check=False, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        last = "\n".join(log.read_text().splitlines()[-15:])
        raise RuntimeError(f"`{' '.join(command)}` failed (exit code {done.returncode}); the end of {log}:\n{last}")


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """kwokctl looks for free ports and only then starts what listens on them: two at once would find the same ones."""
    with (paths.CACHE / ".control-plane.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write_kubeconfig(instance: Path, name: str) -> Path:
    """Writes a kubeconfig that holds its certificates, so that it works from anywhere and one file mode protects it all."""
    pki = _folder(instance, name) / "pki"
    generated = yaml.safe_load((_folder(instance, name) / "kubeconfig.yaml").read_text())

    def embedded(file: str) -> str:
        return base64.b64encode((pki / file).read_bytes()).decode()

    context = f"gpufleet-{name}"
    server = generated["clusters"][0]["cluster"]["server"]
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
        "clusters": [{"name": context, "cluster": {"server": server, "certificate-authority-data": embedded("ca.crt")}}],
        "users": [{"name": context, "user": {"client-certificate-data": embedded("admin.crt"), "client-key-data": embedded("admin.key")}}],
    }
    kubeconfig = instance / "kubeconfig"
    scratch = instance / ".kubeconfig.new"
    scratch.unlink(missing_ok=True)
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        yaml.safe_dump(content, file, sort_keys=False)
    scratch.replace(kubeconfig)
    return kubeconfig


def is_ready(instance: Path, name: str) -> bool:
    """Whether every component runs and the API server says that it is ready."""
    if not (instance / "kubeconfig").is_file() or not all(processes.find(_component(instance, component)) for component in COMPONENTS):
        return False
    return _answers(instance, name)


def _answers(instance: Path, name: str) -> bool:
    folder = _folder(instance, name)
    try:
        server = urlsplit(yaml.safe_load((folder / "kubeconfig.yaml").read_text())["clusters"][0]["cluster"]["server"])
        trust = ssl.create_default_context(cafile=folder / "pki" / "ca.crt")
        with closing(HTTPSConnection(server.hostname or "", server.port, timeout=2, context=trust)) as connection:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False


def _await_answer(instance: Path, name: str) -> None:
    give_up = time.monotonic() + READY_SECONDS
    while not _answers(instance, name):
        if time.monotonic() > give_up:
            raise RuntimeError(f"the API server isn't ready after {READY_SECONDS} s; see {_folder(instance, name) / 'logs' / 'kube-apiserver.log'}")
        time.sleep(0.1)


def up(instance: Path, name: str, say: Say) -> Path:
    """Starts the control plane of an instance unless it runs already. Returns the path of its kubeconfig (mode 0600).

    Raises RuntimeError where the programs aren't built or the cluster doesn't become ready.
    """
    if is_ready(instance, name):
        say("control plane: already running")
        return instance / "kubeconfig"
    missing = [program for program in ("kwokctl", "kubectl", "kwok", *COMPONENTS[:-1]) if not (paths.BIN / program).is_file()]
    if missing:
        raise RuntimeError(f"not built: {', '.join(missing)} in {paths.BIN}; run `python -m tests.testbed build` first")
    started = time.monotonic()
    down(instance, name)
    home = _home(instance)
    home.mkdir(parents=True)
    home.chmod(0o700)
    options = home / "options.json"
    options.write_text(json.dumps(_options(name), indent=2))
    stages = home / "stages.yaml"
    stages.write_text(STAGES.read_text().replace("@AGENT_POD@", ownership.AGENT_POD_JQ))
    with _one_at_a_time():
        _kwokctl(
            instance, name, "create", "cluster", "--config", str(options), "--config", str(stages), "--kubeconfig", str(home / "kubeconfig"),
            "--wait", f"{READY_SECONDS}s", "--timeout", f"{READY_SECONDS}s", log=home / "kwokctl.log",
        )
    _await_answer(instance, name)
    kubeconfig = _write_kubeconfig(instance, name)
    say(f"control plane: Kubernetes {gobuild.kubernetes_version()} ready in {time.monotonic() - started:.1f} s")
    return kubeconfig


def down(instance: Path, name: str) -> None:
    """Ends every process of the instance's control plane and removes its files. Fine when there is none, or half of one."""
    del name  # an instance has one control plane
    processes.end(_component(instance))
    (instance / "kubeconfig").unlink(missing_ok=True)
    if _home(instance).exists():
        shutil.rmtree(_home(instance))


def stop_apiserver(instance: Path, name: str) -> None:
    """Ends the API server alone, as if it had crashed; everything else goes on."""
    processes.end(_component(instance, "kube-apiserver"))
    (_folder(instance, name) / "pids" / "kube-apiserver.pid").unlink(missing_ok=True)


def start_apiserver(instance: Path, name: str) -> None:
    """Starts the API server again, on the same port and data, and waits until it is ready.

    Its clients are started anew: after an outage they would wait up to a minute before they try again.
    Raises RuntimeError where it doesn't become ready.
    """
    for component in COMPONENTS[1:]:
        processes.end(_component(instance, component))
        (_folder(instance, name) / "pids" / f"{component}.pid").unlink(missing_ok=True)
    _kwokctl(instance, name, "start", "cluster", log=_home(instance) / "kwokctl.log")
    _await_answer(instance, name)
