# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever lies on a node, the collector gives evidence of bounded size."""

from __future__ import annotations

import json
import tempfile
import typing as t
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import node, reader
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host, Running
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import SUBSETS
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.evidence import read

RELEASE = "6.12.38-amd64"
FUNCTION = "/sys/bus/pci/devices/0000:3b:00.0"
PATHS = (
    "/dev/kmsg", "/etc/os-release", "/proc/cmdline", "/proc/cpuinfo", "/proc/driver/nvidia/version", "/proc/modules", "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random/boot_id", "/proc/uptime", "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
    f"{FUNCTION}/class", f"{FUNCTION}/device", f"{FUNCTION}/driver", f"{FUNCTION}/iommu_group", f"{FUNCTION}/resource", f"{FUNCTION}/numa_node",
    f"/lib/modules/{RELEASE}/modules.dep", "/lib/modules/6.1.0/modules.dep", "/lib/modules/6.1.0/kernel/x", "/usr/lib/libnvidia-ml.so.1",
    "/etc/containerd/config.toml", "/etc/containerd/conf.d/99-nvidia.toml", "/etc/docker/daemon.json", "/etc/crio/crio.conf", "/etc/cdi/nvidia.yaml",
    "/var/run/cdi/nvidia.json", "/etc/nvidia-container-runtime/config.toml", "/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env",
)  # fmt: skip
LIKELY = (
    b"6,0,1,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n", b"0x10de\n", b"0x0 0x1 0x2\n", b"nvidia 1 2 a,b, Live 0x0\n", b"kernel/nvidia.ko: kernel/drm.ko\n",
    b"imports = ['*.toml', '/../../x']\n", RELEASE.encode(), b"12.5 1\n", b"\xff\xfe\x00", b"99999999999999999999999999,1,1,-;nvidia\n",
)  # fmt: skip
CONTENT = st.one_of(
    st.binary(max_size=200),
    st.lists(st.one_of(st.sampled_from(LIKELY), st.binary(max_size=20)), max_size=6).map(b"".join),
)
# What is at a path: a file, a large one, a folder, or a link that leads nowhere or around in a circle.
ENTRY = st.one_of(CONTENT, st.sampled_from(["large", "folder", "dangling", "circle"]))


class _Machine(Host):
    """Runs nothing."""

    def start(self, argv: t.Sequence[str]) -> Running:
        return Running(argv, None, "not installed")


def _put(root: Path, path: str, entry: bytes | str) -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(entry, bytes):
        target.write_bytes(entry)
    elif entry == "large":
        target.write_bytes(b"6,1,1,-;NVRM: x\n" * 50_000)
    elif entry == "folder":
        target.mkdir()
    else:
        target.symlink_to(target.name if entry == "circle" else "nowhere")


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(PATHS), ENTRY, max_size=20), st.sets(st.sampled_from(SUBSETS)))
def test_any_tree_gives_bounded_evidence(tree: dict[str, bytes | str], gather: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _put(root, f"{FUNCTION}/vendor", b"0x10de\n")
        for path, entry in tree.items():
            _put(root, path, entry)
        evidence = node.collect(_Machine(print, folder), gather, 5)
    text = json.dumps(evidence)
    assert json.loads(text) == evidence
    assert len(text) < 4 * reader.FILE_LIMIT * (len(tree) + 1)
    assert read(evidence).pci is not None
