# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which package versions to install, decided from what a repository offers. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_package_choice
short_description: Choose the versions of packages that a repository offers
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Looks a wanted version up in what P(gpufleet.k8s.gpu_package_info#module) returned.
  - Made for the roles C(gpu_driver) and C(gpu_toolkit); its result may change in any release.
positional: version, variable, code, uri
options:
  _input:
    description: The RV(gpufleet.k8s.gpu_package_info#module:versions) value.
    type: dict
    required: true
  version:
    description: The wanted version, with or without the package's revision.
    type: str
    required: true
  variable:
    description: The role variable that holds it, for the message.
    type: str
    required: true
  code:
    description: The code of the failure where a package has no such version.
    type: str
    required: true
  uri:
    description: The repository, for the message.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Choose
  ansible.builtin.set_fact:
    choice: >-
      {{ offered.versions | gpufleet.k8s.gpu_package_choice(
           '580.159.04', variable='gpu_driver_version', code='DriverVersionUnavailable', uri='https://mirror.example.com/driver') }}
"""

RETURN = r"""
_value:
  description: C(failures), each with C(code), C(message) and C(details), and C(install), the packages as C(name=version).
  type: dict
"""

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._host.failures import failure
from ansible_collections.gpufleet.k8s.plugins.module_utils._host.packages import choose

Object = t.Dict[str, t.Any]


def choice(offered: t.Mapping[str, t.Sequence[str]], version: str, variable: str, code: str, uri: str) -> Object:
    """Options and result as documented above."""
    chosen = {name: choose(versions, version) for name, versions in offered.items()}
    return {
        "install": [f"{name}={found}" for name, found in chosen.items() if found is not None],
        "failures": [
            failure(
                code,
                expected=f"the repository {uri} to have {name} {version}",
                found=", ".join(offered[name]) or "no such package",
                next_step=f"Set {variable} to a version that it has, or choose another repository. Nothing was changed.",
                package=name,
                wanted=version,
                available=list(offered[name]),
                uri=uri,
            )
            for name, found in chosen.items()
            if found is None
        ],
    }


class FilterModule:
    """Makes the choice usable in the roles' tasks."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"gpu_package_choice": choice}
