# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What an inspection pod's log says of the GPUs that it saw."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import smi_xml

_START = ("<?xml", "<!DOCTYPE", "<nvidia_smi_log")
_END = "</nvidia_smi_log>"


class Inspection(t.NamedTuple):
    """:param gpus: ``{uuid, product}`` per device: per MIG device where the GPU is split, else per GPU."""

    driver_version: t.Optional[str]
    gpus: t.List[t.Dict[str, t.Optional[str]]]


def parse_inspection(log: str) -> t.Optional[Inspection]:
    """Take ``nvidia-smi -q -x`` out of a log, in which warnings may stand around it.

    :return: ``None`` where there is no such output or only a part of it.
    """
    starts = [position for position in (log.find(word) for word in _START) if position >= 0]
    end = log.rfind(_END)
    if not starts or end < 0:
        return None
    report = smi_xml.parse(log[min(starts) : end + len(_END)])
    if report["error"] is not None:
        return None
    devices = [{"uuid": gpu["uuid"], "product": gpu["product"]} for gpu in report["gpus"] for _device in gpu["mig_devices"] or [gpu]]
    return Inspection(report["driver_version"], devices)
