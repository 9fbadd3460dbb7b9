# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Evidence that was saved to a file, on the controller."""

from __future__ import annotations

import json
import os
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import SCHEMA

FILE_NAME = "evidence.json"
SIZE_LIMIT = 64 * 1024 * 1024


def load(path: str) -> dict[str, t.Any]:
    """Evidence from a JSON file, or from the ``evidence.json`` in a folder.

    :raises GpuFleetError: it can't be read, or isn't evidence that this version of the collection knows.
    """
    source = os.path.join(path, FILE_NAME) if os.path.isdir(path) else path
    try:
        with open(source, encoding="utf-8-sig") as stream:
            text = stream.read(SIZE_LIMIT + 1)
        if len(text) > SIZE_LIMIT:
            raise ValueError(f"larger than {SIZE_LIMIT} bytes")
        evidence = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise GpuFleetError(
            f"Expected in {source} the evidence that gpu_node_info returns with raw: true, as JSON; reading it failed: {error}. "
            "Save the value of `evidence` there.",
            code="EvidenceUnreadable",
            path=source,
        ) from error
    schema = evidence.get("schema") if isinstance(evidence, dict) else None
    if schema != SCHEMA:
        raise GpuFleetError(
            f"Expected evidence of schema {SCHEMA} in {source}, found {schema!r}. Collect it again with this version of the collection.",
            code="EvidenceUnsupported",
            path=source,
            schema=schema,
        )
    return evidence
