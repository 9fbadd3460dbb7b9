# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role gpu_toolkit has to do, decided from what was observed. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_toolkit_plan
short_description: Decide what a node's container toolkit and container runtime need
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Compares what P(gpufleet.k8s.gpu_node_info#module) observed with what the role C(gpu_toolkit) is asked for.
  - Judges the effective configuration and what the running daemon knows, never a file's content or age.
  - Made for that role; its result may change in any release.
positional: wanted, node, recorded
options:
  _input:
    description: The RV(gpufleet.k8s.gpu_node_info#module:gpu_node) value.
    type: dict
    required: true
  wanted:
    description:
      - What the role is asked for, with the keys C(runtime), C(version), C(packages), C(hold), C(config), C(drop_in), C(handler), C(binary),
        C(default_runtime) and C(cdi).
    type: dict
    required: true
  node:
    description: The node's name in the inventory.
    type: str
    required: true
  recorded:
    description: SHA-256 of the record that the last complete run left on the node, empty without one.
    type: str
    default: ''
"""

EXAMPLES = r"""
- name: Decide
  ansible.builtin.set_fact:
    plan: "{{ observed.gpu_node | gpufleet.k8s.gpu_toolkit_plan(wanted, inventory_hostname, record.stat.checksum) }}"
"""

RETURN = r"""
_value:
  description: What to do. Nothing may be done while C(failures) isn't empty.
  type: dict
  contains:
    failures:
      description: Why the role refuses, each with C(code), C(message) and C(details).
      type: list
      elements: dict
    finish:
      description: Packages that dpkg left half-way and that must be finished first.
      type: list
      elements: str
    install:
      description: Packages to install, as C(name=version).
      type: list
      elements: str
    hold:
      description: Packages to hold.
      type: list
      elements: str
    unhold:
      description: Packages whose hold is to end.
      type: list
      elements: str
    effective:
      description: What is wrong with the runtime's effective configuration.
      type: list
      elements: str
    daemon:
      description: What is wrong with the running daemon although its configuration may be right.
      type: list
      elements: str
    configure:
      description: Whether the runtime has to be configured, because of C(effective) or because no complete run of these settings is recorded.
      type: bool
    ask_cdi:
      description: Whether the runtime is to be told to resolve CDI devices. Not where it is too old to.
      type: bool
    cdi:
      description: Whether the runtime resolves CDI devices once all this is done.
      type: bool
    record:
      description: The record that a complete run of these settings leaves.
      type: str
    announce:
      description: What is to be done as sentences, for check mode.
      type: list
      elements: str
"""

import hashlib
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._host.failures import failure
from ansible_collections.gpufleet.k8s.plugins.module_utils._host.packages import held_names, settled

Object = t.Dict[str, t.Any]

# What nvidia-ctk is asked to write, so what makes a recorded run another run.
RECORDED = ("config", "drop_in", "handler", "binary", "default_runtime", "cdi")

# The first containerd that resolves CDI devices; an older one drops the setting without a word (seen with 1.6.20).
CDI_SINCE = (1, 7)


def plan(gpu_node: Object, wanted: Object, node: str, recorded: str = "") -> Object:
    """The role's plan; options and result as documented above."""
    packages = [package for package in gpu_node["toolkit"]["packages"] if package["name"] in wanted["packages"]]
    done = {package["name"] for package in packages if settled(package) and package["version"] == wanted["version"]}
    runtime = runtime_of(gpu_node, wanted["runtime"])
    effective = configuration_faults(runtime, wanted) if runtime else []
    text = record(wanted)
    ask_cdi = bool(wanted["cdi"]) and runtime is not None and resolves_cdi(runtime)
    steps = {
        "finish": list(gpu_node["toolkit"]["interrupted_packages"]),
        "install": [f"{name}={wanted['version']}" for name in wanted["packages"] if name not in done],
        "hold": held_names(packages, False) if wanted["hold"] else [],
        "unhold": [] if wanted["hold"] else held_names(packages, True),
        "effective": effective,
        "daemon": daemon_faults(runtime, wanted["handler"]) if runtime else [],
        "configure": bool(effective) or recorded != hashlib.sha256(text.encode()).hexdigest(),
    }
    return {
        **steps,
        "failures": refusals(runtime, wanted, node),
        "ask_cdi": ask_cdi,
        "cdi": ask_cdi or bool(runtime and runtime["cdi_enabled"]),
        "record": text,
        "announce": announce(steps, wanted),
    }


def announce(steps: Object, wanted: Object) -> list[str]:
    """What the steps come to, each as one sentence without a full stop."""
    runtime = wanted["runtime"]
    to_hold = "what was installed" if steps["install"] and wanted["hold"] else ", ".join(steps["hold"])
    why = "; ".join(steps["effective"]) or "no complete run of these settings is recorded"
    sentences = {
        f"finish the packages {', '.join(steps['finish'])}": steps["finish"],
        f"install {', '.join(steps['install'])}": steps["install"],
        f"hold {to_hold}": to_hold,
        f"stop holding {', '.join(steps['unhold'])}": steps["unhold"],
        f"write {wanted['drop_in']} and its import into {wanted['config']} ({why})": steps["configure"],
        f"restart {runtime} since its effective configuration changes": steps["effective"],
        f"restart {runtime} ({'; '.join(steps['daemon'])})": steps["daemon"] and not steps["effective"],
    }
    return [sentence for sentence, needed in sentences.items() if needed]


def runtime_of(gpu_node: Object, name: str) -> Object | None:
    """The container runtime of that name, ``None`` where the node has none."""
    return next((runtime for runtime in gpu_node["runtimes"] if runtime["name"] == name), None)


def resolves_cdi(runtime: Object) -> bool:
    """Whether the runtime's version can resolve CDI devices. An unknown version can."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", runtime["version"] or "")[:2])
    return not numbers or numbers >= CDI_SINCE


def record(wanted: Object) -> str:
    """What a complete run leaves on the node: the settings that its files were made from."""
    settings = "".join(f"{key}: {wanted[key]}\n" for key in RECORDED)
    return f"# Settings that gpufleet.k8s.gpu_toolkit configured {wanted['runtime']} with, completely. Without this file it does so again.\n{settings}"


def refusals(runtime: Object | None, wanted: Object, node: str) -> list[Object]:
    """Why a runtime can't be configured as it is."""
    if runtime is None:
        return [
            failure(
                "RuntimeNotInstalled",
                expected=f"the container runtime {wanted['runtime']} on {node}",
                found="no trace of it",
                next_step=f"Install {wanted['runtime']} first; this role only configures it.",
                runtime=wanted["runtime"],
            )
        ]
    if runtime["config_valid"] is False:
        file = runtime["config_error_path"] or wanted["config"]
        return [
            failure(
                "ConfigInvalid",
                expected=f"{file} on {node} to parse",
                found=str(runtime["config_error"]),
                next_step="A restart with it would stop the daemon, so nothing was changed. Correct it, check with `containerd config dump`, run again.",
                file=file,
                error=runtime["config_error"],
            )
        ]
    return []


def configuration_faults(runtime: Object, wanted: Object) -> list[str]:
    """What in the effective configuration differs from what is wanted, each as one sentence without a full stop."""
    handlers = {handler["name"]: handler for handler in runtime["handlers"]}
    default_is_ours = runtime["default_handler"] == wanted["handler"]
    return (
        _handler_faults(handlers.get(wanted["handler"]), handlers.get("runc"), wanted)
        + ([] if default_is_ours is bool(wanted["default_runtime"]) else [f"default handler is {runtime['default_handler']}"])
        + (["CDI is off"] if wanted["cdi"] and not runtime["cdi_enabled"] and resolves_cdi(runtime) else [])
    )


def _handler_faults(handler: Object | None, template: Object | None, wanted: Object) -> list[str]:
    name = wanted["handler"]
    if handler is None:
        return [f"no handler {name}"]
    checks = {
        f"handler {name} runs {handler['binary']}": handler["binary"] == wanted["binary"],
        f"handler {name} has no runtime type": bool(handler["runtime_type"]),
        f"handler {name} doesn't use systemd cgroups as runc does": template is None or bool(handler["systemd_cgroup"]) == bool(template["systemd_cgroup"]),
    }
    return [fault for fault, fine in checks.items() if not fine]


def daemon_faults(runtime: Object, handler: str) -> list[str]:
    """Why the running daemon isn't what its configuration says, each as one sentence without a full stop."""
    name, cri = runtime["name"], runtime["cri"]
    if cri is None or not runtime["active"]:
        return [f"{name} isn't running"]
    if not cri["ready"]:
        return [f"the CRI of {name} isn't ready ({cri['reason']}: {cri['message']})"]
    configured = {item["name"]: item for item in runtime["handlers"]}
    running = {item["name"]: item for item in cri["runtimes"]}
    known = handler in (cri["handlers"] or ())
    checks = {
        f"the running {name} doesn't know the handler {handler}": known or handler not in configured,
        f"the running {name} still knows the handler {handler}": not known or handler in configured,
        f"the running {name} uses older settings of the handler {handler}": _same_settings(running.get(handler), configured.get(handler)),
        f"the running {name} has the default handler {cri['default_handler']}": cri["default_handler"] in (None, runtime["default_handler"]),
    }
    return [fault for fault, fine in checks.items() if not fine]


def _same_settings(running: Object | None, configured: Object | None) -> bool:
    if running is None or configured is None:
        return True
    return running["binary"] == configured["binary"] and bool(running["systemd_cgroup"]) == bool(configured["systemd_cgroup"])


class FilterModule:
    """Makes the decision usable in the role's tasks."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"gpu_toolkit_plan": plan}
