# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. NVIDIA's container toolkit: packages, and how its runtime is configured."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._facts import packages
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import Evidence, mapping, text
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.toml_text import line_of, parse_toml

# The oldest version without a published vulnerability: NVIDIA's security bulletin 5850 of June 2026 (CVE-2026-24260). An option overrides it.
FLOOR = "1.19.1"

# The host's own first, then that of the GPU Operator's toolkit container.
CONFIGS = (
    "/etc/nvidia-container-runtime/config.toml",
    "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
    "/run/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
)
# The tables of that file (nvidia-container-toolkit, api/config/v1).
_TABLES = frozenset(("nvidia-container-cli", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk", "features"))
_HEADER = re.compile(r"^[ \t]*\[{1,2}([^\]\n#]+)\]", re.MULTILINE)
_PART = re.compile(r""""[^"]*"|'[^']*'|[^.]+""")
_CTK_VERSION = re.compile(r"\bversion\s+(\d+(?:\.\d+)+\S*)")
_LIBRARY_ROOT = re.compile(r"^(?P<root>.*?)/(?:usr/)?(?:local/nvidia/)?lib(?:64)?(?:/|$)")


def facts(seen: Evidence, known: t.Sequence[packages.Package], floor: str = FLOOR) -> dict[str, t.Any]:
    """The toolkit's packages, version and configuration.

    :param known: the packages of the node.
    :param floor: below it a version is called vulnerable.
    """
    mine = packages.toolkit(known)
    # The package that the others are there for first.
    installed = sorted((package for package in mine if package.installed), key=lambda package: not package.name.startswith("nvidia-container-toolkit"))
    version = _CTK_VERSION.search(seen.stdout("nvidia_ctk_version"))
    return {
        "version": packages.upstream(installed[0].version) if installed else None,
        "packages": [package.as_fact() for package in mine],
        "interrupted_packages": [package.name for package in mine if package.interrupted],
        "ctk_version": version.group(1) if version else None,
        "vulnerable_below": floor,
        "driver_roots": driver_roots(seen),
        **_configuration(seen),
    }


def parse_config(content: str) -> dict[str, t.Any]:
    """What config.toml of the toolkit says, with its defaults for what it leaves out (nvidia-container-toolkit, api/config/v1).

    ``foreign_section`` is the first table of another program's configuration in it, or ``None``.
    """
    document, error = parse_toml(content)
    cli, runtime = mapping(document.get("nvidia-container-cli")), mapping(document.get("nvidia-container-runtime"))
    return {
        "config_valid": error is None,
        "config_error": error,
        "config_error_line": line_of(error),
        "foreign_section": _foreign(content),
        "accept_envvar_unprivileged": None if error else document.get("accept-nvidia-visible-devices-envvar-when-unprivileged") is not False,
        "accept_volume_mounts": None if error else document.get("accept-nvidia-visible-devices-as-volume-mounts") is True,
        "driver_root": None if error else text(cli.get("root")) or "/",
        "mode": None if error else text(runtime.get("mode")) or "auto",
    }


def driver_roots(seen: Evidence) -> list[str]:
    """Below which roots NVML's library lies: ``/`` for the host's own, ``/run/nvidia/driver`` for a driver container's."""
    found = (_LIBRARY_ROOT.match(text(library.get("path"))) for library in seen.libraries)
    return sorted({match.group("root") or "/" for match in found if match})


def _configuration(seen: Evidence) -> dict[str, t.Any]:
    path = next((path for path in CONFIGS if path in seen.files), None)
    if path is None or path in seen.cut:
        return {"config_path": path, **dict.fromkeys(parse_config(""))}
    return {"config_path": path, **parse_config(seen.files[path])}


def _foreign(content: str) -> str | None:
    """The first table that isn't the toolkit's; of a plugin's table its name and the plugin's."""
    for header in _HEADER.findall(content):
        parts = _PART.findall(header.strip())
        if parts and parts[0].strip() not in _TABLES:
            return ".".join(parts[:2])
    return None
