# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Reads what it may and notes what it may not: nothing twice, nothing without a bound."""

from __future__ import annotations

import contextlib
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._bundle.masking import text_without_secrets, without_secrets
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.api import Api
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.errors import ApiError
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import pod_key

Object = t.Dict[str, t.Any]
Take = t.Callable[[Object], t.Optional[Object]]

MOST_LOGS = 40
LOG_BYTES = 256 * 1024
# The kubelet answers for logs; one that is away isn't waited for as long as the API server.
LOG_TIMEOUT_S = 5.0


class Collection(t.NamedTuple):
    """Where objects of one kind are.

    :param plural: as in paths.
    """

    api_version: str
    kind: str
    plural: str

    def path(self, namespace: str = "", name: str = "") -> str:
        root = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        parts = [root, *(["namespaces", namespace] if namespace else []), self.plural, *([name] if name else [])]
        return "/".join(parts)


class Reading:
    """One look at a cluster. What was read is kept only where :meth:`keep` is told so.

    :param log_lines: how much of the end of a log is read, in lines; none for 0.
    :ivar logs: ``namespace``, ``pod``, ``container``, ``previous`` (of the container before its restart) and ``text`` of each.
    :ivar notes: ``what`` could not be read and the ``reason`` of it.
    """

    def __init__(self, api: Api, log_lines: int) -> None:
        self._api = api
        self._log_api = api.within(LOG_TIMEOUT_S)
        self._log_lines = log_lines
        self._lists: t.Dict[t.Tuple[t.Any, ...], t.List[Object]] = {}
        self._kept: t.Dict[t.Tuple[str, str, str], Object] = {}
        self._logs_asked: t.Set[t.Tuple[t.Any, ...]] = set()
        self._silent_nodes: t.Set[t.Any] = set()
        self._logs_left_out = 0
        self._unreachable = False
        self.logs: t.List[Object] = []
        self.notes: t.List[t.Dict[str, str]] = []

    def result(self) -> Object:
        """Everything kept, without credentials."""
        left_out = self._logs_left_out
        if left_out:
            self.note("logs", f"{MOST_LOGS} were read; {left_out} more were left out. Ask about one pod, node or namespace for theirs.")
            self._logs_left_out = 0
        return {"objects": [without_secrets(obj) for obj in self._kept.values()], "logs": self.logs, "notes": self.notes}

    def note(self, what: str, reason: str) -> None:
        self.notes.append({"what": what, "reason": reason})

    def keep(self, *objects: Object) -> None:
        """Have objects in the result; of one that comes twice the first stays."""
        for obj in objects:
            metadata = obj["metadata"]
            self._kept.setdefault((obj["kind"], metadata.get("namespace") or "", metadata["name"]), obj)

    def identities(self) -> t.Set[t.Tuple[str, str, str]]:
        """Kind, namespace (empty for what has none) and name of all that is kept."""
        return set(self._kept)

    def kept(self, kind: str) -> t.List[Object]:
        return [obj for (of_kind, _namespace, _name), obj in self._kept.items() if of_kind == kind]

    def find(self, collection: Collection, name: str, namespace: str = "") -> t.Optional[Object]:
        """One object, ``None`` where it doesn't exist or may not be read."""
        found: t.Optional[Object] = None
        if not self._unreachable:
            with self._tolerant(f"{collection.kind} {namespace + '/' if namespace else ''}{name}"):
                found = self._api.find(collection.path(namespace, name))
        return {"apiVersion": collection.api_version, "kind": collection.kind, **found} if found else None

    def list(self, collection: Collection, namespace: str = "", *, take: t.Optional[Take] = None, **query: str) -> t.List[Object]:
        """Objects of a collection, from memory where the same was asked before.

        :param take: what to remember of each as it comes in, ``None`` for nothing; the same query is always asked with the same one.
        """
        key = (collection.path(namespace), tuple(sorted(query.items())))
        if key not in self._lists:
            found = self._lists[key] = []
            if self._unreachable:
                return found
            with self._tolerant(f"{collection.plural}{' of namespace ' + namespace if namespace else ''}", absent_is_fine="." in collection.api_version):
                for obj in self._api.items(collection.path(namespace), **query):
                    taken = take(obj) if take else obj
                    if taken is not None:
                        found.append({"apiVersion": collection.api_version, "kind": collection.kind, **taken})
        return self._lists[key]

    def log(self, pod: Object, container: str, *, previous: bool = False) -> None:
        """The end of a container's log; a kubelet that doesn't answer is asked once only."""
        namespace, name = pod_key(pod)
        node = pod["spec"].get("nodeName")
        key = (namespace, name, container, previous)
        if not self._log_lines or self._unreachable or key in self._logs_asked or node in self._silent_nodes:
            return
        self._logs_asked.add(key)
        if len(self.logs) >= MOST_LOGS:
            self._logs_left_out += 1
            return
        query = {"container": container, "tailLines": self._log_lines, "limitBytes": LOG_BYTES, **({"previous": "true"} if previous else {})}
        with self._tolerant(f"log of {namespace}/{name}, container {container}", node=node):
            text = self._log_api.text(f"/api/v1/namespaces/{namespace}/pods/{name}/log", **query)
            self.logs.append({"namespace": namespace, "pod": name, "container": container, "previous": previous, "text": text_without_secrets(text)})

    @contextlib.contextmanager
    def _tolerant(self, what: str, *, absent_is_fine: bool = False, node: t.Optional[str] = None) -> t.Iterator[None]:
        """Note what can't be read and go on.

        :param absent_is_fine: the server may well not have this API.
        :param node: whose kubelet answers.
        :raises ApiError: the credentials are no longer accepted.
        """
        try:
            yield
        except ApiError as error:
            if error.status == 401:
                raise
            if error.status >= 500 and node:
                self._silent_nodes.add(node)
            if not (absent_is_fine and error.status == 404):
                self.note(what, f"{error.text} ({error.status})")
        except GpuFleetError as error:
            if node:
                self._silent_nodes.add(node)
            else:
                self._unreachable = True
            self.note(what, str(error) if node else f"{error} Nothing more was asked.")
