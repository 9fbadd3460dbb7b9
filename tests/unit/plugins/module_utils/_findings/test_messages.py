# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import WORDINGS, recognise, text_finding

TEXTS = {
    "failed quota: q: must specify limits.cpu for: c; requests.memory for: c": "QuotaRequiresRequests",
    "ValidatingAdmissionPolicy 'gpu' with binding 'gpu-all' denied request: no toleration": "AdmissionWebhookDenied",
    "failed to find runtime handler nvidia from runtime list map[crun:0xc0 runc:0xc1]": "RuntimeHandlerMissing",
    'exec: "nvidia-container-runtime": executable file not found in $PATH': "ToolkitNotInstalled",
    "invalid allocation request: maximum request size for shared resources is 1; found 2": "SharedRequestTooLarge",
    "nvidia-container-cli: initialization error: nvml error: driver not loaded": "DriverNotLoaded",
    "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file": "ToolkitNotInjecting",
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.5, please update your driver": "ImageNeedsNewerDriver",
    "CUDA error: all CUDA-capable devices are busy or unavailable": "CudaDeviceBusy",
    "Failed to initialize NVML: Driver/library version mismatch": "DriverLibraryMismatch",
    "error code system not yet initialized": "FabricManagerNotReady",
    "Unable to determine the device handle: GPU is lost.  Reboot the system": "GpuLost",
    "No devices were found": "NoGpuBoundToDriver",
    'pods "p" is forbidden: no PriorityClass with name high was found': "ReferencedObjectMissing",
    'failed to get sandbox runtime: runtimeclass.node.k8s.io "nvidia" not found': "RuntimeClassMissing",
    'error when evicting pod "etcd-0": Cannot evict pod as it would violate the pod\'s disruption budget.': "DrainBlockedByPdb",
    "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): kube-system/plugin-1": "DrainBlockedByPod",
    "request for 'nvidia.com/gpu: 2' too large: maximum request size for shared resources is 1": "SharedRequestTooLarge",
    "Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 8, capacity: 8": "DeviceUnavailable",
    'MountVolume.SetUp failed for volume "config" : configmap "time-slicing" not found': "ReferencedObjectMissing",
    "docker: Error response from daemon: Unknown runtime specified nvidia.": "RuntimeHandlerMissing",
    "docker: Error response from daemon: unknown or invalid runtime name: nvidia": "RuntimeHandlerMissing",
    'could not select device driver "" with capabilities: [[gpu]].': "ToolkitNotInstalled",
    "error running createRuntime hook #0: fork/exec /usr/bin/nvidia-ctk: no such file or directory": "ToolkitNotInstalled",
    'error mounting "/usr/lib64/libcuda.so.535.54.03" to rootfs at "/usr/lib64/libcuda.so": no such file or directory': "CdiSpecStale",
    'error gathering device information while adding custom device "/dev/nvidia3": no such file or directory': "CdiSpecStale",
    "insufficient privileges to read device list from NVIDIA_VISIBLE_DEVICES envvar": "EnvVarDevicesNotAllowed",
    "failed to generate spec: lstat /run/nvidia/driver/dev/nvidiactl: no such file or directory": "DriverRootMismatch",
    'runc create failed: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups': "CgroupDriverMismatch",
    "rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService": "CriPluginDisabled",
    'desc = "transport: Error while dialing dial unix /run/containerd/containerd.sock: connect: connection refused"': "RuntimeNotRunning",
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).": "ImageNeedsNewerDriver",
    "Error 803: system has unsupported display driver / cuda driver combination": "ImageNeedsNewerDriver",
    "RuntimeError: Found no NVIDIA driver on your system.": "DriverTooOldOrNotInjected",
    "RuntimeError: No CUDA GPUs are available": "CudaNoDevice",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB": "CudaOutOfMemory",
    "RuntimeError: CUDA error: device-side assert triggered": "CudaApplicationError",
    "RuntimeError: CUDA error: uncorrectable ECC error encountered": "EccUncorrectable",
    "nvidia-container-cli: device error: GPU-0000: unknown device": "GpuLost",
    "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory": "ToolkitNotInjecting",
}


@pytest.mark.parametrize("text", TEXTS)
def test_wordings(text: str) -> None:
    found = text_finding(f"a line before\n{text}\na line after", where="a log", kind="pod", name="p")
    assert found is not None
    assert found["code"] == TEXTS[text]
    assert found["evidence"] == [{"where": "a log", "text": text}]
    assert found["severity"] == "error"


def test_every_wording_names_a_known_code_and_only_values_that_it_finds() -> None:
    for wording in WORDINGS:
        assert wording.code in CATALOGUE
        names = {name: name for name in re.compile(wording.pattern).groupindex}
        assert wording.summary.format(**names)


@given(st.text())
def test_any_text_is_known_or_not(text: str) -> None:
    found = recognise(text)
    assert found is None or found.code in CATALOGUE


NO_CRIO = 'Registration of the crio container factory failed: Get "info": dial unix /var/run/crio/crio.sock: connect: no such file or directory'


@pytest.mark.parametrize("text", [NO_CRIO, None, "", "Test PASSED", 'would violate PodSecurity "restricted:v1.24": privileged'])
def test_texts_that_mean_no_harm(text: str | None) -> None:
    assert recognise(text) is None
