# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Kubernetes quantities: ``500m``, ``2Gi``, ``8``."""

from __future__ import annotations

import re
import typing as t
from fractions import Fraction

# Grammar and suffixes: k8s.io/apimachinery v0.36 pkg/api/resource/quantity.go.
# Digits are bounded, since a file may hold anything and a power of ten is written in few characters.
_QUANTITY = re.compile(r"([+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40}))(?:[eE]([+-]?\d{1,3})|([KMGTPE]i)|([numkMGTPE]))?", re.ASCII)
_BINARY = {suffix + "i": 1024**power for power, suffix in enumerate("KMGTPE", start=1)}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def is_quantity(value: t.Any) -> bool:
    """Whether a value found in an object is a quantity."""
    return isinstance(value, (str, int, float)) and _QUANTITY.fullmatch(str(value).strip()) is not None


def parse_quantity(value: t.Union[str, int, float]) -> Fraction:
    """The exact value of a quantity.

    :param value: as found in an object; YAML may have made a number of it.
    :raises ValueError: not a quantity.
    """
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"not a Kubernetes quantity: {value!r}")
    number, exponent, binary, decimal = match.groups()
    if binary:
        return Fraction(number) * _BINARY[binary]
    return Fraction(number) * Fraction(10) ** (int(exponent or 0) + _DECIMAL.get(decimal or "", 0))


def parse_count(value: t.Union[str, int, float, None]) -> int:
    """How many devices a quantity says, rounded up as the API server does; 0 for none at all.

    :raises ValueError: not a quantity.
    """
    if value is None:
        return 0
    exact = parse_quantity(value)
    return -(-exact.numerator // exact.denominator)
