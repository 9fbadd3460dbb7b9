# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds the testbed's Go programs from the one module in ``tools/``.

Each program is linked into a scratch folder and moved into place in one step, with a stamp beside it, so that a build
that is killed half-way leaves either the old program or the new one and the next build goes on where it stopped.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.testbed import paths

TOOLS = Path(__file__).resolve().parent / "tools"
MINIMUM_GO = (1, 26)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Part:
    """One program: the file that it becomes, its package, and what the linker has to put into it."""

    name: str
    package: str
    variables: tuple[str, ...] = ()
    cgo: bool = False

    def arguments(self, target: Path) -> list[str]:
        """The ``go`` command line that links this part into ``target``."""
        linker = ["-s", "-w", *(f"-X={variable}" for variable in self.variables)]
        return ["go", "build", "-trimpath", "-ldflags", " ".join(linker), "-o", str(target), self.package]

    def environment(self) -> dict[str, str]:
        """Variables that decide how Go builds this part, whatever the caller's shell has set."""
        return {"CGO_ENABLED": "1" if self.cgo else "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def module_version(module: str, go_mod: str) -> str:
    """The version that ``go_mod`` (the file's text) requires of ``module``.

    Raises LookupError where it requires none.
    """
    found = re.search(rf"^\s*{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise LookupError(f"{TOOLS / 'go.mod'} doesn't require {module}")
    return found.group(1)


def kubernetes_version() -> str:
    """The version of the control plane, such as ``v1.36.3``."""
    return module_version("k8s.io/kubernetes", (TOOLS / "go.mod").read_text())


def parts() -> tuple[Part, ...]:
    """All programs, in the order in which they are built: the longest first, since the others reuse what it compiles."""
    go_mod = (TOOLS / "go.mod").read_text()
    version = module_version("k8s.io/kubernetes", go_mod)
    major, minor = version.lstrip("v").split(".")[:2]
    # A server without these calls itself v0.0.0-master, which no client can parse.
    stamped = tuple(
        f"{package}.{field}={value}"
        for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        for field, value in (("gitVersion", version), ("gitMajor", major), ("gitMinor", minor), ("gitTreeState", "clean"))
    )
    toolkit = "github.com/NVIDIA/nvidia-container-toolkit"
    toolkit_version = module_version(toolkit, go_mod).lstrip("v")
    return (
        *(Part(name, f"k8s.io/kubernetes/cmd/{name}", stamped)
          for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")),
        Part("kwok", "sigs.k8s.io/kwok/cmd/kwok", stamped),
        Part("kwokctl", "sigs.k8s.io/kwok/cmd/kwokctl", stamped),
        Part("etcd", "go.etcd.io/etcd/server/v3"),
        Part("nvidia-ctk", f"{toolkit}/cmd/nvidia-ctk", (f"{toolkit}/internal/info.version={toolkit_version}",), cgo=True),
    )


def fingerprint(part: Part) -> str:
    """Changes exactly when ``part`` has to be built again."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((TOOLS / name).read_bytes())
    digest.update(repr((part.arguments(Path(part.name)), sorted(part.environment().items()))).encode())
    return digest.hexdigest()


def _require_go() -> None:
    if shutil.which("go") is None:
        raise RuntimeError("Go is needed to build the testbed and `go` isn't on the PATH: install Go 1.26 or newer")
    version = subprocess.run(["go", "env", "GOVERSION"], cwd="/", env={**os.environ, "GOTOOLCHAIN": "local"}, check=True, capture_output=True, text=True).stdout
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < MINIMUM_GO:
        raise RuntimeError(f"Go {'.'.join(map(str, MINIMUM_GO))} or newer is needed to build the testbed, found {version.strip()} at {shutil.which('go')}")
    if shutil.which("gcc") is None:
        raise RuntimeError("gcc is needed to build nvidia-ctk and isn't on the PATH: apt-get install gcc libc6-dev")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; a second build waits and then finds everything built. The kernel frees it with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_part(part: Part, binary: Path, stamp: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".build-", dir=binary.parent) as scratch:
        target = Path(scratch) / part.name
        done = subprocess.run(
            # cgo compiles in the folder for temporary files, and a header that somebody left there would go before the right one.
            part.arguments(target), cwd=TOOLS, env={**os.environ, **part.environment(), "TMPDIR": scratch}, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        if done.returncode != 0:
            last = "\n".join(done.stdout.splitlines()[-20:])
            raise RuntimeError(f"building {part.name} from {part.package} failed (exit code {done.returncode}):\n{last}")
        stamp.unlink(missing_ok=True)
        target.replace(binary)
    written = stamp.with_suffix(".new")
    written.write_text(fingerprint(part))
    written.replace(stamp)


def build(say: Say) -> None:
    """Builds what is missing or out of date into ``paths.BIN``; one line per part with the seconds it took.

    Raises RuntimeError where Go or gcc is missing or too old, or a part doesn't build.
    """
    folder = paths.BIN
    with _alone(folder):
        for left_over in folder.glob(".build-*"):
            shutil.rmtree(left_over)
        stamps = folder / ".stamps"
        stamps.mkdir(exist_ok=True)
        todo = []
        for part in parts():
            stamp = stamps / part.name
            if (folder / part.name).is_file() and stamp.is_file() and stamp.read_text() == fingerprint(part):
                say(f"{part.name}: up to date")
            else:
                todo.append((part, stamp))
        if todo:
            _require_go()
        for position, (part, stamp) in enumerate(todo, start=1):
            started = time.monotonic()
            _build_part(part, folder / part.name, stamp)
            say(f"{part.name}: built in {time.monotonic() - started:.0f} s ({position} of {len(todo)})")
