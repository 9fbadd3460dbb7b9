# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Which finding follows from which.

Only the next step of a chain is listed: what follows from what follows is worked out. No code follows from itself, by whatever way.
"""

from __future__ import annotations

import typing as t

# A pod or a Job doesn't come to its end.
_WORK_FAILS = ("ContainerFailed", "DeadlineExceeded")
# The Node offers no GPU: which of the three depends on what it offered before and on whether a device plugin runs.
_NOT_OFFERED = ("AllGpusUnhealthyOrPluginDown", "PluginNotRegistered", "GpuResourceNotAdvertised")
# Nothing on the node can talk to a driver.
_NO_DRIVER = (
    "DevicePluginNvmlBroken", *_NOT_OFFERED, "GpuCountMismatch", "CdiSpecStale", "CdiDeviceUnresolvable", "FabricManagerNotReady", "CudaNoDevice",
    "DriverTooOldOrNotInjected", "MpsRootMissing", "OperandNotReady",
)
# A GPU stopped working while it was in use.
_GPU_GONE = ("GpuCountMismatch", "DeviceUnhealthy", "AllGpusUnhealthyOrPluginDown", "CdiSpecStale", "CudaNoDevice", "ContainerLostGpu", "ContainerFailed")
# The kubelet or the scheduler has no device for a pod.
_NO_DEVICE_LEFT = ("DeviceUnavailable", "InsufficientResource", "DeadlineExceeded")

_DRIVER = {
    "NoGpu": ("NoGpuBoundToDriver", "GpuCountMismatch", "StaleLabels", "DevicePluginNvmlBroken", *_NOT_OFFERED),
    "RepositoryUnreachable": ("DriverNotInstalled", "ToolkitNotInstalled"),
    "PackagesInterrupted": ("DriverNotInstalled", "DriverNotLoaded", "DriverLibraryMismatch", "ToolkitNotInstalled", "ToolkitVersionMixed"),
    "DriverNotInstalled": _NO_DRIVER,
    "DriverNotLoaded": _NO_DRIVER,
    "DriverConflict": ("DriverNotLoaded", "NoGpuBoundToDriver", "GpuInitFailed", "GpuCountMismatch"),
    "BoundToVfio": ("DriverNotLoaded", "NoGpuBoundToDriver", "GpuCountMismatch", *_NOT_OFFERED),
    "ModuleSignatureRejected": ("DriverNotLoaded",),
    "DriverUnsupported": ("DriverNotLoaded", "NoGpuBoundToDriver", "GpuInitFailed", "GpuCountMismatch"),
    "DriverLibraryMismatch": (
        "DevicePluginNvmlBroken", "CdiSpecStale", "FabricManagerNotReady", "CudaNoDevice", "DriverTooOldOrNotInjected", "OperandNotReady", *_WORK_FAILS,
    ),
    "DriverInUse": ("OperandsPaused", "OperandNotReady"),
    "NoGpuBoundToDriver": _NO_DRIVER,
    "PciBarNotAssigned": ("GpuInitFailed", "NoGpuBoundToDriver", "GpuCountMismatch"),
    "GpuFallenOffBus": (
        "GpuLost", "GpuHandleError", "GpuInitFailed", "XidCritical", "NvidiaSmiTimeout", "GpuResetRequired", "NodeRebootRequired", "NoGpuBoundToDriver",
        *_GPU_GONE,
    ),
    "GpuInitFailed": ("GpuHandleError", "NoGpuBoundToDriver", "GpuCountMismatch", "CdiSpecStale"),
    "EccUncorrectable": ("XidCritical", "GpuResetRequired", "NodeRebootRequired", "DeviceUnhealthy", "ContainerFailed"),
    "XidCritical": ("GpuLost", "GpuHandleError", "NvidiaSmiTimeout", "GpuResetRequired", "NodeRebootRequired", *_GPU_GONE),
    "GpuLost": ("GpuHandleError", "GpuResetRequired", *_GPU_GONE),
    "GpuHandleError": ("DevicePluginNvmlBroken", *_GPU_GONE),
    "GpuResetRequired": ("DeviceUnhealthy", "AllGpusUnhealthyOrPluginDown", "ContainerFailed"),
    "NodeRebootRequired": ("DevicePluginNotReloaded",),
    "NvidiaSmiTimeout": ("DevicePluginNvmlBroken", "DeviceUnhealthy", *_NOT_OFFERED, "DeadlineExceeded"),
    "FabricManagerNotReady": ("FabricNotReady", "FabricError", "ContainerFailed"),
    "FabricNotReady": ("ContainerFailed",),
    "FabricError": ("XidCritical", "ContainerFailed"),
    "VgpuUnlicensed": ("CudaDeviceBusy", "ContainerLostGpu"),
    "KnownDriverIssue": ("DeadlineExceeded",),
}

_RUNTIME = {
    "RuntimeNotInstalled": ("NodeNotReady", "RuntimeHandlerMissing"),
    "ConfigInvalid": ("RuntimeNotRunning", "CriPluginDisabled", "RuntimeHandlerMissing", "DaemonNotUsingConfig", "ToolkitNotInjecting", "ContainerFailed"),
    "RuntimeConfigOverwritten": ("DefaultRuntimeUndefined", "DaemonNotUsingConfig", "RuntimeHandlerMissing"),
    "DefaultRuntimeUndefined": ("CriPluginDisabled", "RuntimeHandlerMissing"),
    "RuntimeTypeMissing": ("CriPluginDisabled", "RuntimeHandlerMissing", *_WORK_FAILS),
    "CriPluginDisabled": ("NodeNotReady", "RuntimeHandlerMissing"),
    "RuntimeNotRunning": ("NodeNotReady", *_NOT_OFFERED),
    "CgroupDriverMismatch": ("ContainerLostGpu",),
    "DropInNotImported": ("RuntimeHandlerMissing", "ToolkitNotInjecting"),
    "DaemonNotUsingConfig": ("RuntimeHandlerMissing", "ToolkitNotInjecting", "CdiDeviceUnresolvable"),
    "ToolkitNotInstalled": ("RuntimeHandlerMissing", "ToolkitNotInjecting", "CdiDeviceUnresolvable"),
    "ToolkitVersionMixed": ("ToolkitNotInjecting", "ContainerFailed"),
    "RuntimeHandlerMissing": (*_NOT_OFFERED, "OperandNotReady", *_WORK_FAILS),
    "RuntimeTooOld": ("CdiDeviceUnresolvable", "ToolkitNotInjecting"),
    "DriverRootMismatch": ("CdiDeviceUnresolvable", "ToolkitNotInjecting", "DevicePluginNvmlBroken"),
    "EnvVarDevicesNotAllowed": ("ToolkitNotInjecting",),
    "ToolkitNotInjecting": ("DevicePluginNvmlBroken", "DriverTooOldOrNotInjected", "CudaNoDevice", *_WORK_FAILS),
    "CdiSpecStale": ("CdiDeviceUnresolvable", "DriverTooOldOrNotInjected", "CudaNoDevice", *_WORK_FAILS),
    "CdiSpecInvalid": ("CdiDeviceUnresolvable",),
    "CdiDeviceUnresolvable": _WORK_FAILS,
}

_PODS = {
    "NodeNotReady": (*_NOT_OFFERED, "PodEvicted", *_NO_DEVICE_LEFT),
    "PluginConflict": (*_NOT_OFFERED, *_NO_DEVICE_LEFT),
    "DevicePluginNvmlBroken": _NOT_OFFERED,
    "DevicePluginNotReloaded": ("InsufficientResource",),
    "AllGpusUnhealthyOrPluginDown": ("DeviceUnhealthy", *_NO_DEVICE_LEFT),
    "PluginNotRegistered": _NO_DEVICE_LEFT,
    "GpuResourceNotAdvertised": _NO_DEVICE_LEFT,
    "DeviceUnhealthy": (*_NO_DEVICE_LEFT, "ContainerFailed"),
    "DeviceUnavailable": _WORK_FAILS,
    "InsufficientResource": ("DeadlineExceeded",),
    "InsufficientCpu": ("DeadlineExceeded",),
    "InsufficientMemory": ("DeadlineExceeded",),
    "SharedRequestTooLarge": _WORK_FAILS,
    "ResourceRenamed": ("DeadlineExceeded",),
    "UntoleratedTaint": ("GpuResourceNotAdvertised", "DeadlineExceeded"),
    "NodeCordoned": ("DeadlineExceeded",),
    "AffinityMismatch": ("DeadlineExceeded",),
    "RuntimeClassMissing": ("DeadlineExceeded",),
    "QuotaExceeded": ("DeadlineExceeded",),
    "QuotaRequiresRequests": ("DeadlineExceeded",),
    "PodSecurityViolation": (*_NOT_OFFERED, "OperandNotReady", "DeadlineExceeded"),
    "AdmissionWebhookDenied": ("DeadlineExceeded",),
    "ReferencedObjectMissing": _WORK_FAILS,
    "ImagePullFailed": _WORK_FAILS,
    "ImageNeedsNewerDriver": _WORK_FAILS,
    "DriverTooOldOrNotInjected": _WORK_FAILS,
    "CudaNoDevice": _WORK_FAILS,
    "CudaDeviceBusy": _WORK_FAILS,
    "CudaOutOfMemory": _WORK_FAILS,
    "CudaApplicationError": _WORK_FAILS,
    "ContainerLostGpu": _WORK_FAILS,
    "ContainerOutOfMemory": _WORK_FAILS,
    "PodEvicted": _WORK_FAILS,
    "ContainerFailed": ("DeadlineExceeded",),
}

_CLUSTER = {
    "FinalizerOrphaned": ("HelmOwnershipConflict", "HelmReleaseNotFoundOrFailed"),
    "HelmOwnershipConflict": ("HelmReleaseNotFoundOrFailed",),
    "HelmReleaseNotFoundOrFailed": ("NoGpuNodes", "OperandNotReady", "GpuResourceNotAdvertised"),
    "CrdOutdated": ("OperandNotReady", *_NOT_OFFERED),
    "NfdLabelFormatMismatch": ("NoGpuNodes", "GpuResourceNotAdvertised"),
    "NoGpuNodes": ("GpuResourceNotAdvertised",),
    "DriverImageNotFound": ("DriverNotInstalled", "DriverNotLoaded", "OperandNotReady"),
    "DriverPodDeletedManually": ("DriverInUse", "OperandNotReady"),
    "DrainBlockedByPdb": ("NodeCordoned", "DriverInUse", "GpuInUse"),
    "DrainBlockedByPod": ("NodeCordoned", "DriverInUse", "GpuInUse"),
    "StaleUpgradeLabels": ("NodeCordoned",),
    "GpuInUse": ("OperandsPaused",),
    "MigManagerWedged": ("OperandsPaused", "DevicePluginNotReloaded", *_NOT_OFFERED),
    "MigLayoutIncomplete": ("InsufficientResource",),
    "OperandsPaused": ("OperandNotReady", *_NOT_OFFERED),
    "OperandNotReady": _NOT_OFFERED,
    "SharingConfigInvalid": (*_NOT_OFFERED, "InsufficientResource"),
    "SharingConfigNotSelected": ("InsufficientResource",),
    "SharingConfigNotMounted": ("InsufficientResource",),
    "MpsRootMissing": _NOT_OFFERED,
}

CONSEQUENCES: t.Mapping[str, t.Tuple[str, ...]] = {**_DRIVER, **_RUNTIME, **_PODS, **_CLUSTER}
