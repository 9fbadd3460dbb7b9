# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Findings on sharing GPUs: the plugin's configuration, and whether anything uses it."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import sharing_config
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.pods import environment, pod_key
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import mapping, mappings, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import WARNING, finding, seen

Object = t.Dict[str, t.Any]
Findings = t.List[Object]

CONFIG_LABEL = "nvidia.com/device-plugin.config"
_FILE_VARIABLE = "CONFIG_FILE"
_DEFAULT_KEY = "default"


class Config(t.NamedTuple):
    """A configuration of the plugin.

    :param kind: ``configmap`` or ``file``.
    :param name: of the ConfigMap, or the path.
    :param key: of the ConfigMap's data; empty for a file.
    :param error: why it is no YAML, ``None`` where it is.
    """

    kind: str
    name: str
    namespace: t.Optional[str]
    key: str
    value: Object
    error: t.Optional[str] = None


def configs_of(config_maps: t.Iterable[Object]) -> t.List[Config]:
    """The plugin's configurations among the data of ConfigMaps."""
    found = []
    for config_map in config_maps:
        namespace, name = pod_key(config_map)
        for key, content in mapping(config_map.get("data")).items():
            value, error = sharing_config.parse(text(content))
            if value is not None or error:
                found.append(Config("configmap", name, namespace, str(key), value or {}, error))
    return found


def sharing_findings(configs: t.Sequence[Config], *, nodes: t.Sequence[Object], daemonsets: t.Sequence[Object], choices: t.Sequence[Object]) -> Findings:
    """What is wrong with the sharing of GPUs.

    :param nodes: node facts (``gpu_cluster.nodes``).
    :param daemonsets: DaemonSet objects.
    :param choices: mappings with ``name`` and ``default``, as ``devicePlugin.config`` of a ClusterPolicy or of Helm's values has them.
    """
    found = [item for config in configs for item in _invalid(config)]
    shared = [config for config in configs if config.kind == "configmap" and sharing_config.shares(config.value)]
    not_mounted = [item for daemonset in daemonsets for item in _not_mounted(daemonset, shared)]
    found += not_mounted or _not_selected(shared, nodes, daemonsets, choices)
    return found + [item for config in configs for item in _no_isolation(config)]


def _invalid(config: Config) -> Findings:
    where = _where(config)
    if config.error:
        return [_about(config, "SharingConfigInvalid", f"{where} isn't YAML: {config.error}.", config.error)]
    problems = sharing_config.problems(config.value)
    if not problems:
        return []
    told = "; ".join(f"{problem.field}: {problem.reason}" for problem in problems[:4])
    more = f"; and {len(problems) - 4} more" if len(problems) > 4 else ""
    # A field that is known elsewhere was put there for a purpose; one that is known nowhere may be of a newer version.
    serious = any(not problem.ignored or "belongs under" in problem.reason for problem in problems)
    evidence = [seen(f"{where}: {problem.field}", problem.reason) for problem in problems[:4]]
    summary = f"{where} has values that the plugin {'refuses or ignores' if serious else 'ignores'}: {told}{more}."
    return [finding("SharingConfigInvalid", **_subject(config), summary=summary, evidence=evidence, severity=None if serious else WARNING)]


def _not_mounted(daemonset: Object, shared: t.Sequence[Config]) -> Findings:
    """A ConfigMap that a plugin gets as environment variables: it reads a file."""
    spec = mapping(mapping(mapping(daemonset.get("spec")).get("template")).get("spec"))
    mounted = _volumes(spec)
    namespace, name = pod_key(daemonset)
    found = []
    for container in mappings(spec.get("containers")):
        given = {text(mapping(source.get("configMapRef")).get("name")) for source in mappings(container.get("envFrom"))}
        given |= {
            text(mapping(mapping(entry.get("valueFrom")).get("configMapKeyRef")).get("name"))
            for entry in mappings(container.get("env"))
            if entry.get("name") != _FILE_VARIABLE
        }
        for config in shared:
            if config.name in given - mounted and config.namespace == namespace and _FILE_VARIABLE not in environment(container):
                summary = f"DaemonSet {name} gets ConfigMap {config.name} as environment variables, not as a file, so that its key {config.key} has no effect."
                evidence = [seen(f"DaemonSet {namespace}/{name}", f"container {text(container.get('name'))}: envFrom or valueFrom {config.name}")]
                found.append(finding("SharingConfigNotMounted", kind="daemonset", name=name, namespace=namespace, summary=summary, evidence=evidence))
    return found[:1]


def _not_selected(shared: t.Sequence[Config], nodes: t.Sequence[Object], daemonsets: t.Sequence[Object], choices: t.Sequence[Object]) -> Findings:
    found = []
    for name in dict.fromkeys(config.name for config in shared):
        keys = [config for config in shared if config.name == name]
        reason = _why_unused(keys, nodes, daemonsets, choices)
        if reason:
            named = ", ".join(config.key for config in keys)
            summary = f"ConfigMap {name} has the sharing configuration {named}, which takes effect nowhere: {reason}."
            found.append(finding("SharingConfigNotSelected", **_subject(keys[0]), summary=summary, evidence=[seen(f"ConfigMap {name}", f"keys {named}")]))
    return found


def _why_unused(configs: t.Sequence[Config], nodes: t.Sequence[Object], daemonsets: t.Sequence[Object], choices: t.Sequence[Object]) -> t.Optional[str]:
    """``None`` where it is in use, or where nothing that is known tells."""
    name, keys = configs[0].name, [config.key for config in configs]
    if any(node["labels"].get(CONFIG_LABEL) in keys for node in nodes):
        return None
    mine = [choice for choice in choices if choice.get("name") == name]
    if mine:
        return None if _chooses(mine[0], keys) else f"there are {len(keys)} keys, no default among them, and no node with the label {CONFIG_LABEL}"
    if any(name in _volumes(mapping(mapping(mapping(item.get("spec")).get("template")).get("spec"))) for item in daemonsets):
        return None
    if choices:
        return "the device plugin's configuration (devicePlugin.config.name) names another ConfigMap or none"
    unshared = [node for node in nodes if _offers_whole(node, configs)]
    if not unshared:
        return None
    node = unshared[0]
    offered = next(entry["capacity"] for entry in node["resources"] if entry["capacity"])
    replicas = max(share.replicas for config in configs for share in sharing_config.shares(config.value))
    return f"node {node['name'] or '(unnamed)'} offers {offered} where each GPU was to become {replicas}"


def _chooses(choice: Object, keys: t.Sequence[str]) -> bool:
    """Whether the plugin takes one of the keys without a label: the default, the one of that name, the only one."""
    return bool(text(choice.get("default"))) or _DEFAULT_KEY in keys or len(keys) == 1


def _offers_whole(node: Object, configs: t.Sequence[Config]) -> bool:
    """Whether a node offers fewer devices than the configuration makes of a single GPU."""
    shares = [share for config in configs for share in sharing_config.shares(config.value)]
    capacities = {entry["resource"]: entry["capacity"] for entry in node["resources"] if entry["capacity"]}
    if not capacities or not shares:
        return False
    return all(capacities.get(share.offered, 0) < share.replicas for share in shares)


def _no_isolation(config: Config) -> Findings:
    sliced = [share for share in sharing_config.shares(config.value) if share.method == sharing_config.TIME_SLICING]
    if not sliced:
        return []
    told = ", ".join(f"{share.resource} by {share.replicas}" for share in sliced)
    summary = f"{_where(config)} time-slices {told}: its pods share each GPU's memory without any limit."
    return [_about(config, "NoMemoryIsolation", summary, f"sharing.timeSlicing: {told}")]


def _volumes(spec: Object) -> t.Set[str]:
    volumes = mappings(spec.get("volumes"))
    projected = [source for volume in volumes for source in mappings(mapping(volume.get("projected")).get("sources"))]
    return {text(mapping(source.get("configMap")).get("name")) for source in volumes + projected} - {""}


def _where(config: Config) -> str:
    return f"ConfigMap {config.name}, key {config.key}," if config.kind == "configmap" else f"File {config.name}"


def _subject(config: Config) -> Object:
    return {"kind": config.kind, "name": config.name, "namespace": config.namespace}


def _about(config: Config, code: str, summary: str, shown: str) -> Object:
    return finding(code, **_subject(config), summary=summary, evidence=[seen(_where(config), shown)])
