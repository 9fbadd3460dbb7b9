# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Registry credentials stay on the node."""

from __future__ import annotations

import re

_CREDENTIAL = re.compile(
    r"""(["']?\b(?:password|auth|identity_?token)["']?\s*[=:]\s*)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""",
    re.IGNORECASE,
)


def mask(text: str) -> str:
    """The text, TOML or JSON, with the values of credentials replaced; it parses as before."""
    return _CREDENTIAL.sub(r'\1"***"', text)
