# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role gpu_driver has to do, decided from what was observed. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_driver_plan
short_description: Decide what a node's driver needs
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Compares what P(gpufleet.k8s.gpu_node_info#module) observed with what the role C(gpu_driver) is asked for.
  - A healthy driver of the wanted version is never touched, whoever installed it.
  - Made for that role; its result may change in any release.
positional: node, version, packages, hold, upgrade
options:
  _input:
    description: The RV(gpufleet.k8s.gpu_node_info#module:gpu_node) value.
    type: dict
    required: true
  node:
    description: The node's name in the inventory.
    type: str
    required: true
  version:
    description: The wanted driver version, with or without the package's revision.
    type: str
    required: true
  packages:
    description: Packages to install; what they depend on comes along.
    type: list
    elements: str
    required: true
  hold:
    description: Whether the driver's packages are to be held at their version.
    type: bool
    default: true
  upgrade:
    description: Whether a driver of another version may be replaced.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Decide
  ansible.builtin.set_fact:
    plan: "{{ observed.gpu_node | gpufleet.k8s.gpu_driver_plan(inventory_hostname, version='580.159.04', packages=['nvidia-open']) }}"
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
    release:
      description: Packages of other versions whose hold would stop the installation.
      type: list
      elements: str
    install:
      description: Packages to install at the wanted version.
      type: list
      elements: str
    load:
      description: Whether the kernel module isn't loaded.
      type: bool
    hold:
      description: Packages to hold.
      type: list
      elements: str
    unhold:
      description: Packages whose hold is to end.
      type: list
      elements: str
    ready:
      description: Whether the wanted version is loaded and answers.
      type: bool
    announce:
      description: The same as sentences, for check mode.
      type: list
      elements: str
"""

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._host.failures import failure
from ansible_collections.gpufleet.k8s.plugins.module_utils._host.packages import held_names, matches, settled, upstream

Object = t.Dict[str, t.Any]


def plan(
    gpu_node: Object,
    node: str,
    version: str,
    packages: t.Sequence[str],
    hold: bool = True,
    upgrade: bool = False,
) -> Object:
    """The role's plan; options and result as documented above."""
    driver = gpu_node["driver"]
    mine = [package for package in driver["packages"] if matches(package["version"], version)]
    done = {package["name"] for package in mine if settled(package)}
    ready = bool(driver["healthy"]) and driver["loaded_version"] == upstream(version)
    untouchable = ready and not driver["packages"]
    install = [] if untouchable else sorted(set(packages) - done)
    steps = {
        "release": held_names([package for package in driver["packages"] if package not in mine], True) if install else [],
        "finish": list(driver["interrupted_packages"]),
        "install": install,
        "load": driver["loaded_version"] is None,
        "hold": held_names(mine, False) if hold else [],
        "unhold": [] if hold else held_names(mine, True),
    }
    return {**steps, "failures": _refusals(driver, node, version, upgrade), "ready": ready, "announce": _announce(steps, version, hold)}


def _announce(steps: Object, version: str, hold: bool) -> list[str]:
    to_hold = "what was installed" if steps["install"] and hold else ", ".join(steps["hold"])
    sentences = {
        f"stop holding {', '.join(steps['release'])}, which have another version": steps["release"],
        f"finish the packages {', '.join(steps['finish'])}": steps["finish"],
        f"install {', '.join(steps['install'])} at version {version}, with what they need": steps["install"],
        "load the kernel module nvidia": steps["load"],
        f"hold {to_hold}": to_hold,
        f"stop holding {', '.join(steps['unhold'])}": steps["unhold"],
    }
    return [sentence for sentence, needed in sentences.items() if needed]


def _refusals(driver: Object, node: str, version: str, upgrade: bool) -> list[Object]:
    wanted = upstream(version)
    installed, loaded = driver["installed_version"], driver["loaded_version"]
    if installed is not None and matches(installed, wanted) and loaded not in (None, wanted):
        return [
            failure(
                "NodeRebootRequired",
                expected=f"the driver {wanted} to be loaded on {node}",
                found=f"it installed, but the module {loaded} still loaded",
                next_step="Drain the node and reboot it, then run again.",
                installed=installed,
                loaded=loaded,
            )
        ]
    others = sorted({upstream(found) for found in (installed, loaded) if found is not None and not matches(upstream(found), wanted)})
    if not others or upgrade:
        return []
    return [
        failure(
            "DriverVersionMismatch",
            expected=f"no driver or the driver {wanted} on {node}",
            found=f"{', '.join(others)} (packages: {installed or 'none'}, loaded module: {loaded or 'none'})",
            next_step="Set gpu_driver_version to the version found, or gpu_driver_upgrade: true to replace it.",
            wanted=wanted,
            installed=installed,
            loaded=loaded,
        )
    ]


class FilterModule:
    """Makes the decision usable in the role's tasks."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"gpu_driver_plan": plan}
