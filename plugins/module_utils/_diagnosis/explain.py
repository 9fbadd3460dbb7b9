# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. From all that is known to what is wrong, the root cause first; no I/O."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis import node_texts
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.recognise import CONTAINER_LOG
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.snapshot import Snapshot, Text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import mig_layout, structured
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import Observation, PodIndex, cluster_facts, plugin_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.node import node_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import bound_node, container_states, containers, owner, pod_key, pod_spec
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.requests import gpu_requests
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import catalogue, logs, mig, operator, sharing
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.helm import helm_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.kubelet import kubelet_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.namespaces import namespace_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.node_objects import node_object_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.order import Subject, arrange
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.orphans import orphan_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.owners import job_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.pods import pod_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.rules import node_findings

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

_COMPONENTS = ("nvidia", "gpu-operator", "gpu-feature-discovery", "node-feature-discovery", "mig-manager", "dcgm")
_GENERIC = "ContainerFailed"
# What may be said of a node only if somebody looked, by the mark in evidence that was picked from texts.
_PREMISES = {"DriverNotLoaded": "pci_drivers_known"}


def explain(snapshot: Snapshot) -> Findings:
    """What is wrong, the root cause first; each code once for each subject."""
    known = _Known(snapshot)
    found = [
        *known.of_helm(),
        *known.of_nodes(),
        *known.of_operator(),
        *known.of_texts(),
        *known.of_sharing(),
        *known.of_cluster(),
    ]
    return arrange(_each_once(found), known.places())


def facts_of(snapshot: Snapshot) -> t.Dict[str, Object]:
    """The facts of ``gpu_node_info`` of each node of which there is evidence."""
    return {name: node_facts(evidence, SUBSETS) for name, evidence in sorted(snapshot.nodes.items())}


class _Known:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._facts = facts_of(snapshot)
        self._kinds: t.Dict[str, t.List[Object]] = {}
        for obj in snapshot.objects:
            self._kinds.setdefault(text(obj.get("kind")), []).append(obj)
        self._pods = self._of_kind("Pod")
        self._pods_by_key = {pod_key(pod): pod for pod in self._pods}
        self._events = self._of_kind("Event")
        self._node_objects = {_name(node): node for node in self._of_kind("Node")}
        index = PodIndex(plugin_facts(self._of_kind("DaemonSet")))
        for pod in self._pods:
            index.add(pod)
        observed = Observation("", self._node_objects, plugin_facts(self._of_kind("DaemonSet")), index, self._of_kind("RuntimeClass"), self._events)
        self._nodes: t.List[Object] = cluster_facts(observed)["nodes"]
        self._values = [value for value in map(_value, self._texts("helm_values")) if value]
        self._operator = operator.Operator(
            [resource for kind in operator.KINDS for resource in self._of_kind(kind)],
            self._of_kind("CustomResourceDefinition"),
            self._nodes,
            self._pods,
            self._values,
        )

    def places(self) -> t.Dict[Subject, str]:
        """The node of each pod that has one."""
        return {("pod", *key): node for key, pod in self._pods_by_key.items() for node in [bound_node(pod)] if node}

    def of_helm(self) -> Findings:
        return [item for known in self._texts("helm_output") for item in helm_findings(known.content, known.source)]

    def of_nodes(self) -> Findings:
        found: Findings = []
        for name, facts in self._facts.items():
            evidence = self._snapshot.nodes[name]
            found += [item for item in node_findings(facts, name) if node_texts.PARTIAL not in evidence or evidence.get(_PREMISES.get(item["code"], ""), True)]
        return found + [item for known in self._texts("findings") for item in _repeated(known)]

    def of_operator(self) -> Findings:
        return operator.operator_findings(self._operator)

    def of_texts(self) -> Findings:
        """Logs of components and texts of anybody; logs of pods whose objects are known are read together with those."""
        node = next(iter(self._node_objects), "") or next(iter(self._snapshot.nodes), "") or "node"
        context = self._context()
        found: Findings = []
        for known in self._snapshot.texts:
            if known.kind == "kubelet_log":
                found += kubelet_findings(known.content, node)
            if known.kind == CONTAINER_LOG and (known.namespace, known.pod) in self._pods_by_key and not self._is_component((known.namespace, known.pod)):
                continue
            if known.kind in ("component_log", "kubelet_log", "drain_output", "text", CONTAINER_LOG):
                about = {"kind": "pod", "name": known.pod, "namespace": known.namespace} if known.pod else {}
                found += logs.text_findings(known.content, source=known.source, context=context, **about)
        return found

    def of_sharing(self) -> Findings:
        configs = sharing.configs_of(self._of_kind("ConfigMap"))
        configs += [sharing.Config("file", known.source, None, "", _value(known)) for known in self._texts("plugin_config")]
        layouts: t.Dict[str, t.List[Object]] = {}
        for config in [_value(known) for known in self._texts("mig_config")] + self._mig_configs():
            layouts.update(mig_layout.layouts(config))
        choices = operator.device_plugin_choices(self._operator)
        return mig.mig_findings(self._nodes, layouts) + sharing.sharing_findings(
            configs, nodes=self._nodes, daemonsets=self._of_kind("DaemonSet"), choices=choices
        )

    def of_cluster(self) -> Findings:
        found = [item for node in self._nodes for item in node_object_findings(node)]
        named = [node for node in self._nodes if node["name"]] or None
        related = [pod for pod in self._pods if self._is_related(pod)]
        for pod in related or self._pods:
            found += self._of_pod(pod, named)
        found += [item for job in self._of_kind("Job") for item in job_findings(job, self._pods, self._events)]
        found += orphan_findings(self._events, self._pods, nodes=named, objects=self._node_objects)
        explained = {("Job", *pod_key(job)) for job in self._of_kind("Job")}
        return found + namespace_findings(self._of_kind("ResourceQuota"), self._events, known=explained)

    def _of_pod(self, pod: Object, nodes: t.Optional[t.Sequence[Object]]) -> Findings:
        namespace, name = pod_key(pod)
        log = "\n".join(known.content for known in self._snapshot.texts if (known.namespace, known.pod) == (namespace, name)) or None
        found = pod_findings(pod, self._events, nodes=nodes, objects=self._node_objects, log=log)
        own = [item for state in container_states(pod) if state.state != "running" for item in _said(pod, state.name, state.message)]
        return own + [item for item in found if not (own and item["code"] == _GENERIC)]

    def _context(self) -> logs.Context:
        handlers = (item["name"] for facts in self._facts.values() for runtime in facts["runtimes"] or [] for item in runtime["handlers"])
        return logs.Context(frozenset(facts["platform"]["kind"] for facts in self._facts.values()), frozenset(handlers))

    def _is_related(self, pod: Object) -> bool:
        """Whether a pod has to do with GPUs; of a cluster's many pods only these are explained."""
        runtime = text(pod_spec(pod).get("runtimeClassName"))
        return bool(gpu_requests(pod)) or "nvidia" in runtime or self._is_component(pod_key(pod)) or "resourceClaims" in pod_spec(pod)

    def _is_component(self, key: t.Tuple[str, str]) -> bool:
        pod = self._pods_by_key.get(key, {})
        words = [key[1], *(text(item.get("image")) for item in containers(pod))]
        return owner(pod)[0] != "Job" and not gpu_requests(pod) and any(part in word for part in _COMPONENTS for word in words)

    def _mig_configs(self) -> t.List[Object]:
        """MIG layouts in ConfigMaps, and in the chart's values."""
        held = [mapping(config_map.get("data")) for config_map in self._of_kind("ConfigMap")]
        held += [mapping(mapping(mapping(values.get("migManager")).get("config")).get("data")) for values in self._values]
        contents = [text(content) for data in held for content in data.values() if "mig-configs" in text(content)]
        return [config for content in contents for config in _yaml(content)]

    def _of_kind(self, kind: str) -> t.List[Object]:
        return self._kinds.get(kind, [])

    def _texts(self, kind: str) -> t.List[Text]:
        return [known for known in self._snapshot.texts if known.kind == kind]


def _said(pod: Object, container: str, message: str) -> Findings:
    """What a component said when it ended."""
    known = logs.recognise(message)
    if known is None:
        return []
    namespace, name = pod_key(pod)
    shown = [catalogue.seen(f"container {container} of {namespace}/{name}", known.text)]
    summary = f"Pod {name}, container {container}: {known.summary}."
    return [catalogue.finding(known.code, kind="pod", name=name, namespace=namespace, summary=summary, evidence=shown, severity=catalogue.ERROR)]


def _repeated(known: Text) -> t.Iterator[Object]:
    """Findings of a gpu_node_info result that came without its evidence, as far as they are ours."""
    for item in mappings(_value(known, list)):
        subject = mapping(item.get("subject"))
        if item.get("code") in catalogue.CATALOGUE and text(item.get("summary")):
            evidence = [catalogue.seen(text(shown.get("where")), text(shown.get("text"))) for shown in mappings(item.get("evidence"))[:8]]
            kind, name = text(subject.get("kind")) or "node", text(subject.get("name")) or known.source
            yield catalogue.finding(item["code"], kind=kind, name=name, summary=item["summary"], evidence=evidence)


def _value(known: Text, kind: type = dict) -> t.Any:
    """The value that ``_diagnosis.assemble`` put into a text as JSON."""
    value = json.loads(known.content)
    return value if isinstance(value, kind) else kind()


def _yaml(content: str) -> t.List[Object]:
    try:
        return mappings(structured.load_yaml(content))
    except ValueError:
        return []


def _name(obj: Object) -> str:
    return text(mapping(obj.get("metadata")).get("name"))


def _each_once(found: t.Iterable[Object]) -> Findings:
    """The first of those that say the same of the same."""
    return list({(item["code"], *map(str, item["subject"].values())): item for item in reversed(list(found))}.values())[::-1]
