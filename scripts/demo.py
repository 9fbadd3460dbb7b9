# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: bare nodes of a real Kubernetes API server become validated GPU nodes, on this machine.

    python -m scripts.demo up      start it, and leave it running
    python -m scripts.demo down    remove it, also after a crash half-way
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from scripts.processes import LOGS, REPOSITORY, environment, run_shown
from scripts.recap import disturbances, parse_recap
from tests.testbed.__main__ import DEFAULT_NODES, parse_nodes
from tests.testbed.paths import BIN, instance_dir

NAME = "demo"
INSTANCE = instance_dir(NAME)
DEMO_LOGS = LOGS / "demo"
REPORT = INSTANCE / "validation.json"
NODES = list(parse_nodes(DEFAULT_NODES))
SIMULATED = "tests/demo/simulated.yml"

WITHOUT_ROOT = """\
Not root: the nodes are simulated. Left out, since booting machines needs root: the three machines with systemd, apt and
containerd, and so everything that is done on a node (preflight, driver, container toolkit). The control plane is the real
one, and the device plugin and the validation are deployed to it for real. As root, `make demo` shows all of it.
"""

LOOK_AROUND = """\
It is left running. To look around:
  export KUBECONFIG={kubeconfig}
  {kubectl} get nodes -o custom-columns=NODE:.metadata.name,GPUS:'.status.allocatable.nvidia\\.com/gpu'
  {kubectl} get pods,runtimeclasses -A
{machines}To remove all of it: make demo-down
"""

LOOK_AROUND_MACHINES = """\
  .venv/bin/python -m tests.testbed exec --name demo gpu-1 -- nvidia-smi
  .venv/bin/python -m tests.testbed exec --name demo gpu-1 -- cat /etc/containerd/conf.d/99-nvidia.toml
"""


class StepFailed(Exception):
    """A step of the demo did not end as it should; the message says what and where to look."""


def shown(path: Path) -> str:
    """Return a path as short as a user can type it from the repository's root."""
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)


def demo_environment() -> dict[str, str]:
    colours = {"ANSIBLE_FORCE_COLOR": "1"} if sys.stdout.isatty() and "NO_COLOR" not in os.environ else {}
    return environment(GPUFLEET_TESTBED=str(INSTANCE), **colours)


def run(log_name: str, called: str, *argv: str) -> str:
    """Run a command in plain sight and return its output; raises StepFailed, which says how it is called, when it fails."""
    log = DEMO_LOGS / f"{log_name}.log"
    exit_code = run_shown(argv, log, env=demo_environment())
    if exit_code != 0:
        raise StepFailed(f"{called} ended with exit code {exit_code}; its output is in {shown(log)}")
    return log.read_text(errors="replace")


def testbed(log_name: str, *arguments: str) -> str:
    return run(log_name, f"tests.testbed {arguments[0]}", sys.executable, "-m", "tests.testbed", *arguments)


def without_machines() -> bool:
    return os.geteuid() != 0


def playbook(log_name: str, path: str, *options: str, **variables: object) -> str:
    return run(log_name, path, "ansible-playbook", "--inventory", "inventories/testbed", *options, "--extra-vars", json.dumps(variables), path)


def site(log_name: str) -> str:
    """Run the path from bare to validated, and return its output; without machines that is the cluster's side of it."""
    if without_machines():
        return playbook(log_name, SIMULATED, demo_nodes=NODES)
    return playbook(log_name, "playbooks/site.yml")


def check_prerequisites() -> None:
    missing = [program for program in ("go", "gcc") if shutil.which(program) is None]
    if missing:
        raise StepFailed(f"not found on PATH: {', '.join(missing)}; the testbed is built with Go (see README.md, Requirements) and gcc")


def nodes_option() -> list[str]:
    return ["--no-machines"] if without_machines() else []


def build() -> None:
    testbed("build", "build", *nodes_option())


def down() -> None:
    testbed("down", "down", "--name", NAME)


def up() -> None:
    down()
    testbed("up", "up", "--name", NAME, *nodes_option())


def first_run() -> None:
    site("first-run")


def second_run() -> None:
    recap = parse_recap(site("second-run"))
    if not recap:
        raise StepFailed("the second run of the playbook reached no host")
    if disturbed := disturbances(recap):
        raise StepFailed(f"the second run of the playbook should have changed nothing, but: {'; '.join(disturbed)}")
    for host in recap:
        print(f"  {host}: changed=0")


def validate() -> None:
    only = {"gpu_validate_nodes": NODES} if without_machines() else {}
    limit = ["--limit", "localhost"] if without_machines() else []
    playbook("validate", "playbooks/validate.yml", *limit, **only)
    print(f"\nThe report: {shown(REPORT)}")


STEPS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("build the testbed's real parts (kept in .cache/testbed)", build),
    ("start the cluster and its three GPU nodes", up),
    ("run the playbook: from bare to validated", first_run),
    ("run the playbook again: nothing may change", second_run),
    ("validate: a verdict for each node", validate),
)


def run_steps(steps: tuple[tuple[str, Callable[[], None]], ...]) -> None:
    """Run the steps, each under a heading with its number, and say at the end how long each took (seconds)."""
    durations = []
    for number, (title, step) in enumerate(steps, start=1):
        print(f"\n=== {number}/{len(steps)} {title}", flush=True)
        started = time.monotonic()
        step()
        durations.append((title, time.monotonic() - started))
    print("\nDurations:")
    for title, seconds in [*durations, ("all of it", sum(seconds for _title, seconds in durations))]:
        print(f"  {seconds:6.0f} s  {title}")


def show() -> None:
    if without_machines():
        print(WITHOUT_ROOT)
    check_prerequisites()
    run_steps(STEPS)
    machines = "" if without_machines() else LOOK_AROUND_MACHINES
    print("\n" + LOOK_AROUND.format(kubeconfig=INSTANCE / "kubeconfig", kubectl=shown(BIN / "kubectl"), machines=machines), end="")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["up", "down"])
    action = {"up": show, "down": down}[parser.parse_args().what]
    try:
        action()
    except (StepFailed, KeyboardInterrupt) as reason:
        said = str(reason) or "interrupted"
        print(f"\ndemo: {said}\ndemo: what was started is left as it is, to look at; `make demo-down` removes it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
