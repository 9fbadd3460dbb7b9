# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of all modules that talk to a cluster, beside those of ``kubernetes.core.k8s_auth_options``."""

from __future__ import annotations


class ModuleDocFragment:
    """Twin of ``module_utils/_cluster/options.py``."""

    DOCUMENTATION = r"""
options:
  request_timeout:
    description:
      - Longest time in seconds for one request to the API server, further attempts included.
      - Requests that the server answers with 429 or a server error, and connections that break, are tried again within this time.
        A server that has never answered is given up after 5 seconds.
    type: int
    default: 30
requirements:
  - python >= 3.9
  - kubernetes >= 24.2.0
  - PyYAML >= 3.11
notes:
  - The module runs where the cluster can be reached, usually on the controller (C(delegate_to) or a play on V(localhost)).
  - "On failure, RV(failure) has a C(code) to match on. Common to all modules of this kind are V(LibraryMissing), V(KubeconfigUnreadable),
    V(ContextNotFound), V(ApiUnreachable), V(ApiUnauthorized) and V(ApiForbidden)."
"""
