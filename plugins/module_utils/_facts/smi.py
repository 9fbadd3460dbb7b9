# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Any output of nvidia-smi, told apart by its content."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import smi_csv, smi_error, smi_list, smi_nvlink, smi_table, smi_text, smi_xml

_XML = re.compile(r"<nvidia_smi_log\b")
_TABLE = re.compile(r"^\|\s*NVIDIA-SMI\s+\d", re.MULTILINE)
_Q = re.compile(r"NVSMI LOG|^Attached GPUs\s+:|^\s*(?:GPU UUID|Product Name|GPU Recovery Action|License Status|NVIDIA-SMI version)\s+:", re.MULTILINE)
_Q_PART = re.compile(r"^Fabric\s*\n\s+State\s+:|^GPU \d+: state=", re.MULTILINE)
_HEAD = 1_000_000
# A longer text that has such a message is somebody's log.
_ERROR_LINES = 20

# What tells each form, the surest first; a list of GPUs also heads the status of their links.
_FORMS: tuple[tuple[str, t.Callable[[str], bool]], ...] = (
    ("xml", lambda text: _XML.search(text) is not None),
    ("q", lambda text: (_Q.search(text) or _Q_PART.search(text)) is not None),
    ("table", lambda text: _TABLE.search(text) is not None or any(smi_table.is_row(line) for line in text.splitlines())),
    ("nvlink", lambda text: any(smi_nvlink.is_row(line) for line in text.splitlines())),
    ("list", lambda text: any(smi_list.is_row(line) for line in text.splitlines())),
    ("csv", smi_csv.is_table),
    ("error", lambda text: text.count("\n") <= _ERROR_LINES and smi_error.exit_code(text) is not None),
)
_PARSERS: dict[str | None, t.Callable[[str], dict[str, t.Any]]] = {
    "xml": smi_xml.parse,
    "q": smi_text.parse,
    "table": smi_table.parse,
    "nvlink": smi_nvlink.parse,
    "list": smi_list.parse,
    "csv": smi_csv.parse,
}


def form(text: str) -> str | None:
    """Which output it is: ``xml``, ``q``, ``table``, ``list``, ``csv``, ``nvlink``, ``error``; ``None`` where it is none of nvidia-smi's."""
    head = text[:_HEAD]
    return next((name for name, tells in _FORMS if tells(head)), None)


def parse(text: str) -> dict[str, t.Any]:
    """What an output says, whichever it is.

    :return: ``driver_version``, ``cuda_version``, ``attached_gpus`` (count that the driver names), ``gpus`` (with the facts of ``gpu_record.KINDS``)
        and ``error``: what is wrong with the output, or what nvidia-smi said instead of an answer.
    """
    return _PARSERS.get(form(text), smi_error.parse)(text)
