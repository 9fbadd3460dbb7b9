# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. All that is known before anything is judged, from a live cluster, from nodes or from a folder."""

from __future__ import annotations

import typing as t

Object = t.Dict[str, t.Any]


class Text(t.NamedTuple):
    """A text that isn't a fact of a node and isn't an object.

    :param source: where it was read, for people: a file's name, or ``log of namespace/pod``.
    :param kind: what it is, in the words of ``_diagnosis.recognise``: ``container_log``, ``helm_output``, ``describe``, ...
    :param content: the text.
    :param namespace: of the pod whose log it is, else empty.
    :param pod: whose log it is, else empty.
    """

    source: str
    kind: str
    content: str
    namespace: str = ""
    pod: str = ""


class Snapshot(t.NamedTuple):
    """What is known.

    :param nodes: by the node's name, the collector's evidence (see ``_collect.node.collect``).
    :param objects: Kubernetes objects of any kind, as the API gives them; lists are taken apart.
    :param texts: everything else that could be recognised.
    :param unused: what could not be used: ``{"what": ..., "reason": ...}``.
    """

    nodes: t.Dict[str, Object]
    objects: t.List[Object]
    texts: t.List[Text]
    unused: t.List[t.Dict[str, str]]
