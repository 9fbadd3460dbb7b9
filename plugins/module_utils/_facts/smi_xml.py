# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. GPUs from ``nvidia-smi -q -x``, of every schema from version 6 to 13."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import smi_tree, xml


def parse(text: str) -> dict[str, t.Any]:
    """What nvidia-smi says.

    :return: ``driver_version``, ``cuda_version``, ``attached_gpus`` (count that the driver names), ``gpus`` (those listed, with the facts of
        ``gpu_record.KINDS``) and ``error``, ``None`` where the document is whole.
    """
    document, error = xml.parse(text)
    log = document.child("nvidia_smi_log") or xml.Element("", {}, [], [])
    if error is None and not log.name:
        error = "not the XML of nvidia-smi"
    return {
        "driver_version": smi_tree.value(log, "text", ("driver_version",)),
        "cuda_version": smi_tree.value(log, "text", ("cuda_version",)),
        "attached_gpus": smi_tree.value(log, "int", ("attached_gpus",)),
        "gpus": [smi_tree.gpu(element, index, element.attributes.get("id", "")) for index, element in enumerate(log.all("gpu"))],
        "error": error,
    }
