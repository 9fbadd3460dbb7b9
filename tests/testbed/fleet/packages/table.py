# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in packages: names and relations are those of NVIDIA's CUDA and container toolkit repositories.

In every text, ``{version}`` stands for the package's version and ``{upstream}`` for the part before its last dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

DRIVER_VERSIONS = ("580.159.04-1", "580.178.04-1")
FAILING_DRIVER_VERSION = "590.1-1"
TOOLKIT_VERSIONS = ("1.19.1-1", "1.20.2-1")
LIBRARIES = "usr/lib/x86_64-linux-gnu"


@dataclass(frozen=True)
class Package:
    """One Debian package in one or more versions.

    :ivar files: target path: source file beside this module
    :ivar programs: target path: Python source; it becomes an executable without suffix
    :ivar links: link path: what it points at
    :ivar scripts: maintainer script: source file
    :ivar kernel_modules: whether it brings the driver's module files
    :ivar real_toolkit: whether it brings the real nvidia-ctk
    """

    name: str
    repository: str
    versions: tuple[str, ...]
    summary: str
    depends: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    kernel_modules: bool = False
    real_toolkit: bool = False


_ALL_DRIVERS = (*DRIVER_VERSIONS, FAILING_DRIVER_VERSION)

PACKAGES = (
    Package(
        name="nvidia-open",
        repository="driver",
        versions=_ALL_DRIVERS,
        summary="NVIDIA driver meta-package, open kernel modules",
        depends=("nvidia-driver-cuda (= {version})", "nvidia-kernel-open-dkms (= {version})", "nvidia-persistenced (= {version})"),
    ),
    Package(
        name="nvidia-driver-cuda",
        repository="driver",
        versions=_ALL_DRIVERS,
        summary="NVIDIA driver for computing",
        depends=("libnvidia-ml1 (= {version})", "libcuda1 (= {version})", "python3"),
        programs={"usr/bin/nvidia-smi": "driver/nvidia_smi.py"},
    ),
    Package(
        name="libnvidia-ml1",
        repository="driver",
        versions=_ALL_DRIVERS,
        summary="NVIDIA management library",
        files={f"{LIBRARIES}/libnvidia-ml.so.{{upstream}}": "driver/libnvidia-ml.so"},
        links={f"{LIBRARIES}/libnvidia-ml.so.1": "libnvidia-ml.so.{upstream}"},
    ),
    Package(
        name="libcuda1",
        repository="driver",
        versions=_ALL_DRIVERS,
        summary="NVIDIA CUDA driver library",
        files={f"{LIBRARIES}/libcuda.so.{{upstream}}": "driver/libcuda.so"},
        links={f"{LIBRARIES}/libcuda.so.1": "libcuda.so.{upstream}"},
    ),
    Package(
        name="nvidia-persistenced",
        repository="driver",
        versions=_ALL_DRIVERS,
        summary="NVIDIA persistence daemon",
        depends=("nvidia-kernel-open-dkms (= {version})", "python3"),
        files={"lib/systemd/system/nvidia-persistenced.service": "driver/nvidia-persistenced.service"},
        programs={"usr/bin/nvidia-persistenced": "driver/nvidia_persistenced.py"},
        scripts={"postinst": "driver/persistenced.postinst", "prerm": "driver/persistenced.prerm"},
    ),
    Package(
        name="nvidia-kernel-open-dkms",
        repository="driver",
        versions=DRIVER_VERSIONS,
        summary="NVIDIA open kernel modules",
        depends=("kmod",),
        files={"usr/lib/modprobe.d/nvidia.conf": "driver/nvidia.conf", "usr/src/nvidia-{upstream}/dkms.conf": "driver/dkms.conf"},
        scripts={"postinst": "driver/kernel.postinst", "prerm": "driver/kernel.prerm"},
        kernel_modules=True,
    ),
    Package(
        name="nvidia-kernel-open-dkms",
        repository="driver",
        versions=(FAILING_DRIVER_VERSION,),
        summary="NVIDIA open kernel modules, which don't compile",
        depends=("kmod",),
        files={"usr/lib/modprobe.d/nvidia.conf": "driver/nvidia.conf", "usr/src/nvidia-{upstream}/dkms.conf": "driver/dkms.conf"},
        scripts={"postinst": "driver/kernel-failing.postinst", "prerm": "driver/kernel.prerm"},
    ),
    Package(
        name="libnvidia-container1",
        repository="toolkit",
        versions=TOOLKIT_VERSIONS,
        summary="NVIDIA container library",
        files={f"{LIBRARIES}/libnvidia-container.so.{{upstream}}": "toolkit/libnvidia-container.so"},
        links={f"{LIBRARIES}/libnvidia-container.so.1": "libnvidia-container.so.{upstream}"},
    ),
    Package(
        name="libnvidia-container-tools",
        repository="toolkit",
        versions=TOOLKIT_VERSIONS,
        summary="NVIDIA container library (command-line tools)",
        depends=("libnvidia-container1 (= {version})", "python3"),
        programs={"usr/bin/nvidia-container-cli": "toolkit/nvidia_container_cli.py"},
    ),
    Package(
        name="nvidia-container-toolkit-base",
        repository="toolkit",
        versions=TOOLKIT_VERSIONS,
        summary="NVIDIA container toolkit base",
        depends=("python3",),
        files={
            "usr/bin/nvidia-cdi-hook": "toolkit/nvidia-cdi-hook",
            "lib/systemd/system/nvidia-cdi-refresh.service": "toolkit/nvidia-cdi-refresh.service",
            "lib/systemd/system/nvidia-cdi-refresh.path": "toolkit/nvidia-cdi-refresh.path",
        },
        programs={
            "usr/bin/nvidia-container-runtime": "toolkit/nvidia_container_runtime.py",
            "usr/lib/nvidia-container-toolkit/cdi-refresh": "toolkit/cdi_refresh.py",
        },
        scripts={"postinst": "toolkit/base.postinst", "prerm": "toolkit/base.prerm", "postrm": "toolkit/base.postrm"},
        real_toolkit=True,
    ),
    Package(
        name="nvidia-container-toolkit",
        repository="toolkit",
        versions=TOOLKIT_VERSIONS,
        summary="NVIDIA container toolkit",
        depends=("nvidia-container-toolkit-base (= {version})", "libnvidia-container-tools (= {version})"),
        files={"usr/bin/nvidia-container-runtime-hook": "toolkit/nvidia-container-runtime-hook"},
    ),
)
