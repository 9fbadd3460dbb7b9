# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. All rules on a node's container runtimes, the container toolkit and CDI, in the order of causes."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import distribution
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings import runtime_cdi, runtime_config, runtime_daemon, runtime_toolkit
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.runtime_config import Facts, Findings

RUNTIME_RULES = (
    runtime_config.config_invalid,
    runtime_config.cri_disabled,
    runtime_daemon.not_running,
    runtime_config.default_undefined,
    runtime_config.runtime_type_missing,
    # Behind those that may be why the plugin failed to load.
    runtime_daemon.cri_missing,
    runtime_config.drop_in_not_imported,
    runtime_config.overwritten,
    runtime_daemon.daemon_not_using_config,
    runtime_config.cgroup_mismatch,
    runtime_config.cdi_too_old,
    runtime_config.template,
)
# A runtime that isn't the kubelet's matters only as far as it might break what shares its configuration.
OTHER_RULES = (runtime_config.config_invalid,)


def runtimes(facts: Facts, node: str) -> Findings:
    """The findings on every runtime."""
    return [item for runtime in facts["runtimes"] or [] for rule in _rules(runtime) for item in rule(runtime, node)]


def _rules(runtime: Facts) -> tuple:
    is_other = runtime["used_by_kubelet"] is False and runtime["name"] != distribution.DOCKER
    return OTHER_RULES if is_other else RUNTIME_RULES


RULES = (
    runtimes,
    runtime_toolkit.config_invalid,
    runtime_toolkit.toolkit_mixed,
    runtime_toolkit.toolkit_not_installed,
    runtime_toolkit.binary_missing,
    runtime_toolkit.handler_missing,
    runtime_toolkit.not_injecting,
    runtime_toolkit.driver_root_mismatch,
    *runtime_cdi.RULES,
    runtime_toolkit.envvar_not_allowed,
    runtime_toolkit.toolkit_vulnerable,
)
