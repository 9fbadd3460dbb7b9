# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Which RuntimeClass the validation's pods name: read, never guessed."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError

Object = t.Dict[str, t.Any]


class Choice(t.NamedTuple):
    """:param name: ``None`` where pods name no RuntimeClass."""

    name: t.Optional[str]
    reason: str


def choose_runtime_class(asked: t.Optional[str], gpu_cluster: Object) -> Choice:
    """What was asked for, else what the device plugin itself runs with, else the only one with an NVIDIA handler.

    :param asked: a name; empty for none; ``None`` to find out.
    :raises GpuFleetError: RuntimeClassMissing, RuntimeClassAmbiguous.
    """
    known = [item["name"] for item in gpu_cluster["runtime_classes"]]
    if asked == "":
        return Choice(None, "none asked for")
    if asked is not None:
        return Choice(_existing(asked, known, "the option runtime_class"), "named by the option runtime_class")
    of_plugins = sorted({plugin["runtime_class"] for plugin in gpu_cluster["plugins"] if plugin["runtime_class"]})
    if len(of_plugins) == 1:
        return Choice(_existing(of_plugins[0], known, "the device plugin's DaemonSet"), "the device plugin runs with it")
    nvidia = of_plugins or sorted(item["name"] for item in gpu_cluster["runtime_classes"] if item["handler"].startswith("nvidia"))
    if len(nvidia) > 1:
        raise GpuFleetError(
            f"Expected one RuntimeClass for NVIDIA GPUs, found {', '.join(nvidia)}. Name the one to use in the option runtime_class.",
            code="RuntimeClassAmbiguous",
            runtime_classes=nvidia,
        )
    if nvidia:
        return Choice(nvidia[0], "the only RuntimeClass with an NVIDIA handler")
    return Choice(None, "there is no RuntimeClass with an NVIDIA handler")


def _existing(name: str, known: t.Sequence[str], where: str) -> str:
    if name in known:
        return name
    raise GpuFleetError(
        f"Expected the RuntimeClass {name}, which {where} names, found {', '.join(sorted(known)) or 'none at all'}. Create it or name one that exists.",
        code="RuntimeClassMissing",
        runtime_class=name,
        runtime_classes=sorted(known),
    )
