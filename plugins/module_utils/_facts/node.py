# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. A node's facts from its evidence."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import cdi, driver, evidence, gpus, kernel_log, packages, pci, platform, runtimes, toolkit


def node_facts(raw: t.Any, gather: t.Collection[str], toolkit_floor: str = toolkit.FLOOR) -> dict[str, t.Any]:
    """The facts of ``gpu_node_info``.

    :param raw: the collector's evidence.
    :param gather: the subsets that are wanted; the others are ``None``.
    :param toolkit_floor: the container toolkit's version below which it is called vulnerable.
    """
    seen = evidence.read(raw)
    known = packages.parse(seen.stdout("packages"))
    functions = pci.functions(seen.pci or [])
    reading = gpus.read(seen)
    log = kernel_log.facts(seen)
    machine = platform.facts(seen, reading.gpus)
    facts = {
        "platform": machine,
        "pci": None if seen.pci is None else functions,
        "driver": driver.facts(seen, known, functions, reading, log),
        "gpus": reading.gpus or gpus.integrated(machine["kind"]),
        "runtimes": runtimes.facts(seen, known),
        "toolkit": toolkit.facts(seen, known, toolkit_floor),
        "cdi": cdi.facts(seen),
        "kernel_log": log,
    }
    return {name: value if name in gather else None for name, value in facts.items()}
