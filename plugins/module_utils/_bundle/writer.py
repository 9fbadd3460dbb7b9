# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A support bundle: a folder on the controller that ``gpu_diagnose`` reads.

    nodes/NODE/evidence.json                               what the collector found on a node
    cluster/KIND.json                                      objects of one kind, as a List
    cluster/logs/NAMESPACE_POD_CONTAINER.log               end of a container's log; .previous.log of the one before its restart
    report.json, report.txt                                what was found

Folders are made 0700 and files 0600. Files are replaced as a whole, and left alone where they have the content already.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import tempfile
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.masking import without_secrets
from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.pseudonyms import Pseudonyms
from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.report import report_lines
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

Object = t.Dict[str, t.Any]
Clean = t.Callable[[t.Any], t.Any]

NODES = "nodes"
CLUSTER = "cluster"
LOGS = "logs"
# Beside the bundle and not in it, so that it isn't mailed with it.
KEY_SUFFIX = ".masking-key"
_KEY_BYTES = 32
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LONGEST_NAME = 200


def save_node(directory: str, name: str, evidence: Object, *, mask: bool) -> t.List[str]:
    """Save a node's evidence.

    :param directory: the bundle; made where it is missing.
    :param name: of the node; where it is no good file name, one is made of it.
    :param mask: put pseudonyms in place of UUIDs, serial numbers and addresses. Credentials are masked always.
    :return: paths of the files.
    :raises GpuFleetError: BundleUnwritable.
    """
    with _writing(directory):
        clean = _cleaner(directory, mask)
        folder = _folder(directory, NODES, safe_name(clean(name)))
        return [_write_json(os.path.join(folder, "evidence.json"), clean(evidence))]


def save_cluster(directory: str, objects: t.Iterable[Object], logs: t.Iterable[Object], *, mask: bool) -> t.List[str]:
    """Save objects and logs of a cluster in place of those that were saved before.

    :param objects: with ``kind`` and ``metadata``.
    :param logs: each with ``namespace``, ``pod``, ``container``, ``previous`` and ``text``.
    :return: paths of the files.
    :raises GpuFleetError: BundleUnwritable.
    """
    with _writing(directory):
        clean = _cleaner(directory, mask)
        folder, log_folder = _folder(directory, CLUSTER), _folder(directory, CLUSTER, LOGS)
        paths = [_write_json(os.path.join(folder, safe_name(kind.lower()) + ".json"), clean(found)) for kind, found in _lists(objects).items()]
        paths += [_write(os.path.join(log_folder, _log_name(log)), clean(log["text"])) for log in logs]
        for place, extension in ((folder, ".json"), (log_folder, ".log")):
            _remove_others(place, extension, paths)
        return paths


def save_report(directory: str, result: Object, *, mask: bool) -> t.List[str]:
    """Save what was found, for programs and for people.

    :param result: of gpu_diagnose.
    :return: paths of the files.
    :raises GpuFleetError: BundleUnwritable.
    """
    with _writing(directory):
        found = _cleaner(directory, mask)(result)
        folder = _folder(directory)
        return [
            _write_json(os.path.join(folder, "report.json"), found),
            _write(os.path.join(folder, "report.txt"), "\n".join(report_lines(found)) + "\n"),
        ]


def safe_name(name: str) -> str:
    """A file name of ours for a name from elsewhere; different names have different ones."""
    if _SAFE.fullmatch(name):
        return name
    kept = re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip("._-")[: _LONGEST_NAME - 10]
    return f"{kept or 'unnamed'}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:8]}"


@contextlib.contextmanager
def _writing(directory: str) -> t.Iterator[None]:
    try:
        yield
    except OSError as error:
        raise GpuFleetError(
            f"Expected to write a support bundle to {directory}, which failed: {error}. Name a folder that this user may write to.",
            code="BundleUnwritable",
            path=directory,
            reason=str(error),
        ) from error


def _cleaner(directory: str, mask: bool) -> Clean:
    if not mask:
        return without_secrets
    pseudonyms = Pseudonyms(_key(os.path.normpath(directory) + KEY_SUFFIX))
    return lambda value: pseudonyms.masked(without_secrets(value))


def _key(path: str) -> bytes:
    """The key at a path, made where there is none; of several processes that make one at the same time, one wins."""
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        with _temporary(path, secrets.token_hex(_KEY_BYTES).encode()) as made, contextlib.suppress(FileExistsError):
            os.link(made, path)
    with open(path, "rb") as stream:
        return stream.read()


def _folder(directory: str, *parts: str) -> str:
    """A folder of the bundle.

    :raises OSError: one of ours is a link, which might lead anywhere.
    """
    os.makedirs(directory, mode=0o700, exist_ok=True)
    path = directory
    for part in parts:
        path = os.path.join(path, part)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        if os.path.islink(path):
            raise OSError(f"{path} is a symbolic link")
    return path


def _lists(objects: t.Iterable[Object]) -> t.Dict[str, Object]:
    by_kind: t.Dict[str, t.List[Object]] = {}
    for obj in objects:
        by_kind.setdefault(str(obj.get("kind") or "unknown"), []).append(obj)
    return {kind: {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": sorted(found, key=_object_key)} for kind, found in sorted(by_kind.items())}


def _object_key(obj: Object) -> t.Tuple[str, ...]:
    metadata = obj.get("metadata") or {}
    return tuple(str(part or "") for part in (obj.get("apiVersion"), metadata.get("namespace"), metadata.get("name")))


def _log_name(log: Object) -> str:
    """Names of Kubernetes have no underscore, so that the parts can be told apart again."""
    name = "_".join(safe_name(str(log[part])) for part in ("namespace", "pod", "container"))
    if len(name) > _LONGEST_NAME:
        name = safe_name(name)
    return name + (".previous.log" if log.get("previous") else ".log")


def _remove_others(folder: str, extension: str, kept: t.Sequence[str]) -> None:
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith(extension) and path not in kept:
            os.unlink(path)


def _write_json(path: str, value: t.Any) -> str:
    return _write(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def _write(path: str, text: str) -> str:
    content = text.encode("utf-8", "replace")
    if not _has(path, content):
        with _temporary(path, content) as made:
            os.replace(made, path)
    return path


def _has(path: str, content: bytes) -> bool:
    try:
        with open(path, "rb") as stream:
            return not os.path.islink(path) and stream.read(len(content) + 1) == content
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _temporary(path: str, content: bytes) -> t.Iterator[str]:
    """A file with the content in the folder of ``path``, 0600, gone afterwards unless it was renamed."""
    handle, name = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
