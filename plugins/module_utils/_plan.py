# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Change:
    """One difference between what is and what is wanted.

    :param subject: what changes, for people: ``Node gpu-1``, ``/etc/containerd/config.toml``.
    :param before: the value found; ``None`` where there was nothing.
    :param after: the value wanted; ``None`` where nothing is to remain.
    """

    subject: str
    before: t.Any
    after: t.Any


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be done. ``changed``, ``diff`` and ``summary`` all derive from it, so that they can't disagree."""

    changes: tuple[Change, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.changes)

    def diff(self) -> dict[str, dict[str, t.Any]]:
        """Before and after in the form that Ansible's ``--diff`` prints."""
        return {
            "before": {change.subject: change.before for change in self.changes},
            "after": {change.subject: change.after for change in self.changes},
        }

    def summary(self) -> list[str]:
        """One line a change."""
        return [_sentence(change) for change in self.changes]


def _sentence(change: Change) -> str:
    if change.before is None:
        return f"create {change.subject}"
    if change.after is None:
        return f"remove {change.subject}"
    return f"change {change.subject}"
