# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release."""

from __future__ import annotations

import typing as t


class GpuFleetError(Exception):
    """A failure that a user can act on.

    :param message: what was expected, what was found, where, and what to do next.
    :param code: machine-readable and stable, CamelCase; tests and playbooks match on it.
    :param details: values behind the message, JSON-able.
    """

    def __init__(self, message: str, *, code: str, **details: t.Any) -> None:
        super().__init__(message)
        self.code = code
        self.details = details

    def as_failure(self) -> dict[str, t.Any]:
        """The ``failure`` value of a module's result."""
        return {"code": self.code, "details": self.details}
