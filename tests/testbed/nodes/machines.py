# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine: a systemd-nspawn container that boots a copy-on-write view of a base, in a namespace and a cgroup of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.testbed.nodes import cgroups

BOOT_TIMEOUT = 120.0  # seconds; a machine takes about one
# nspawn ends with this code when the machine asks for a reboot and nobody but us can start it again.
_REBOOT = 133
_LOOP = f'group=$1; shift; echo $$ > "$group/cgroup.procs" || exit 1; while :; do "$@"; rc=$?; [ $rc = {_REBOOT} ] || exit $rc; done'
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NSPAWN_RUN = Path("/run/systemd/nspawn")


@dataclass(frozen=True)
class Machine:
    """A machine by instance, name and place; what it has on the host derives from these."""

    instance: Path
    name: str

    @property
    def folder(self) -> Path:
        return self.instance / "nodes" / self.name

    @property
    def root(self) -> Path:
        """Where its file system is mounted on the host; without what the machine itself mounts."""
        return self.folder / "root"

    @property
    def hardware(self) -> Path:
        return self.folder / "hardware"

    @property
    def console(self) -> Path:
        return self.folder / "console.log"

    @property
    def cgroup(self) -> Path:
        return cgroups.instance_cgroup(self.instance) / self.name

    @property
    def nspawn_name(self) -> str:
        return f"{cgroups.key(self.instance)}-{self.name}"


def _innermost_pid(pid: int) -> int:
    for line in Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    raise ProcessLookupError(f"process {pid} is gone")


def leader(machine: Machine) -> int | None:
    """Return the host's id of the machine's process 1, or None while it doesn't run. It changes with each reboot."""
    try:
        for pid in (machine.cgroup / "payload" / "init.scope" / "cgroup.procs").read_text().split():
            if _innermost_pid(int(pid)) == 1:
                return int(pid)
    except OSError:  # not started, or it has just ended
        return None
    return None


def enter(machine: Machine, argv: list[str], *, check: bool = False, **options: Any) -> subprocess.CompletedProcess:
    """Run a command in the machine.

    :param check: raise :class:`subprocess.CalledProcessError` when the command fails
    :param options: for :func:`subprocess.run`
    :raises RuntimeError: the machine is not running
    """
    pid = leader(machine)
    if pid is None:
        raise RuntimeError(f"{machine.name}: not running; see {machine.console}")
    environment = {"PATH": _PATH, "HOME": "/root", "LANG": "C.UTF-8", "TERM": os.environ.get("TERM", "dumb")}
    command = ["nsenter", "--target", str(pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd", "--", *argv]
    return subprocess.run(command, check=check, **{"env": environment, **options})


def mounts_below(folder: Path) -> list[Path]:
    """Return what is mounted at ``folder`` or below, innermost last."""
    points = (line.split()[4].encode().decode("unicode_escape") for line in Path("/proc/self/mountinfo").read_text().splitlines())
    return [Path(point) for point in points if Path(point) == folder or folder in Path(point).parents]


def _unmount_below(folder: Path) -> None:
    for point in reversed(mounts_below(folder)):
        subprocess.run(["umount", "--lazy", str(point)], check=True)


def prepare(machine: Machine, base: Path, authorized_key: str) -> None:
    """Mount the machine's file system and put in what is its own: name and key."""
    for part in ("upper", "work", "root", "containerd"):
        (machine.folder / part).mkdir(parents=True, exist_ok=True)
    layers = f"lowerdir={base},upperdir={machine.folder / 'upper'},workdir={machine.folder / 'work'}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, str(machine.root)], check=True)
    (machine.root / "etc" / "hostname").write_text(f"{machine.name}\n")
    keys = machine.root / "root" / ".ssh" / "authorized_keys"
    keys.parent.mkdir(mode=0o700, exist_ok=True)
    keys.write_text(authorized_key)


def start(machine: Machine, namespace: str) -> subprocess.Popen:
    """Boot the machine without waiting for it, and return the process that keeps it running over reboots.

    :param namespace: name of its network namespace
    """
    group = cgroups.create(machine.instance, machine.name)
    nspawn = [
        "systemd-nspawn",
        "--quiet",
        "--boot",
        f"--directory={machine.root}",
        f"--machine={machine.nspawn_name}",
        f"--hostname={machine.name}",
        "--register=no",
        "--keep-unit",
        f"--network-namespace-path=/run/netns/{namespace}",
        "--capability=all",
        "--system-call-filter=@keyring bpf",
        # containerd's snapshots are overlays, which can't lie on the machine's own overlay.
        f"--bind={machine.folder / 'containerd'}:/var/lib/containerd",
        f"--bind-ro={machine.hardware}:/srv/gpu-hardware",
        "--resolv-conf=off",
        "--timezone=off",
        "--link-journal=no",
        "--console=read-only",
    ]
    # Machines get version 2 cgroups alone, as Debian's systemd has them, on hosts with both versions too.
    environment = {"PATH": os.environ["PATH"], "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
    with machine.console.open("ab") as console:
        supervisor = subprocess.Popen(
            ["/bin/sh", "-c", _LOOP, "sh", str(group), *nspawn],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            start_new_session=True,
            env=environment,
            cwd="/",
        )
    (machine.folder / "pid").write_text(f"{supervisor.pid}\n")
    return supervisor


def reboot(machine: Machine, timeout: float = BOOT_TIMEOUT) -> str:
    """Let the machine reboot, wait until it is up again, and return systemd's word as :func:`wait_until_up` does.

    :param timeout: seconds, for going down and for coming up
    :raises RuntimeError: it is not running
    :raises TimeoutError: it took too long
    """
    before = leader(machine)
    enter(machine, ["systemctl", "reboot"], capture_output=True)
    deadline = time.monotonic() + timeout
    while leader(machine) == before:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{machine.name}: not down after {timeout:.0f} s")
        time.sleep(0.05)
    return wait_until_up(machine, None, timeout)


def _console_tail(machine: Machine) -> str:
    return "\n".join(machine.console.read_text(errors="replace").splitlines()[-15:])


def wait_until_up(machine: Machine, supervisor: subprocess.Popen | None, timeout: float = BOOT_TIMEOUT) -> str:
    """Wait until systemd has started everything, and return its word for the result: running or degraded.

    :param supervisor: what :func:`start` returned, where it was this process that started it
    :param timeout: seconds
    :raises RuntimeError: nspawn ended instead
    :raises TimeoutError: it took too long
    """
    deadline = time.monotonic() + timeout
    state = "not started"
    while time.monotonic() < deadline:
        if leader(machine) is not None:
            done = enter(machine, ["systemctl", "is-system-running"], capture_output=True, text=True)
            state = done.stdout.strip() or done.stderr.strip()
            if state in ("running", "degraded"):
                return state
        if supervisor is not None and supervisor.poll() is not None:
            raise RuntimeError(f"{machine.name}: systemd-nspawn ended; the end of {machine.console}:\n{_console_tail(machine)}")
        time.sleep(0.1)
    raise TimeoutError(f"{machine.name}: not up after {timeout:.0f} s (systemd says: {state}); the end of {machine.console}:\n{_console_tail(machine)}")


def destroy(machine: Machine) -> None:
    """End the machine and remove all it has, as far as it is there."""
    cgroups.end(machine.cgroup)
    _unmount_below(machine.root)
    # What nspawn removes itself, unless it is killed.
    for leftover in ("unix-export", "propagate"):
        folder = _NSPAWN_RUN / leftover / machine.nspawn_name
        _unmount_below(folder)
        shutil.rmtree(folder, ignore_errors=True)
    if machine.folder.exists():
        shutil.rmtree(machine.folder)
