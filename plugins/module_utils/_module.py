# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release."""

from __future__ import annotations

import traceback
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError


def run_module(main: t.Callable[[AnsibleModule], dict[str, t.Any]], argument_spec: dict[str, t.Any], **kwargs: t.Any) -> None:
    """Build the module, run ``main`` and leave: the one place that decides how a module of this collection exits.

    :param main: given the module, returns the result without ``changed`` where that is false.
    :param argument_spec: the module's options.
    :param kwargs: passed on to ``AnsibleModule``; ``supports_check_mode`` is true unless given.
    """
    kwargs.setdefault("supports_check_mode", True)
    module = AnsibleModule(argument_spec=argument_spec, **kwargs)
    try:
        result = main(module)
    except GpuFleetError as error:
        module.fail_json(msg=str(error), failure=error.as_failure())
    except Exception as error:
        module.fail_json(
            msg=f"{module._name} stopped on an error that it doesn't know ({type(error).__name__}: {error}). Please report it with failure.details.traceback.",
            failure={"code": "Unexpected", "details": {"traceback": traceback.format_exc()}},
        )
    module.exit_json(**{"changed": False, **result})
