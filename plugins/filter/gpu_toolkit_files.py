# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files the role gpu_toolkit keeps, and which it puts back. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_toolkit_files
short_description: Decide which files of a container runtime to keep and to put back
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - C(original-config.toml) is the configuration from before the first run and comes back with the role's removal, unless somebody edited the file since.
  - C(previous/) is what a change that is under way falls back to. It is marked complete once it is, and gone when the change is done, so that a run which
    was killed is told from one that never began, and half-changed files are never taken for the previous ones.
  - C(left-config.toml) is the configuration as the last complete run left it, to tell an edit by somebody else.
  - Made for the role C(gpu_toolkit); its result may change in any release.
positional: config, drop_in, state
options:
  _input:
    description: The C(files) that P(ansible.builtin.find#module) found, with checksums, below the state directory and the runtime's.
    type: list
    elements: dict
    required: true
  config:
    description: The runtime's main configuration file.
    type: str
    required: true
  drop_in:
    description: Our drop-in file.
    type: str
    required: true
  state:
    description: The state directory.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Decide
  ansible.builtin.set_fact:
    files: >-
      {{ found.files | gpufleet.k8s.gpu_toolkit_files(
           '/etc/containerd/config.toml', '/etc/containerd/conf.d/99-nvidia.toml', '/var/lib/gpufleet/toolkit') }}
"""

RETURN = r"""
_value:
  description: What to keep now and what to put back if it must be.
  type: dict
  contains:
    unfinished:
      description: Whether an earlier run was stopped in the middle of a change.
      type: bool
    keep:
      description: Copies to make before anything is changed, each with C(src) and C(dest).
      type: list
      elements: dict
    marks:
      description: Marker files to write once the copies are made.
      type: list
      elements: str
    previous:
      description: How a failed change is undone, with C(copies) and C(removals).
      type: dict
    original:
      description: How the role's removal leaves the files, with C(copies) and C(removals).
      type: dict
    edited:
      description: Whether somebody changed the main configuration since the last complete run, so that it stays as it is.
      type: bool
"""

import os.path
import typing as t

Object = t.Dict[str, t.Any]

PREVIOUS_COMPLETE = "previous/complete"
ORIGINAL_COMPLETE = "original-complete"
ORIGINAL_CONFIG = "original-config.toml"
ORIGINAL_FOLDER = "original-has-drop-in-folder"
LEFT_CONFIG = "left-config.toml"
EDITED = "edited-by-others"


def decide(found: t.Sequence[Object], config: str, drop_in: str, state: str) -> Object:
    """Options and result as documented above."""
    sums = {item["path"]: item.get("checksum") for item in found}
    kept = {os.path.relpath(path, state): checksum for path, checksum in sums.items() if path.startswith(state + "/")}
    unfinished, first = PREVIOUS_COMPLETE in kept, ORIGINAL_COMPLETE not in kept
    edited = EDITED in kept or not (first or unfinished or sums.get(config) in (kept.get(LEFT_CONFIG), kept.get(ORIGINAL_CONFIG)))
    live = {"previous/config.toml": config, "previous/drop-in.toml": drop_in}
    folder = os.path.dirname(drop_in)
    others = [path for path in sums if path.startswith(folder + "/") and path != drop_in]
    return {
        "unfinished": unfinished,
        "edited": edited,
        "keep": [
            {"src": source, "dest": f"{state}/{name}"}
            for name, source, needed in [(ORIGINAL_CONFIG, config, first)] + [(name, path, not unfinished) for name, path in live.items()]
            if needed and source in sums
        ],
        "marks": [
            f"{state}/{name}"
            for name, needed in (
                (ORIGINAL_FOLDER, first and folder in sums),
                (ORIGINAL_COMPLETE, first),
                (EDITED, edited and EDITED not in kept),
                (PREVIOUS_COMPLETE, not unfinished),
            )
            if needed
        ],
        "previous": _undo({path: (name if (name in kept if unfinished else path in sums) else None) for name, path in live.items()}, state),
        "original": _undo(
            {
                **({} if edited or first else {config: ORIGINAL_CONFIG if ORIGINAL_CONFIG in kept else None}),
                drop_in: None,
                **({} if others or first or ORIGINAL_FOLDER in kept else {folder: None}),
            },
            state,
        ),
    }


def _undo(sources: t.Mapping[str, str | None], state: str) -> Object:
    """Copies for the paths that have a kept file, removals for those that had none."""
    return {
        "copies": [{"src": f"{state}/{name}", "dest": path} for path, name in sources.items() if name is not None],
        "removals": [path for path, name in sources.items() if name is None],
    }


class FilterModule:
    """Makes the decision usable in the role's tasks."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"gpu_toolkit_files": decide}
