# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What NVIDIA's components for Kubernetes say in their logs, and Helm and kubectl about them."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.wording import Wording

_REPLICAS = "the sharing configuration has replicas below 2"
_MPS_MIG = "MPS is asked for on MIG devices"
_IN_USE = "a client holds the GPU"
_NO_PLATFORM = "the component found neither NVML's library nor a Tegra system: nobody put the driver's libraries into its container"

# Device plugin, GPU feature discovery, MPS control daemon, config manager.
SAID_BY_PLUGIN = (
    Wording("SharingConfigInvalid", r"number of replicas must be >= 2", _REPLICAS, since="device plugin 0.12"),
    Wording(
        "SharingConfigInvalid",
        r"using --mig-strategy=mixed is not supported with MPS|MPS sharing is not supported for MIG devices",
        _MPS_MIG,
        since="device plugin 0.15",
    ),
    Wording(
        "SharingConfigInvalid",
        r"(?:error parsing config file|unable to parse config file|unable to finalize config): (?P<reason>[^\n]*(?:unmarshal|unknown|invalid|missing)[^\n]*)",
        "its configuration is refused: {reason}",
        since="device plugin 0.10",
    ),
    Wording("SharingConfigNotSelected", r"specified config (?P<config>\S+) does not exist", "the node's label names {config}, which the ConfigMap lacks"),
    Wording("MpsRootMissing", r"using MPS requires --mps-root to be specified", "MPS is configured without --mps-root", since="device plugin 0.15"),
    Wording(
        "MpsRootMissing",
        r"error (?:checking|waiting for) MPS daemon(?: health)?|failed to (?:start|connect to) MPS (?:control )?daemon",
        "the MPS control daemon doesn't answer",
        since="device plugin 0.15",
    ),
    Wording("ToolkitNotInjecting", r"Incompatible strategy detected auto", _NO_PLATFORM, since="device plugin 0.16"),
    Wording("ToolkitNotInjecting", r"Incompatible platform detected|Detected non-NVML platform: could not load NVML", _NO_PLATFORM, until="device plugin 0.15"),
    Wording("DriverLibraryMismatch", r"ERROR_LIB_RM_VERSION_MISMATCH", "driver module and user-space libraries have different versions"),
    Wording(
        "DevicePluginNvmlBroken",
        r"error getting GPU device minor number: Not Supported",
        "NVML gives no minor number for the GPU, as on WSL, and this version of the plugin needs one",
    ),
    Wording(
        "DevicePluginNvmlBroken",
        r"(?:[Ff]ailed to initialize NVML|nvml init failed|error (?:initializing|querying) NVML)[^\n]*?"
        r"(?P<error>ERROR_(?!LIBRARY_NOT_FOUND|DRIVER_NOT_LOADED)[A-Z_]+|Insufficient Permissions)",
        "NVML can't be initialised: {error}",
    ),
    Wording("DeviceUnhealthy", r"XidCriticalError: Xid=(?P<xid>\d{1,6}) on Device=(?P<device>[\w-]+)", "Xid {xid} made the device {device} unhealthy"),
    Wording("DeviceUnhealthy", r"'(?P<resource>nvidia\.com/[\w.-]+)' device marked unhealthy: (?P<device>\S+)", "{resource}: the device {device} is unhealthy"),
)

SAID_BY_MIG_MANAGER = (
    Wording("GpuInUse", r"GPU (?P<gpu>[0-9A-Fa-f:.]+): In use by another client", "{gpu} can't be reset, because a client holds it"),
    Wording("GpuInUse", r"In use by another client|currently being used by one or more other processes", _IN_USE),
    Wording("NodeRebootRequired", r"Mode change pending: true|At least one mode change pending", "a change of the MIG mode waits for a reset or reboot"),
    Wording(
        "MigManagerWedged",
        r"timed out waiting for the condition on pods/(?P<pod>nvidia[\w-]+|gpu-feature-discovery[\w-]+)",
        "it gave up waiting for {pod} to end",
    ),
)

SAID_BY_DRIVER_MANAGER = (
    Wording("DriverInUse", r"Could not unload NVIDIA driver kernel modules, driver is in use", "the driver's modules can't be unloaded: clients hold them"),
    Wording("DriverInUse", r"rmmod: ERROR: Module (?P<module>nvidia\w*) is in use", "the module {module} can't be unloaded, because it is in use"),
    Wording(
        "DriverPodDeletedManually",
        r"Auto (?:eviction of GPU pods on node|drain of the node) (?P<node>\S+) is disabled by the upgrade policy",
        "it may neither evict pods from {node} nor drain it, so that nobody prepared the node for the driver's restart",
    ),
)

SAID_BY_OPERANDS = (
    Wording(
        "DriverRootMismatch",
        r"nvidia-container-cli\.real: initialization error: load library failed: (?P<library>libnvidia-ml[\w.]*)",
        "the operator's toolkit finds no {library} below the driver root that it was given",
    ),
    Wording("ConfigInvalid", r"unable to configure the Docker daemon with file (?P<path>\S+): (?P<reason>[^\n]+)", "Docker refuses {path}: {reason}"),
)

SAID_BY_HELM = (
    Wording(
        "HelmOwnershipConflict",
        r"(?P<kind>[A-Z]\w+) \"(?P<name>[^\"\n]+)\" in namespace \"(?P<namespace>[^\"\n]*)\" exists and cannot be imported into the current release",
        "{kind} {name} exists already and doesn't belong to the release",
    ),
    Wording(
        "HelmOwnershipConflict",
        r"(?P<kind>[A-Z]\w+) \"(?P<name>[^\"\n]+)\" already exists",
        "{kind} {name} exists already",
        until="Helm 3.1",
    ),
    Wording("HelmReleaseNotFoundOrFailed", r"\"(?P<release>[^\"\n]+)\" has no deployed releases", "the release {release} was never deployed"),
    Wording("HelmReleaseNotFoundOrFailed", r"Error: (?:\S+ )*release: not found", "the release doesn't exist"),
    Wording("HelmReleaseNotFoundOrFailed", r"another operation \(install/upgrade/rollback\) is in progress", "an earlier attempt never ended"),
    Wording("HelmReleaseNotFoundOrFailed", r"cannot re-use a name that is still in use", "a release of that name exists, deployed or failed"),
    Wording(
        "CrdOutdated",
        r"no matches for kind \"(?P<kind>[^\"\n]+)\" in version \"(?P<version>nvidia\.com/[^\"\n]+)\"",
        "the API server knows no {kind} of {version}",
    ),
    Wording(
        "CrdOutdated",
        r"(?:ClusterPolicy|NVIDIADriver|GPUCluster)[^\n]*unknown field \"(?P<field>[^\"\n]+)\"",
        "the API server's CRD has no field {field}",
    ),
)
# Of `helm list` and `helm history`: a release's last status.
HELM_STATUSES = ("failed", "pending-install", "pending-upgrade", "pending-rollback")

# What a component writes once it works: what it complained of before is over.
RECOVERED = r"Registered device plugin for '[^']+' with Kubelet|all validations are successful|Successfully updated to MIG config"

# Words by which the log of a component is known, whatever it says.
SIGNATURES = (
    r"Starting (?:NVIDIA Device Plugin|GPU Feature Discovery|FS watcher)|[Dd]evice[ -]plugin|NVML manager|Detected platform: |Retrieving plugins|"
    r"Incompatible (?:strategy|platform) detected|Detected non-NVML platform|gpu-feature-discovery|main\.go:\d+\] error starting plugins|"
    r"unable to load config: |Unable to load resource managers|failed to initialize NVML: |"
    r"Walking MigConfig|MIG configuration|mig-parted|mig\.config|MIG capable: |Mode change pending|"
    r"Auto (?:eviction|drain) of |GPU Operator components|nvidia-driver: |Unloading NVIDIA driver|"
    r"nvidia-container-toolkit-daemonset|level=\w+ msg=\"(?:Starting '?nvidia|Installing)"
)
