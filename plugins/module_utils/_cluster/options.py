# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Twin of the doc fragments kubernetes.core.k8s_auth_options and _cluster, and
the options of gpu_diagnose, for the module and for its half on the controller."""

from __future__ import annotations

import typing as t

from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC

# Older kubernetes.core (6.2) masks all of it, so that no error could name the file; the connection masks the secrets of one given as a mapping.
KUBECONFIG = {"type": "raw"}

DIAGNOSE_OPTIONS: t.Dict[str, t.Any] = {
    "evidence": {"type": "path"},
    "live": {"type": "bool"},
    "pod": {"type": "str"},
    "job": {"type": "str"},
    "namespace": {"type": "str"},
    "node": {"type": "str"},
    "operator": {"type": "bool", "default": False},
    "log_lines": {"type": "int", "default": 100},
    "save": {"type": "path"},
    "mask": {"type": "bool", "default": False},
    "fail_on": {"type": "str", "choices": ["never", "error", "warning"], "default": "never"},
}
# Options of gpu_diagnose of which only one can be given.
DIAGNOSE_ALTERNATIVES = [("pod", "job", "node", "operator"), ("namespace", "node"), ("namespace", "operator")]


def cluster_argument_spec(**own: t.Any) -> t.Dict[str, t.Any]:
    """The options by which a module reaches a cluster.

    :param own: the module's own options.
    """
    return {**AUTH_ARG_SPEC, "kubeconfig": KUBECONFIG, "request_timeout": {"type": "int", "default": 30}, **own}
