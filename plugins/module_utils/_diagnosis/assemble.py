# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. From a folder or a file, and from what a live cluster gave, to all that is known."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis import hints, node_texts
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.documents import Document, read
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.recognise import CONTAINER_LOG, EXIT_CODE, OBJECTS, Piece, recognise
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.snapshot import Snapshot, Text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import describe, kubectl_table
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import SCHEMA
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, text

Object = t.Dict[str, t.Any]
Note = t.Dict[str, str]

# The node of texts that don't say of which one they are.
ANONYMOUS = "node"
# Kinds that a container's log may look like.
_MAYBE_LOG = ("nvidia_smi", "text", "component_log", "container_log", "kernel_log")
_AS_JSON = ("helm_values", "plugin_config", "mig_config")
_AS_TEXT = ("component_log", "kubelet_log", "helm_output", "drain_output", "text")


def snapshot_of(path: str) -> Snapshot:
    """All that a folder or file tells.

    :raises GpuFleetError: EvidenceUnreadable.
    """
    documents, notes = read(path)
    return snapshot_from(documents, notes)


def snapshot_from(documents: t.Sequence[Document], notes: t.Sequence[Note] = ()) -> Snapshot:
    """All that texts tell, and what of them could not be used."""
    pieces: t.List[Piece] = []
    unused = list(notes)
    left_over: t.List[t.Tuple[Document, str]] = []
    for document in documents:
        found, reason = recognise(document)
        pieces += found
        if reason and not found:
            left_over.append((document, reason))
        elif reason:
            unused.append({"what": document.path, "reason": reason})
    assembly = _Assembly(pieces)
    for document, reason in left_over:
        if not assembly.take_log(document):
            unused.append({"what": document.path, "reason": reason})
    return assembly.snapshot(unused)


def merged(snapshot: Snapshot, live: t.Mapping[str, t.Any]) -> Snapshot:
    """What a folder told, and what the module gpu_diagnose read from a cluster: its objects count where both have one.

    :param live: ``objects``, ``logs`` and ``notes`` of the module.
    """
    texts = [
        Text(f"log of {log['namespace']}/{log['pod']}, container {log['container']}", CONTAINER_LOG, log["text"], log["namespace"], log["pod"])
        for log in live.get("logs", [])
    ]
    objects = _each_once(snapshot.objects + list(live.get("objects", [])))
    return Snapshot(_named(snapshot.nodes, objects), objects, snapshot.texts + texts, snapshot.unused + list(live.get("notes", [])))


class _Assembly:
    def __init__(self, pieces: t.Sequence[Piece]) -> None:
        self._nodes: t.Dict[str, Object] = {}
        self._objects: t.List[Object] = []
        self._texts: t.List[Text] = []
        self._unused: t.List[Note] = []
        self._exit_codes = {hints.without_extension(piece.document.path): piece.value for piece in pieces if piece.kind == EXIT_CODE}
        for piece in pieces:
            self._take_objects(piece)
        self._pods = self._pods_by_stem(pieces)
        rest = [piece for piece in pieces if piece.kind != EXIT_CODE and not self._takes_as_log(piece)]
        self._take_node_texts(rest)
        for piece in rest:
            self._take_other(piece)

    def snapshot(self, unused: t.Sequence[Note]) -> Snapshot:
        objects = _each_once(self._objects)
        return Snapshot(_named(self._nodes, objects), objects, self._texts, [*unused, *self._unused])

    def take_log(self, document: Document) -> bool:
        """Take a text that says nothing known as a log, where its name tells whose it is."""
        pod = self._pod_of(document.path)
        if pod is None:
            return False
        self._texts.append(Text(document.path, CONTAINER_LOG, document.text, *pod))
        return True

    def _take_objects(self, piece: Piece) -> None:
        if piece.kind == OBJECTS:
            self._objects.append(piece.value)
        elif piece.kind == "describe":
            self._objects += describe.parse(piece.value)
        elif piece.kind == "table":
            self._objects += kubectl_table.parse(piece.value)

    def _pods_by_stem(self, pieces: t.Sequence[Piece]) -> t.Dict[str, t.Tuple[str, str]]:
        """The pod of a file that has just one: ``x.pod.json`` and ``x.log`` belong together."""
        found: t.Dict[str, t.Set[t.Tuple[str, str]]] = {}
        for piece in pieces:
            if piece.kind == OBJECTS and piece.value.get("kind") == "Pod":
                found.setdefault(hints.stem(piece.document.path), set()).add(pod_key(piece.value))
        return {name: next(iter(keys)) for name, keys in found.items() if len(keys) == 1}

    def _pod_of(self, path: str) -> t.Optional[t.Tuple[str, str]]:
        parts = hints.log_parts(path)
        if parts:
            return parts[:2]
        return self._pods.get(hints.stem(path)) if path.endswith((".log", ".out")) else None

    def _takes_as_log(self, piece: Piece) -> bool:
        is_bundled = hints.log_parts(piece.document.path) is not None
        return (is_bundled or piece.kind in _MAYBE_LOG) and piece.kind != OBJECTS and self.take_log(piece.document)

    def _take_node_texts(self, pieces: t.Sequence[Piece]) -> None:
        """By folder where the folders are of several nodes: they have what a node has only once."""
        placed = [(piece, place) for piece, place in ((piece, node_texts.slot(piece)) for piece in pieces) if place]
        folders: t.Dict[str, t.Set[str]] = {}
        for piece, place in placed:
            if place.key and not hints.node_of(piece.document.path)[0]:
                folders.setdefault(place.key, set()).add(hints.node_of(piece.document.path)[1])
        by_folder = any(len(found) > 1 for found in folders.values())
        filled: t.Set[t.Tuple[str, str]] = set()
        for piece, place in placed:
            name, folder = hints.node_of(piece.document.path)
            name = name or (folder.rpartition("/")[2] if by_folder else "") or ANONYMOUS
            if place.key and (name, place.key) in filled:
                name = hints.stem(piece.document.path)
            if place.key:
                filled.add((name, place.key))
            evidence = self._nodes.setdefault(name, node_texts.blank())
            if node_texts.PARTIAL in evidence:
                node_texts.fill(evidence, piece, place, self._exit_code(piece.document.path))

    def _exit_code(self, path: str) -> t.Optional[int]:
        return self._exit_codes.get(hints.without_extension(path), self._exit_codes.get(path))

    def _take_other(self, piece: Piece) -> None:
        path = piece.document.path
        if piece.kind in _AS_JSON:
            self._texts.append(Text(path, piece.kind, json.dumps(piece.value)))
        elif piece.kind in _AS_TEXT:
            self._texts.append(Text(path, piece.kind, piece.value))
        elif piece.kind == "status":
            self._texts.append(Text(path, "text", piece.value["message"]))
        elif piece.kind == "evidence":
            self._take_evidence(path, piece.value)
        elif piece.kind == "node_info_result":
            self._take_result(path, piece.value)
        elif piece.kind in ("findings", "report"):
            self._unused.append({"what": path, "reason": "a report on findings, not what they were made from"})

    def _take_evidence(self, path: str, evidence: Object) -> None:
        if evidence.get("schema") != SCHEMA:
            reason = f"evidence of schema {evidence.get('schema')!r}; this version reads schema {SCHEMA}: collect it again"
            self._unused.append({"what": path, "reason": reason})
            return
        name = hints.node_of(path)[0] or text(mapping(evidence.get("host")).get("hostname")) or ANONYMOUS
        known = self._nodes.get(name)
        if known is not None and node_texts.PARTIAL not in known:
            name = f"{name} ({path})"
        self._nodes[name] = evidence

    def _take_result(self, path: str, result: Object) -> None:
        evidence = result.get("evidence")
        if isinstance(evidence, dict):
            self._take_evidence(path, evidence)
            return
        self._texts.append(Text(path, "findings", json.dumps(result.get("findings"))))
        self._unused.append({"what": path, "reason": "facts without evidence: only their findings are repeated; run gpu_node_info with raw: true"})


def _named(nodes: t.Mapping[str, Object], objects: t.Sequence[Object]) -> t.Dict[str, Object]:
    """The texts of an unnamed node are those of the node that calls itself by a name, or of the only one that the cluster has here."""
    found = dict(nodes)
    if ANONYMOUS in found and node_texts.PARTIAL in found[ANONYMOUS]:
        known = sorted({text(mapping(obj.get("metadata")).get("name")) for obj in objects if obj.get("kind") == "Node"} - {""})
        own = text(mapping(found[ANONYMOUS].get("host")).get("hostname"))
        name = own or (known[0] if len(known) == 1 else "")
        if name and name not in found:
            found[name] = found.pop(ANONYMOUS)
    return found


def _each_once(objects: t.Iterable[Object]) -> t.List[Object]:
    """Of an object that comes several times the last; events have names of chance, and are all kept."""
    found: t.Dict[t.Tuple[t.Any, ...], Object] = {}
    for position, obj in enumerate(objects):
        metadata = mapping(obj.get("metadata"))
        key: t.Tuple[t.Any, ...] = (text(obj.get("kind")), text(metadata.get("namespace")), text(metadata.get("name")))
        if key[0] == "Event" or not key[2]:
            key = (position,)
        found.pop(key, None)
        found[key] = obj
    return list(found.values())
