# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the driver, NVML, CUDA and frameworks on top of it say."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.wording import Wording

SAID_BY_DRIVER = (
    Wording("DriverLibraryMismatch", r"[Dd]river/library version mismatch", "driver module and user-space libraries have different versions"),
    Wording(
        "DriverNotLoaded",
        r"nvml error: driver not loaded|Failed to initialize NVML: Driver Not Loaded|couldn't communicate with the NVIDIA driver|ERROR_DRIVER_NOT_LOADED",
        "the driver isn't loaded on the node",
    ),
    Wording("ContainerLostGpu", r"Failed to initialize NVML: Unknown Error", "the container can no longer open its GPU"),
    Wording(
        "ToolkitNotInjecting",
        r"libnvidia-ml\.so[.\d]*: cannot open|couldn't find libnvidia-ml\.so|could not load NVML library"
        r"|load library failed: libnvidia|ERROR_LIBRARY_NOT_FOUND",
        "the driver's libraries can't be loaded in the container",
    ),
    Wording("ToolkitNotInjecting", r"libcuda\.so[.\d]*: cannot open shared object file", "the driver's libraries aren't in the container"),
    Wording("NvidiaSmiTimeout", r"driver rpc error: timed out", "the driver doesn't answer in time"),
    Wording("GpuFallenOffBus", r"GPU has fallen off the bus", "the GPU fell off the bus"),
    Wording("GpuLost", r"GPU is lost", "the driver lost the GPU"),
    Wording("GpuLost", r"nvidia-container-cli: device error: (?P<device>[^:\n]+): unknown device", "the driver has no device {device} any more"),
    Wording("GpuHandleError", r"Unable to determine the device handle for", "the driver gives no handle for the GPU"),
    Wording("NoGpuBoundToDriver", r"No devices were found", "the driver answers and has no device"),
)

SAID_BY_CUDA = (
    Wording(
        "FabricManagerNotReady",
        r"system not yet initialized|cudaErrorSystemNotReady|CUDA_ERROR_SYSTEM_NOT_READY",
        "CUDA waits for the NVLink fabric",
    ),
    Wording("ImageNeedsNewerDriver", r"unsatisfied condition: cuda ?>= ?(?P<cuda>[\d.]+)", "the image needs a driver for CUDA {cuda}"),
    Wording(
        "ImageNeedsNewerDriver",
        r"The NVIDIA driver on your system is too old \(found version (?P<found>\d+)\)",
        "the image needs a newer driver than one for CUDA API {found}",
    ),
    Wording(
        "ImageNeedsNewerDriver",
        r"forward compatibility was attempted on non supported HW|unsupported display driver / cuda driver combination",
        "the image's CUDA compatibility library doesn't work with the node's driver",
    ),
    Wording(
        "DriverTooOldOrNotInjected",
        r"CUDA driver version is insufficient for CUDA runtime version|cudaErrorInsufficientDriver|Found no NVIDIA driver on your system",
        "CUDA found no driver or one that is too old for the image",
    ),
    Wording(
        "CudaNoDevice",
        r"no CUDA-capable device is detected|No CUDA GPUs are available|cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE",
        "CUDA sees no device",
    ),
    Wording(
        "CudaDeviceBusy",
        r"all CUDA-capable devices are busy or unavailable|CUDA-capable device\(s\) is/are busy or unavailable|cudaErrorDevicesUnavailable",
        "CUDA can't open the GPU: another process has it",
    ),
    Wording(
        "EccUncorrectable",
        r"uncorrectable ECC error encountered|cudaErrorECCUncorrectable|CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA met memory errors that ECC could not correct",
    ),
    Wording("CudaOutOfMemory", r"CUDA out of memory|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY", "the program asked for more GPU memory than is free"),
    Wording(
        "CudaApplicationError",
        r"(?P<error>an illegal memory access was encountered|unspecified launch failure|device-side assert triggered|misaligned address"
        r"|an illegal instruction was encountered|no kernel image is available for execution on the device)",
        "its own program failed on the GPU: {error}",
    ),
)
