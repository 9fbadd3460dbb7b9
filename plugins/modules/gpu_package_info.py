#!/usr/bin/python
# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_package_info
short_description: Ask a package repository which versions it offers to a node
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Reads the index of an apt repository with the node's own apt, without adding the repository to the node.
  - So a version that doesn't exist or a repository that doesn't answer is known before anything is changed.
  - The index is kept in a temporary directory that is gone when the module ends. Its signature is not checked, since nothing is installed from it.
options:
  uri:
    description: URI of the repository, as in the C(URIs) field of an apt source.
    type: str
    required: true
  suite:
    description: Suite of the repository, a path with a trailing slash for a flat one.
    type: str
    default: ./
  components:
    description: Components of the suite. None for a flat repository.
    type: list
    elements: str
    default: []
  packages:
    description: Names of the packages.
    type: list
    elements: str
    required: true
  timeout:
    description: Seconds to wait for the repository's server to answer.
    type: int
    default: 10
attributes:
  check_mode:
    description: Can run in check mode and return what it would return otherwise.
    support: full
  diff_mode:
    description: Changes nothing, so that there is no difference to show.
    support: none
"""

EXAMPLES = r"""
- name: Which toolkits are there?
  gpufleet.k8s.gpu_package_info:
    uri: https://nvidia.github.io/libnvidia-container/stable/deb/amd64
    packages:
      - nvidia-container-toolkit
  register: offered
"""

RETURN = r"""
versions:
  description: Versions by package name, newest first. Empty for a package that the repository doesn't have.
  type: dict
  returned: success
  sample: {nvidia-container-toolkit: [1.20.2-1, 1.19.1-1]}
failure:
  description: On failure C(code), V(RepositoryUnreachable), and C(details) with the repository's C(uri) and apt's C(errors).
  type: dict
  returned: failure
"""

import os
import tempfile
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._host.packages import apt_errors, parse_madison
from ansible_collections.gpufleet.k8s.plugins.module_utils._module import run_module


def ask(module: AnsibleModule) -> dict[str, t.Any]:
    """The versions, asked by an apt that knows nothing but the one repository."""
    names, uri = module.params["packages"], module.params["uri"]
    with tempfile.TemporaryDirectory(dir=module.tmpdir) as scratch:
        options = _private_apt(scratch, module.params)
        updated = module.run_command([module.get_bin_path("apt-get", required=True), "-q", "update", *options])
        if updated[0] != 0:
            errors = apt_errors(updated[2])
            found = f"Expected the package repository {uri} to answer this node; apt found: {'; '.join(errors).rstrip('.')}."
            advice = "Check the URI, the network and apt's proxy. Nothing was changed."
            raise GpuFleetError(f"{found} {advice}", code="RepositoryUnreachable", uri=uri, errors=errors)
        listed = module.run_command([module.get_bin_path("apt-cache", required=True), "madison", *options, *names], check_rc=True)
    offered = parse_madison(listed[1])
    return {"versions": {name: offered.get(name, []) for name in names}}


def _private_apt(scratch: str, params: dict[str, t.Any]) -> list[str]:
    """Options that make apt know this one repository and write nowhere else."""
    for folder in ("lists/partial", "cache/archives/partial"):
        os.makedirs(os.path.join(scratch, folder))
    source = os.path.join(scratch, "sources.list")
    with open(source, "w", encoding="utf-8") as stream:
        stream.write(" ".join(["deb", "[trusted=yes]", params["uri"], params["suite"], *params["components"]]) + "\n")
    settings = {
        "Dir::Etc::SourceList": source,
        "Dir::Etc::SourceParts": os.path.join(scratch, "none"),
        "Dir::State::Lists": os.path.join(scratch, "lists"),
        "Dir::Cache": os.path.join(scratch, "cache"),
        "APT::Sandbox::User": "root",
        "APT::Update::Error-Mode": "any",
        "Acquire::Retries": "0",
        "Acquire::http::Timeout": str(params["timeout"]),
        "Acquire::https::Timeout": str(params["timeout"]),
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def main() -> None:
    run_module(
        ask,
        {
            "uri": {"type": "str", "required": True},
            "suite": {"type": "str", "default": "./"},
            "components": {"type": "list", "elements": "str", "default": []},
            "packages": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 10},
        },
    )


if __name__ == "__main__":
    main()
