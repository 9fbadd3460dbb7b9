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

# A line of YAML, whose values need no quotes: k3s and RKE2 keep their cluster's token so.
_SETTING = re.compile(
    r"""^([ \t]*(?:- )?["']?[\w-]*(?:token|password|secret)["']?:[ \t]+)("[^"\n]*"|'[^'\n]*'|(?!null\b)[^\s"'{\[&*|>,][^\n,{}]*)""",
    re.IGNORECASE | re.MULTILINE,
)
_URL = re.compile(r"""(://[^\s/:@"']*:)[^\s/@"']+(?=@)""")
_CREDENTIAL_ARGUMENT = re.compile(r"(\S*(?:pass|secret|token|credential)\S*?=)\S+", re.IGNORECASE)


def mask(text: str) -> str:
    """The text, TOML, JSON or YAML, with the values of credentials replaced; it parses as before."""
    return _URL.sub(r"\1***", _SETTING.sub(r'\1"***"', _CREDENTIAL.sub(r'\1"***"', text)))


def mask_arguments(text: str) -> str:
    """A command line with the values of arguments that sound like credentials replaced."""
    return _CREDENTIAL_ARGUMENT.sub(r"\1***", text)
