# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A text of another program, and the finding code that it means."""

from __future__ import annotations

import typing as t


class Wording(t.NamedTuple):
    """A known text.

    Wordings were read from public reports and from a real node (tests/unit/cases); they differ between versions, so a pattern keeps to
    the part that carries the meaning.

    :param pattern: a regular expression; its named groups are the values found. The more special wording stands first.
    :param summary: what it says, with the values in braces, without naming whom it concerns.
    :param since: the first version that says it, where known.
    :param until: the last version that says it, where known.
    """

    code: str
    pattern: str
    summary: str
    since: t.Optional[str] = None
    until: t.Optional[str] = None
