# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on a namespace: its quotas, and what was refused in it."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.events import about
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import pod_key, pod_status
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.quantity import is_quantity, parse_quantity
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import is_gpu_resource
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import named
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import INFO, finding, seen
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.owners import owner_findings

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_REQUESTS = "requests."
# Claims on devices (DRA) are counted per class: k8s.io/api v0.36 core/v1.
_CLAIMS = ".deviceclass.resource.k8s.io/devices"


def namespace_findings(quotas: t.Iterable[Object], events: t.Iterable[Object] = (), *, known: t.Container[t.Tuple[str, str, str]] = ()) -> Findings:
    """What keeps GPU pods out of a namespace: creations that were refused, then quotas that are used up (which is no fault by itself).

    :param quotas: ResourceQuota objects.
    :param events: events of the namespace.
    :param known: kind, namespace and name of controllers that have findings of their own already.
    """
    events = list(events)
    refused = sorted({key for key in map(about, events) if key[0] and key not in known and key[0] != "Pod"})
    found = [item for kind, namespace, name in refused for item in owner_findings(kind, namespace, name, events)]
    return found + [item for quota in quotas for item in _full(quota)]


def _full(quota: Object) -> Findings:
    namespace, name = pod_key(quota)
    hard, used = named(pod_status(quota).get("hard")), named(pod_status(quota).get("used"))
    return [
        finding(
            "QuotaExceeded",
            kind="resourcequota",
            name=name,
            namespace=namespace,
            summary=f"Quota {name} of namespace {namespace} has no {key} left: {used[key]} of {hard[key]} used.",
            evidence=[seen(f"status of ResourceQuota {namespace}/{name}", f"{key}: used {used[key]}, hard {hard[key]}")],
            severity=INFO,
        )
        for key in sorted(hard)
        if _is_gpu_key(key) and is_quantity(hard[key]) and is_quantity(used.get(key)) and parse_quantity(used[key]) >= parse_quantity(hard[key])
    ]


def _is_gpu_key(key: str) -> bool:
    return (key.startswith(_REQUESTS) and is_gpu_resource(key[len(_REQUESTS) :])) or key.endswith(_CLAIMS)
