# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Attributes that modules document; the form is ansible-core's."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Whether it predicts in C(check_mode) what it would change, without changing it.
  diff_mode:
    description: Whether it shows in diff mode what changes, or in C(check_mode) would change.
  idempotent:
    description: Whether a second run with the same arguments reports no change, unless something else changed the target in between.
"""

    # For modules that only look.
    INFO = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module only reads, so it does the same in check mode.
  diff_mode:
    support: N/A
    details:
      - This module only reads.
  idempotent:
    support: full
    details:
      - This module only reads.
"""

    # For modules with an action plugin of the same name.
    ACTION = r"""
options: {}
attributes:
  action:
    support: full
    description: Whether a part of it, an action plugin of the same name, runs on the controller.
"""

    # For modules that talk to a cluster.
    CLUSTER = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/gpufleet.k8s.cluster) in C(module_defaults) to set the connection to the cluster for all of its modules at once.
    support: full
    membership:
      - gpufleet.k8s.cluster
"""
