# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a restart would change what a container runtime does. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_toolkit_same_config
short_description: Compare two effective configurations of containerd
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Compares what two calls of C(containerd config dump) printed, by content. The order of tables, and which files the content came from, is no difference.
  - Made for the role C(gpu_toolkit); it may change in any release.
positional: other
options:
  _input:
    description: What one call printed.
    type: str
    required: true
  other:
    description: What the other call printed.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Restart containerd
  ansible.builtin.systemd_service:
    name: containerd
    state: restarted
  when: not before.stdout | gpufleet.k8s.gpu_toolkit_same_config(after.stdout)
"""

RETURN = r"""
_value:
  description: Whether both mean the same.
  type: bool
"""

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.toml_text import parse_toml


def same(dump: str, other: str) -> bool:
    """Options and result as documented above. What doesn't parse equals itself alone."""
    (left, left_error), (right, right_error) = parse_toml(dump), parse_toml(other)
    if left_error or right_error:
        return dump == other
    return _content(left) == _content(right)


def _content(config: dict[str, t.Any]) -> dict[str, t.Any]:
    # containerd 1.7 lists the files that it read here, in an order that changes from call to call.
    return {key: value for key, value in config.items() if key != "imports"}


class FilterModule:
    """Makes the comparison usable in the role's tasks."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"gpu_toolkit_same_config": same}
