# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. GPUs from ``nvidia-smi -q`` and ``--version``, whole or the lines that somebody pasted."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import gpu_record, smi_tree, smi_values, xml

LINE_LIMIT = 100_000
_DEPTH_LIMIT = 16

_GPU = re.compile(r"^GPU\s+([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])$")
_FIELD = re.compile(r"^(?P<name>\S.{0,80}?)\s+:(?:\s+(?P<value>.*))?$")
_TITLE = re.compile(r"^[A-Za-z0-9][\w .()/-]{0,60}$")
# One line per GPU, as monitors list the fabric: "GPU 0: state=Completed status=Success clique=4026".
_FABRIC = re.compile(r"^GPU (\d+): state=(.*?) status=(.*?) clique=(\d+)", re.MULTILINE)


def parse(text: str) -> dict[str, t.Any]:
    """The same as ``smi_xml.parse``. Lines without a GPU's header are one GPU's, of which only those facts are known."""
    top = _tree(text)
    gpus = [smi_tree.gpu(element, index, element.attributes["id"]) for index, element in enumerate(top.all("gpu"))]
    gpus = gpus or [_fabric(*groups) for groups in _FABRIC.findall(text)] or _headless(top)
    return {
        "driver_version": smi_tree.value(top, "text", ("driver version",)),
        "cuda_version": smi_tree.value(top, "text", ("cuda version",)),
        "attached_gpus": smi_tree.value(top, "int", ("attached gpus",)),
        "gpus": gpus,
        "error": None,
    }


def _tree(text: str) -> xml.Element:
    """The fields by their indentation; names in small letters, a GPU's header as ``gpu`` with its bus id."""
    top = xml.Element("", {}, [], [])
    open_elements = [(-1, top)]
    for line in (whole[: smi_values.LINE_WIDTH].expandtabs(4) for whole in text.splitlines()[:LINE_LIMIT]):
        element = _element(line.strip())
        if element is None:
            continue
        indent = len(line) - len(line.lstrip())
        while open_elements[-1][0] >= indent:
            open_elements.pop()
        open_elements[-1][1].children.append(element)
        if len(open_elements) < _DEPTH_LIMIT:
            open_elements.append((indent, element))
    return top


def _element(line: str) -> xml.Element | None:
    header = _GPU.match(line)
    if header:
        return xml.Element("gpu", {"id": header.group(1)}, [], [])
    field = _FIELD.match(line)
    if field:
        return xml.Element(" ".join(field.group("name").lower().split()), {}, [field.group("value") or ""], [])
    return xml.Element(" ".join(line.lower().split()), {}, [], []) if _TITLE.match(line) else None


def _headless(top: xml.Element) -> list[gpu_record.Gpu]:
    record = smi_tree.gpu(top, None, "")
    return [] if gpu_record.is_blank(record) else [record]


def _fabric(index: str, state: str, status: str, clique: str) -> gpu_record.Gpu:
    fabric = {"state": smi_values.state(state), "status": smi_values.state(status), "clique_id": int(clique[:9]), "cluster_uuid": None}
    return gpu_record.complete({**gpu_record.blank(int(index[:9])), "fabric": fabric})
