# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings from events about pods whose objects aren't at hand."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.events import about
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings

Object = t.Dict[str, t.Any]


def orphan_findings(
    events: t.Iterable[Object],
    pods: t.Iterable[Object] = (),
    *,
    nodes: t.Optional[t.Sequence[Object]] = None,
    objects: t.Optional[t.Mapping[str, Object]] = None,
) -> t.List[Object]:
    """What events tell of pods that are in none of the files: the pod is taken for one that waits, and asks for what the events name.

    :param pods: pods whose objects are known, which have findings of their own.
    :param nodes: as for ``pod_findings``.
    """
    events = list(events)
    known = {pod_key(pod) for pod in pods}
    named = {(namespace, name): None for kind, namespace, name in map(about, events) if kind == "Pod" and (namespace, name) not in known}
    stubs = ({"metadata": {"namespace": namespace, "name": name}} for namespace, name in named)
    return [item for stub in stubs for item in pod_findings(stub, events, nodes=nodes, objects=objects)]
