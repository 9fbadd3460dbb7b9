# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a machine."""

from __future__ import annotations

import os
from pathlib import Path

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host


def test_files_below_another_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "b.toml").write_text(" two \n")
    (tmp_path / "etc" / "a.toml").symlink_to("b.toml")
    host = Host(print, str(tmp_path))
    assert host.glob("/etc/*.toml") == ["/etc/a.toml", "/etc/b.toml"]
    assert (host.read_line("/etc/b.toml"), host.read_line("/etc/none")) == ("two", None)
    assert (host.readlink("/etc/a.toml"), host.readlink("/etc/b.toml")) == ("b.toml", None)
    assert (host.leads_to("/etc/a.toml"), host.leads_to("/etc/b.toml")) == ("b.toml", "b.toml")
    assert (host.listdir("/etc"), host.listdir("/none"), host.exists("/none")) == (["a.toml", "b.toml"], [], False)
    assert host.which(os.path.basename("/bin/no-such-program")) is None
