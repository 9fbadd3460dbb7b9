# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.catalogue import CATALOGUE
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.messages import recognise, text_finding

TEXTS = {
    'failed quota: q: must specify limits.cpu for: c; requests.memory for: c': "QuotaRequiresRequests",
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
}


@pytest.mark.parametrize("text", TEXTS)
def test_wordings(text: str) -> None:
    found = text_finding(f"a line before\n{text}\na line after", where="a log", kind="pod", name="p")
    assert found is not None
    assert found["code"] == TEXTS[text]
    assert found["evidence"] == [{"where": "a log", "text": text}]
    assert found["severity"] == "error"


@given(st.text())
def test_any_text_is_known_or_not(text: str) -> None:
    found = recognise(text)
    assert found is None or found.code in CATALOGUE


@pytest.mark.parametrize("text", [None, "", "Test PASSED", "would violate PodSecurity \"restricted:v1.24\": privileged"])
def test_texts_that_mean_no_harm(text: str | None) -> None:
    assert recognise(text) is None
