# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the name of a file tells where its content leaves something open."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.documents import Document

# Folders at a node's root. A path that has one below something else was copied with its folders.
_ROOTS = ("etc", "proc", "sys", "var", "run", "usr", "lib", "opt")
_EXIT_CODE = re.compile(r"\s*\d{1,3}\s*")
_WORD = re.compile(r"[A-Za-z0-9]+")
# Files whose content is a single word or anything at all, by their path on the node.
_FILES = {
    "/sys/module/nvidia/version": re.compile(r"\s*\d+(?:\.\d+)+\s*"),
    "/sys/devices/soc0/family": re.compile(r"\s*\w+\s*"),
    "/proc/cpuinfo": re.compile(r"\s*processor\s*:[\s\S]*"),
}
NODE_FILE = "node_file"


def is_exit_code(document: Document) -> bool:
    """Whether a file holds the exit code of the command whose output is beside it."""
    return document.path.endswith((".rc", ".exit", ".exitcode")) and _EXIT_CODE.fullmatch(document.text) is not None


def file_kind(document: Document) -> t.Optional[str]:
    """The kind of a node's file that has no form of its own, ``None`` for any other file."""
    path = _known_path(document.path)
    return NODE_FILE if path and len(document.text) < 1_000_000 and _FILES[path].fullmatch(document.text[:100_000]) else None


def _known_path(path: str) -> t.Optional[str]:
    """The file's path on the node, also where the slashes were replaced for the mail: ``sys_module_nvidia_version``."""
    words = _WORD.findall(path)
    for known in _FILES:
        parts = _WORD.findall(known)
        if words[-len(parts) :] == parts or words[-len(parts) - 1 : -1] == parts:
            return known
    return None


def node_path(path: str, default: str) -> str:
    """The absolute path that a file had on its node.

    :param path: of the document.
    :param default: where files of its kind are, unless the path tells; one that ends with a slash gets the file's name.
    """
    known = _known_path(path)
    if known:
        return known
    parts = path.split("/")
    start = next((position for position, part in enumerate(parts) if part in _ROOTS and position < len(parts) - 1), None)
    if start is not None:
        return "/" + "/".join(parts[start:])
    return default + parts[-1] if default.endswith("/") else default


def node_of(path: str) -> t.Tuple[str, str]:
    """The node that a folder is named after (``nodes/NAME/``), and the folder that the file belongs to; each empty where there is none."""
    parts = path.split("/")[:-1]
    if "nodes" in parts[:-1]:
        return parts[parts.index("nodes") + 1], ""
    start = next((position for position, part in enumerate(parts) if part in _ROOTS), len(parts))
    return "", "/".join(parts[:start])


def stem(path: str) -> str:
    """The name up to its first dot: what ``gpu.pod.json``, ``gpu.log`` and ``gpu.events.json`` have in common."""
    return posixpath.basename(path).partition(".")[0]


def without_extension(path: str) -> str:
    """The path without its last extension: what an output and the file with its exit code have in common."""
    return path.rpartition(".")[0] or path


def log_parts(path: str) -> t.Optional[t.Tuple[str, str, str]]:
    """Namespace, pod and container in the name of a support bundle's log; names of Kubernetes have no underscore."""
    name = posixpath.basename(path)
    parts = re.sub(r"(?:\.previous)?\.log$", "", name).split("_")
    return (parts[0], parts[1], parts[2]) if name.endswith(".log") and len(parts) == 3 and all(parts) else None
