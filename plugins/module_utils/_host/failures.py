# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. How a role says why it stops."""

from __future__ import annotations

import typing as t


def failure(code: str, *, expected: str, found: str, next_step: str, **details: t.Any) -> dict[str, t.Any]:
    """One reason to stop, in the shape that the roles' failing tasks loop over.

    :param code: machine-readable and stable, CamelCase.
    :param expected: completes "Expected ...".
    :param found: completes "found ...", with the place where it was found.
    :param next_step: what to do now, as sentences.
    :param details: values behind the message, JSON-able.
    """
    return {"code": code, "message": f"Expected {expected}; found {found}. {next_step}", "details": details}
