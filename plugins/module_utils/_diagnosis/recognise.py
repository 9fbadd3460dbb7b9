# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What a text is, by its content; its name decides only where the content leaves it open."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis import hints
from ansible_collections.gpufleet.k8s.plugins.module_utils._diagnosis.documents import Document
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import describe, kubectl_table, smi, smi_list, structured
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.shape import text as text_value
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import logs, messages

Object = t.Dict[str, t.Any]
Test = t.Callable[[t.Any], bool]


class Piece(t.NamedTuple):
    """A document, or a part of it, of which it is known what it is.

    :param kind: a kind of ``VALUES`` or ``TEXTS``, or one of the two that follow.
    :param value: what it holds: for the kinds of ``VALUES`` and ``objects`` the parsed value, else the text.
    """

    document: Document
    kind: str
    value: t.Any


# Kinds beside those of the tables.
OBJECTS, EXIT_CODE, CONTAINER_LOG = "objects", "exit_code", "container_log"

# Of a text, as much as is looked at to tell what it is, and the longest line of those kinds that are read line by line.
HEAD = 256 * 1024
LINE_LIMIT = 16 * 1024

_VALUES_KEYS = frozenset((
    "driver", "toolkit", "devicePlugin", "migManager", "mig", "dcgm", "dcgmExporter", "gfd", "nfd", "operator", "cdi", "sandboxWorkloads",
    "nodeStatusExporter", "validator", "psa", "runtimeClassName", "migStrategy", "deviceListStrategy", "failOnInitError",
))
_PLUGIN_KEYS = frozenset(("flags", "resources", "sharing", "imex"))
_DOCKER_KEYS = frozenset((
    "runtimes", "default-runtime", "exec-opts", "log-driver", "log-opts", "storage-driver", "data-root", "graph", "insecure-registries", "registry-mirrors",
    "cgroup-parent", "live-restore", "features", "node-generic-resources", "bip", "hosts",
))


def _has(*keys: str) -> Test:
    return lambda value: all(key in value for key in keys)


def _is_values(value: Object) -> bool:
    """Values for Helm: known names on top, and nothing that an object has."""
    known = _VALUES_KEYS & set(value)
    config = value.get("config")
    return bool(known) or (isinstance(config, dict) and bool({"map", "name", "default"} & set(config)))


# Of mappings in JSON or YAML, the surest first.
VALUES: t.Tuple[t.Tuple[str, Test], ...] = (
    ("evidence", lambda value: isinstance(value.get("commands"), dict) and isinstance(value.get("files"), dict) and "schema" in value),
    ("node_info_result", lambda value: isinstance(value.get("gpu_node"), dict)),
    ("findings", lambda value: isinstance(value.get("findings"), list) and "summary" in value),
    ("kubelet_config", lambda value: value.get("kind") == "KubeletConfiguration"),
    ("status", lambda value: value.get("kind") == "Status" and isinstance(value.get("message"), str)),
    ("object", lambda value: isinstance(value.get("kind"), str) and bool({"metadata", "items", "apiVersion", "involvedObject"} & set(value))),
    ("list", lambda value: isinstance(value.get("items"), list) and "metadata" in value),
    ("cdi_spec", _has("cdiVersion", "kind")),
    ("docker_info", _has("ServerVersion", "Runtimes")),
    ("mig_config", _has("mig-configs")),
    ("plugin_config", lambda value: value.get("version") in ("v1", None) and bool(_PLUGIN_KEYS & set(value)) and not _VALUES_KEYS & set(value)),
    ("docker_config", lambda value: bool(_DOCKER_KEYS & set(value))),
    ("helm_values", _is_values),
)

# On a host nvidia-smi gives this message to nobody: the container lost its cgroup's permission.
_FROM_CONTAINER = re.compile(r"Failed to initialize NVML: Unknown Error")
_TOML_TABLE = r"^\s*\[{1,2}[\w.\"'/ -]+\]{1,2}\s*(?:#.*)?$"
_PLUGINS_TABLE = r"^\s*\[plugins\b|^\s*(?:disabled_plugins|imports|oom_score)\s*=|containerd\.runtimes"


def _matches(pattern: str, flags: int = 0) -> Test:
    return lambda head: re.search(pattern, head, re.MULTILINE | flags) is not None


def _lines(pattern: str, share: float = 0.5) -> Test:
    """Whether so many of the lines that aren't blank look like this."""
    expression = re.compile(pattern)

    def tells(head: str) -> bool:
        lines = [line for line in head.splitlines()[:2000] if line.strip()]
        return bool(lines) and sum(expression.search(line) is not None for line in lines) >= max(1, len(lines) * share)

    return tells


# Of other texts, the surest first.
TEXTS: t.Tuple[t.Tuple[str, Test], ...] = (
    ("report", _matches(r"\A(?:Nothing found that is wrong\.|\d+ (?:error|warning|info)s?\b.*First: \w+ on )")),
    ("proc_version", _matches(r"^NVRM version:")),
    ("toml_template", _matches(r"^\s*\{\{-?\s*(?:template|range|if|end|with|define)\b")),
    ("toolkit_config", _matches(r"^\s*\[nvidia-container-(?:cli|runtime)")),
    ("crio_config", _matches(r"^\s*\[crio(?:\.|\])")),
    ("containerd_config", lambda head: _matches(_PLUGINS_TABLE)(head) and _lines(_TOML_TABLE + r"|^\s*[\w.\"-]+\s*=|^\s*#|^\s*[\]\[}{\"']", 0.8)(head)),
    ("kubelet_log", _matches(r"^[IWEF]\d{4} .*(?:kubelet|pod_workers|device_manager|registration server|\bserver\.go:\d+\] \"(?:Got registration|Start))|"
                             r"\"(?:Got registration request from device plugin|Starting device plugin registration server)")),
    ("component_log", logs.is_component_log),
    ("helm_output", _matches(r"^Error: (?:INSTALLATION|UPGRADE|UNINSTALL) FAILED|^(?:NAME|LAST DEPLOYED): |"
                             r"^Error: (?:release|chart|failed (?:to download|pre-install)|no matches for kind|unable to build kubernetes|rendered manifests)|"
                             r"^NAME\s+NAMESPACE\s+REVISION|^REVISION\s+UPDATED\s+STATUS")),
    ("drain_output", _matches(r"^(?:evicting pod |node/\S+ (?:cordoned|drained|already cordoned)|error: unable to drain)|error when evicting pods?")),
    ("kernel_log", _lines(r"NVRM: |\bkernel: |^(?:<\d+>)?\[\s*\d+\.\d{6}\]|^\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d|(?:modprobe|insmod): (?:ERROR|FATAL): .*nvidia|"
                          r"\bnvidia[\w-]*: |\bnouveau |NovaCore", 0.4)),
    ("lspci", _lines(r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S|^\s+(?:Subsystem|Kernel (?:driver|modules)|Capabilities|Flags|Memory|Region|"
                     r"Control|Status|Latency|Interrupt|NUMA|IOMMU)|^\t")),
    ("packages", _lines(r"^[a-z][a-zA-Z][ R]?\s+\S+\s+\S*\d|^(?:Desired=|\| Status=|\|/ Err|\+\+\+-|\|\|/)|"
                        r"^(?:lib)?(?:nvidia|cuda|containerd)[\w.+-]*-\d[\w.~+-]*\.(?:x86_64|aarch64|noarch)$")),
    ("os_release", lambda head: _matches(r"^ID=")(head) and _matches(r"^VERSION_ID=|^PRETTY_NAME=")(head)),
    ("tegra_release", _matches(r"^# R\d+ \(release\), REVISION")),
    ("uname", lambda head: len(head) < 400 and _matches(r"^Linux \S+ \d+\.\d+\S* |"
                                                        r"^\d+\.\d+\.\d+\S*-(?:generic|microsoft|amd64|tegra|cloud|aws|azure|gcp|el\d)\S*$|"
                                                        r"^\d+\.\d+\.\d+\S*(?:microsoft-standard|\.el\d)\S*$")(head)),
    ("describe", lambda head: describe.describes(head) is not None),
    ("table", lambda head: bool(kubectl_table.parse(head))),
    ("text", lambda head: messages.recognise(head) is not None or logs.recognise(head) is not None),
)
# Kinds whose files another program parses; what it can't parse is then the finding.
_BROKEN = (
    ("docker_config", _matches(r"\"(?:default-runtime|runtimes|exec-opts|data-root|graph|registry-mirrors|insecure-registries|log-driver)\"\s*:")),
    ("cdi_spec", _matches(r"^\s*\"?cdiVersion\"?\s*:")),
)


def recognise(document: Document) -> t.Tuple[t.List[Piece], str]:
    """What a document holds, and why nothing where that is so, or why only a part of it."""
    text = document.text.lstrip("\ufeff")
    if not text.strip():
        return [], "empty"
    if hints.is_exit_code(document):
        return [Piece(document, EXIT_CODE, int(text.strip()))], ""
    known = hints.file_kind(document)
    if known:
        return [Piece(document, known, document.text)], ""
    values, reason = _structured(text)
    if values:
        pieces, reason = _pieces_of(document, values)
        # A line of prose with a colon is YAML, too.
        if pieces or text.lstrip().startswith(("{", "[")):
            return pieces, reason
    head = _shortened(text[:HEAD])
    broken = next((kind for kind, tells in _BROKEN if tells(head)), None)
    if broken and reason and not values:
        return [Piece(document, broken, document.text)], ""
    if smi.form(head) and not _FROM_CONTAINER.search(head) and not logs.is_component_log(head) and not _is_console(head):
        return [Piece(document, "nvidia_smi", text)], ""
    kind = next((kind for kind, tells in TEXTS if tells(head)), None)
    if kind is None:
        return [], reason or "neither a form nor a message that is known"
    return [Piece(document, kind, _shortened(text))], ""


def _is_console(head: str) -> bool:
    """Whether a list of GPUs is only a part of what somebody's terminal showed."""
    lines = [line for line in head.splitlines() if line.strip()]
    return smi.form(head) == "list" and sum(map(smi_list.is_row, lines)) * 2 < len(lines)


def _structured(text: str) -> t.Tuple[t.List[t.Any], str]:
    """The mappings and lists in a text that is JSON or YAML, and why none where it was meant to be so."""
    first = text.lstrip()[:1]
    reason = ""
    if first in ("{", "["):
        try:
            return [value for value in structured.load_json(text) if isinstance(value, (dict, list))], ""
        except ValueError as error:
            reason = f"not JSON: {error}"
    if first == "[" or not re.search(r"^(?:[\w.-]+|\"[\w.-]+\"):(?:\s|$)|^- ", text[:HEAD], re.MULTILINE):
        return [], reason if first == "{" else ""
    if re.search(r"^(?:[A-Z][\w -]*:\s{2,}\S|\[|[IWE]\d{4} )", text[:4096], re.MULTILINE):
        return [], reason
    try:
        found = [value for value in structured.load_yaml(text) if isinstance(value, (dict, list))]
    except ValueError as error:
        return [], reason or (f"not YAML: {error}" if re.search(r"^(?:apiVersion|kind|version|cdiVersion):", text[:HEAD], re.MULTILINE) else "")
    return found, reason


def _pieces_of(document: Document, values: t.Sequence[t.Any]) -> t.Tuple[t.List[Piece], str]:
    pieces: t.List[Piece] = []
    unknown = 0
    for value in (item for top in values for item in (top if isinstance(top, list) else [top])):
        kind = next((kind for kind, tells in VALUES if tells(value)), None) if isinstance(value, dict) else None
        if kind is None:
            unknown += 1
        elif kind in ("object", "list"):
            pieces += [Piece(document, OBJECTS, obj) for obj in flattened(value)]
        else:
            pieces.append(Piece(document, kind, value))
    if not unknown:
        return pieces, ""
    return pieces, "JSON or YAML of a form that isn't known" + (f" in {unknown} of its values" if pieces else "")


def flattened(value: Object, kind: str = "") -> t.List[Object]:
    """An object, or those in a list of them however deep; the items of a typed list get its kind."""
    own = text_value(value.get("kind"))
    items = value.get("items")
    if not isinstance(items, list) or not (own.endswith("List") or not own):
        return [value if own else {**value, "kind": kind}] if own or kind else []
    of_kind = own[: -len("List")]
    return [obj for item in items if isinstance(item, dict) for obj in flattened(item, of_kind)]


def _shortened(text: str) -> str:
    """The text with its endless lines cut: whatever reads it line by line shall not meet one."""
    if len(text) <= LINE_LIMIT:
        return text
    return "\n".join(line[:LINE_LIMIT] for line in text.splitlines())
