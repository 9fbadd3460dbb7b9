# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role gpu_device_plugin has to do, decided from what was observed. No I/O."""

from __future__ import annotations

DOCUMENTATION = r"""
name: gpu_device_plugin_plan
short_description: Decide how a cluster gets its NVIDIA device plugin
version_added: 0.1.0
author: gpufleet authors (@gpufleet)
description:
  - Compares what P(gpufleet.k8s.gpu_cluster_info#module) observed with what the role C(gpu_device_plugin) is asked for.
  - Made for that role; its result may change in any release.
positional: nodes
options:
  _input:
    description: The RV(gpufleet.k8s.gpu_cluster_info#module:gpu_cluster) value.
    type: dict
    required: true
  nodes:
    description: Names of the Nodes to equip.
    type: list
    elements: str
    required: true
  namespace:
    description: Namespace of the DaemonSet.
    type: str
    required: true
  name:
    description: Name of the DaemonSet.
    type: str
    required: true
  runtime_class:
    description: Name of the RuntimeClass.
    type: str
    required: true
  handler:
    description: Runtime handler that the RuntimeClass must name.
    type: str
    required: true
  strategy:
    description: Device list strategy asked for, V(auto) to have it chosen.
    type: str
    default: auto
  cdi_nodes:
    description: Per Node, whether its runtime is known to resolve CDI devices. Judged by the runtime's version where a Node isn't named.
    type: dict
    default: {}
  other_plugins:
    description: Device plugin DaemonSets, as C(namespace/name), that are known to serve other Nodes.
    type: list
    elements: str
    default: []
  live:
    description:
      - Objects as they are now. The DaemonSet where it exists, else the Namespace, the GPU Operator's ClusterPolicies and the DRA driver's ResourceSlices.
      - A Namespace that holds the DaemonSet already is left alone.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Decide
  ansible.builtin.set_fact:
    plan: >-
      {{ cluster.gpu_cluster | gpufleet.k8s.gpu_device_plugin_plan(
           ['gpu-1', 'gpu-2'], namespace='nvidia-device-plugin', name='nvidia-device-plugin', runtime_class='nvidia', handler='nvidia') }}
"""

RETURN = r"""
_value:
  description:
    - What to do. Nothing may be done while C(failures) isn't empty.
  type: dict
  contains:
    failures:
      description: Why the role refuses, each with C(code), C(message) and C(details).
      type: list
      elements: dict
    apply_namespace:
      description: Whether the Namespace is ours to create or to keep right.
      type: bool
    create_runtime_class:
      description: Whether no RuntimeClass of that name exists.
      type: bool
    labels:
      description: What to apply to Nodes that lack the label that the DaemonSet selects by.
      type: list
      elements: dict
    tolerations:
      description: Tolerations for the taints that the equipped Nodes really have.
      type: list
      elements: dict
    strategy:
      description: The device list strategy, C(value), and why, C(reason).
      type: dict
    ready:
      description: Whether the DaemonSet exists and each of its pods is ready.
      type: bool
"""

import re
import typing as t

Object = t.Dict[str, t.Any]

PRESENT_LABEL = "nvidia.com/gpu.present"
MARK_LABEL = "gpufleet.io/device-plugin"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "gpufleet"
DRA_DRIVER = "gpu.nvidia.com"
ENFORCE = "pod-security.kubernetes.io/enforce"

# The DaemonSet controller tolerates the kubelet's own conditions for us; the others come and go with a Node's life.
PASSING_TAINTS = re.compile(
    r"^(node\.kubernetes\.io|node\.cloudprovider\.kubernetes\.io|node\.cilium\.io|karpenter\.sh)/|ClusterAutoscaler|\.cluster-autoscaler"
)
# Kubernetes 1.29: the kubelet hands a device plugin's CDI devices to the runtime by default (KEP-4009, beta).
KUBELET_WITH_CDI = (1, 29)
# First versions that resolve CDI devices without being told to (containerd: enable_cdi is true by default since 2.0).
RUNTIME_WITH_CDI = {"containerd": (2, 0), "cri-o": (1, 30)}


def plan(
    gpu_cluster: Object,
    nodes: t.Sequence[str],
    namespace: str,
    name: str,
    runtime_class: str,
    handler: str,
    strategy: str = "auto",
    cdi_nodes: t.Optional[t.Mapping[str, bool]] = None,
    other_plugins: t.Sequence[str] = (),
    live: t.Sequence[Object] = (),
) -> Object:
    """The role's plan; options and result as documented above."""
    known = {node["name"]: node for node in gpu_cluster["nodes"]}
    targets = [known[node] for node in sorted(nodes) if node in known]
    equipped = targets + [node for node in _already_equipped(gpu_cluster) if node not in targets]
    daemonset, home = _of_kind(live, "DaemonSet"), _of_kind(live, "Namespace")
    return {
        "failures": _missing_nodes(known, nodes)
        + _other_plugins(gpu_cluster["plugins"], namespace, name, other_plugins)
        + _foreign_daemonset(daemonset)
        + _operator(live)
        + _dra_driver(live, nodes)
        + _runtime_class_conflict(gpu_cluster["runtime_classes"], runtime_class, handler)
        + _namespace_refuses(home)
        + _contradicted_labels(targets),
        "apply_namespace": daemonset is None and (home is None or is_ours(home)),
        "create_runtime_class": all(item["name"] != runtime_class for item in gpu_cluster["runtime_classes"]),
        "labels": [_label(node["name"]) for node in targets if PRESENT_LABEL not in node["labels"]],
        "tolerations": tolerations(equipped),
        "strategy": _strategy(strategy, equipped, cdi_nodes or {}, gpu_cluster["kubernetes_version"], current_strategy(daemonset)),
        "ready": any(_is(plugin, namespace, name) and plugin["ready"] >= plugin["desired"] for plugin in gpu_cluster["plugins"]),
    }


def is_ours(obj: Object) -> bool:
    """Whether an object carries this collection's label."""
    return (obj["metadata"].get("labels") or {}).get(MANAGED_BY) == MANAGER


def tolerations(nodes: t.Iterable[Object]) -> t.List[Object]:
    """Exactly what the lasting taints of ``nodes`` ask for, sorted, each once."""
    taints = {
        (taint["key"], taint.get("value") or "", taint["effect"])
        for node in nodes
        for taint in node["taints"]
        if taint["effect"] != "PreferNoSchedule" and not PASSING_TAINTS.search(taint["key"])
    }
    return [
        {"key": key, "operator": "Equal", "value": value, "effect": effect} if value else {"key": key, "operator": "Exists", "effect": effect}
        for key, value, effect in sorted(taints)
    ]


def current_strategy(daemonset: t.Optional[Object]) -> t.Optional[str]:
    """The device list strategy that a live DaemonSet has, ``None`` without one."""
    if daemonset is None:
        return None
    variables = [item for container in daemonset["spec"]["template"]["spec"]["containers"] for item in container.get("env") or []]
    return next((item.get("value") for item in variables if item["name"] == "DEVICE_LIST_STRATEGY"), None)


def _label(node: str) -> Object:
    """The mark lets a removal find the Nodes that carry the label because of us."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": {PRESENT_LABEL: "true", MARK_LABEL: "labelled"}}}


def _already_equipped(gpu_cluster: Object) -> t.List[Object]:
    return [node for node in gpu_cluster["nodes"] if node["labels"].get(PRESENT_LABEL) == "true"]


def _failure(code: str, message: str, **details: t.Any) -> Object:
    return {"code": code, "message": message, "details": details}


def _missing_nodes(known: t.Mapping[str, Object], nodes: t.Sequence[str]) -> t.List[Object]:
    if not nodes:
        return [_failure("NoNodesGiven", "Expected the names of the Nodes to equip in gpu_device_plugin_nodes, found an empty list. Name at least one.")]
    missing = sorted(set(nodes) - set(known))
    if not missing:
        return []
    message = (
        f"Expected the Nodes {', '.join(missing)} in the cluster, found none of that name among its {len(known)}. "
        "Let them join first, or correct gpu_device_plugin_nodes (Kubernetes Node names, not inventory names)."
    )
    return [_failure("NodeNotFound", message, missing=missing, nodes=sorted(known))]


def _is(plugin: Object, namespace: str, name: str) -> bool:
    return (plugin["kind"], plugin["namespace"], plugin["name"]) == ("daemonset", namespace, name)


def _conflict(owner: str, remedy: str, **details: t.Any) -> Object:
    message = f"Expected no other owner of the Nodes' GPUs, found {owner}. Two of them make GPUs vanish or be given out twice. {remedy}"
    return _failure("PluginConflict", message, **details)


def _other_plugins(plugins: t.Iterable[Object], namespace: str, name: str, accepted: t.Sequence[str]) -> t.List[Object]:
    return [
        _conflict(
            f"{plugin['kind']} {_full_name(plugin)} ({plugin.get('image') or 'no image'})",
            "Remove it and wait until its pods are gone, or name it in gpu_device_plugin_other_plugins if it serves other Nodes.",
            **plugin,
        )
        for plugin in plugins
        if not _is(plugin, namespace, name) and _full_name(plugin) not in accepted
    ]


def _foreign_daemonset(daemonset: t.Optional[Object]) -> t.List[Object]:
    if daemonset is None or is_ours(daemonset):
        return []
    namespace, name = daemonset["metadata"]["namespace"], daemonset["metadata"]["name"]
    owner = f"a DaemonSet {namespace}/{name} that somebody else made (it isn't labelled {MANAGED_BY}={MANAGER})"
    return [_conflict(owner, "Remove it, or choose another gpu_device_plugin_namespace.", kind="daemonset", namespace=namespace, name=name)]


def _operator(live: t.Iterable[Object]) -> t.List[Object]:
    """One failure for each ClusterPolicy whose operator runs a device plugin; it does unless told not to."""
    return [
        _conflict(
            f"the GPU Operator with the ClusterPolicy {obj['metadata']['name']}",
            "Let the operator own the GPUs, set devicePlugin.enabled=false in its values, or uninstall it.",
            kind="clusterpolicy",
            name=obj["metadata"]["name"],
        )
        for obj in live
        if obj["kind"] == "ClusterPolicy" and ((obj.get("spec") or {}).get("devicePlugin") or {}).get("enabled") is not False
    ]


def _dra_driver(live: t.Iterable[Object], nodes: t.Sequence[str]) -> t.List[Object]:
    owned = sorted({obj["spec"]["nodeName"] for obj in live if obj["kind"] == "ResourceSlice" and obj["spec"].get("nodeName") in nodes})
    if not owned:
        return []
    owner = f"the DRA driver {DRA_DRIVER}, which publishes the GPUs of {', '.join(owned)}"
    return [_conflict(owner, "Uninstall it, or leave these Nodes out of gpu_device_plugin_nodes.", kind="resourceslice", name=DRA_DRIVER, nodes=owned)]


def _of_kind(live: t.Iterable[Object], kind: str) -> t.Optional[Object]:
    return next((obj for obj in live if obj["kind"] == kind), None)


def _full_name(plugin: Object) -> str:
    return "/".join(filter(None, (plugin["namespace"], plugin["name"])))


def _runtime_class_conflict(runtime_classes: t.Iterable[Object], name: str, handler: str) -> t.List[Object]:
    found = next((item["handler"] for item in runtime_classes if item["name"] == name), handler)
    if found == handler:
        return []
    message = (
        f"Expected the RuntimeClass {name} to have the handler {handler}, found {found}. A handler can't be changed and the object may serve others: "
        "set gpu_device_plugin_handler to the handler found, choose another gpu_device_plugin_runtime_class, or delete the object first."
    )
    return [_failure("RuntimeClassConflict", message, runtime_class=name, expected=handler, found=found)]


def _namespace_refuses(namespace: t.Optional[Object]) -> t.List[Object]:
    if namespace is None:
        return []
    name = namespace["metadata"]["name"]
    if (namespace.get("status") or {}).get("phase") == "Terminating":
        message = f"Expected the Namespace {name} to be usable, found it terminating. Run again when it is gone."
        return [_failure("NamespaceTerminating", message, namespace=name)]
    level = (namespace["metadata"].get("labels") or {}).get(ENFORCE, "privileged")
    if is_ours(namespace) or level == "privileged":
        return []
    message = (
        f"Expected the Namespace {name} to allow hostPath volumes, found {ENFORCE}={level} on a Namespace that isn't ours. "
        "Choose another gpu_device_plugin_namespace, or have its owner set the level privileged."
    )
    return [_failure("PodSecurityViolation", message, namespace=name, level=level)]


def _contradicted_labels(targets: t.Iterable[Object]) -> t.List[Object]:
    return [
        _failure(
            "NodeLabelConflict",
            f"Expected the label {PRESENT_LABEL} of Node {node['name']} to be absent or true, found {node['labels'][PRESENT_LABEL]}: "
            "whoever set it sees no GPU there. Check the GPU and its driver, then remove the label.",
            node=node["name"],
            label=PRESENT_LABEL,
            found=node["labels"][PRESENT_LABEL],
        )
        for node in targets
        if node["labels"].get(PRESENT_LABEL, "true") != "true"
    ]


def _strategy(asked: str, equipped: t.Iterable[Object], cdi_nodes: t.Mapping[str, bool], kubernetes: str, current: t.Optional[str]) -> Object:
    if asked != "auto":
        return {"value": asked, "reason": "set by gpu_device_plugin_device_list_strategy"}
    if _version(kubernetes) < KUBELET_WITH_CDI:
        return {"value": "envvar", "reason": f"the kubelets of Kubernetes {kubernetes} don't hand CDI devices to the runtime"}
    without = [node["name"] for node in equipped if not _resolves_cdi(node, cdi_nodes, current)]
    if without:
        return {"value": "envvar", "reason": f"the runtime of {', '.join(without)} isn't known to resolve CDI devices"}
    return {"value": "cdi-cri", "reason": "the runtime of each node resolves CDI devices"}


def _resolves_cdi(node: Object, cdi_nodes: t.Mapping[str, bool], current: t.Optional[str]) -> bool:
    """By what is known of the Node, else by its runtime's version, else as the live plugin does it already."""
    if node["name"] in cdi_nodes:
        return bool(cdi_nodes[node["name"]])
    runtime, _separator, version = str(node.get("container_runtime") or "").partition("://")
    if runtime in RUNTIME_WITH_CDI and _version(version) >= RUNTIME_WITH_CDI[runtime]:
        return True
    return current == "cdi-cri"


def _version(text: str) -> t.Tuple[int, ...]:
    """Major and minor of ``v1.36.3`` or ``2.1.4+ds``."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


class FilterModule:
    """Makes the decision usable in the role's tasks."""

    def filters(self) -> t.Dict[str, t.Callable[..., t.Any]]:
        return {"gpu_device_plugin_plan": plan}
