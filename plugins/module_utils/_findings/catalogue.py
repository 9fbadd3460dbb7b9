# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release.

Every finding code, once. A code is one cause with one remedy; it is never renamed.
"""

from __future__ import annotations

import typing as t

ERROR = "error"
WARNING = "warning"
INFO = "info"


class CatalogueEntry(t.NamedTuple):
    """What is always true of a code; the values found go into the finding.

    :param severity: ``error`` (GPU work fails here), ``warning`` (it will, or partly does) or ``info``.
    :param cause: why this happens.
    :param next_step: what to do now: a command or a role variable.
    :param retryable: true where waiting may cure it.
    """

    severity: str
    cause: str
    next_step: str
    retryable: bool


# (code, severity, cause, next step)
_NODE = (
    ("NoGpu", ERROR, "No NVIDIA display controller answers on the PCI bus and the platform is none that hides one.",
     "Check the card's seating and power, the firmware's PCIe settings, or the virtual machine's pass-through; else take the node out of the GPU group."),
    ("DriverNotInstalled", ERROR, "There is a GPU, but neither a driver package nor a driver module on this node.", "Run the role gpu_driver on the node."),
    ("DriverNotLoaded", ERROR,
     "The driver is installed, but its kernel module isn't loaded: not yet, or it could not be built or loaded for the running kernel.",
     "Run `modprobe nvidia` and read its message and `dmesg | grep NVRM`; after a kernel update reboot or rebuild the module (`dkms status`)."),
    ("PackagesInterrupted", WARNING, "Installing or removing driver or toolkit packages was interrupted half-way, or is going on right now.",
     "Once no package manager runs any more: `dpkg --configure -a`, then run the role again."),
    ("DriverConflict", ERROR, "Another kernel driver owns the GPU, so that NVIDIA's can't bind to it.",
     "Blacklist that driver in /etc/modprobe.d, rebuild the initramfs and reboot."),
    ("BoundToVfio", WARNING, "The GPU is bound to vfio-pci: it is reserved for virtual machines and no container can use it.",
     "Leave the node to the virtual machines, or unbind the GPU from vfio-pci and remove its ids from the vfio-pci options."),
    ("DriverLibraryMismatch", ERROR,
     "The user-space libraries were replaced while the kernel module of another version stayed loaded (or the module was never rebuilt).",
     "Drain the node, then reboot it; if they still differ, reinstall the kernel module package. gpu_driver_hold: true prevents a repeat."),
    ("ModuleSignatureRejected", ERROR, "Secure Boot is on and the module isn't signed by a key that the firmware trusts.",
     "Enrol the module's key with `mokutil --import`, use the distribution's signed modules, or turn Secure Boot off."),
    ("DriverInUse", WARNING, "Processes or kernel modules hold the loaded driver, so it can't be unloaded or replaced.",
     "Drain GPU pods, stop nvidia-persistenced and monitoring agents, or plan a reboot."),
    ("DriverUnsupported", ERROR, "This driver branch or module flavour doesn't drive this GPU generation.",
     "Choose a branch and flavour that supports the GPU: gpu_driver_version and gpu_driver_packages."),
    ("NoGpuBoundToDriver", ERROR, "The driver is loaded and answers, but drives no device.", "Read `dmesg | grep NVRM` for the reason why the probe failed."),
    ("GpuCountMismatch", ERROR, "Fewer GPUs work than the PCI bus shows or the inventory expects.",
     "Compare `lspci -d 10de:` with `nvidia-smi -L`, read `dmesg | grep NVRM` for the missing address, and reseat or replace that GPU."),
    ("GpuLost", ERROR, "The driver lost contact with a GPU that it drove before.",
     "Drain the node and reboot it; if it happens again, have the GPU checked."),
    ("GpuFallenOffBus", ERROR, "The GPU no longer answers on the PCI bus (Xid 79): power, cooling, cabling or the card.",
     "Drain the node and power-cycle it; if it happens again, have the GPU replaced."),
    ("GpuHandleError", ERROR, "The driver can't give a handle for a GPU: the device is in a failed state.", "Drain the node and reset the GPU or reboot."),
    ("GpuInitFailed", ERROR, "The driver found the GPU, but its initialisation failed.",
     "Read `dmesg | grep NVRM`, power-cycle the node, try the other module flavour; else have the GPU checked."),
    ("PciBarNotAssigned", ERROR, "The firmware gave a memory window (BAR) of the GPU no address.",
     "Enable Above 4G Decoding and large BAR support in the firmware, or add `pci=realloc` to the kernel command line."),
    ("GpuResetRequired", ERROR, "The GPU reports that it needs a reset before it works reliably again.",
     "Drain the node, then `nvidia-smi --gpu-reset -i INDEX`, or reboot."),
    ("NodeRebootRequired", WARNING, "Something on the node takes effect, or heals, only with a reboot.", "Drain the node and reboot it."),
    ("InfoRomCorrupted", WARNING, "The GPU's infoROM fails its checksum; the GPU may still compute.",
     "Plan the GPU's replacement or a reflash with the vendor."),
    ("EccUncorrectable", ERROR, "The GPU's memory had errors that ECC could not correct, or row remapping is pending or has failed.",
     "Drain the node and reset the GPU so that the rows are remapped; replace the GPU if remapping failed."),
    ("XidCritical", ERROR, "The driver reported a hardware or driver fault (Xid) that isn't the application's.",
     "Look the Xid up in NVIDIA's catalogue; drain the node and reset the GPU."),
    ("NvidiaSmiTimeout", ERROR, "nvidia-smi doesn't answer in time: the driver or the GPU's firmware hangs. Facts are partial.",
     "Read `dmesg | grep -E 'NVRM|Xid'`; drain and reboot the node. Raise the option timeout where a big node is merely slow."),
    ("FabricManagerNotReady", ERROR,
     "The GPUs are joined by NVSwitches and the fabric isn't up: manager missing, stopped, of another version, or still at work.",
     "Install nvidia-fabricmanager of the driver's version and start it; `nvidia-smi -q | grep -A3 Fabric` must say Completed."),
    ("FabricNotReady", ERROR, "NVLink fabric is not available on a system that needs it.",
     "Check the NVLink domain's manager (IMEX, NVLSM) and the switch trays."),
    ("FabricError", ERROR, "The NVLink fabric reported a failure for this GPU.", "Read the fabric manager's log; the GPU or its switch needs attention."),
    ("VgpuUnlicensed", ERROR, "The vGPU guest has no licence, so its performance is throttled after some minutes.",
     "Configure the licence client (nvidia-gridd) with a valid token."),
    ("KnownDriverIssue", WARNING, "The driver version has a published fault that matches this node.", "Set gpu_driver_version to a version without it."),
)

_RUNTIME = (
    ("ConfigInvalid", ERROR, "A configuration file doesn't parse or holds a value of the wrong type.",
     "Correct the file at the place named; a restart with it would stop the service."),
    ("TemplateNotToml", INFO, "The file is a template of k3s or RKE2, not the configuration that runs.", "Read the generated config.toml beside it."),
    ("CriPluginDisabled", ERROR, "containerd runs without its CRI plugin (disabled, or it failed to load), so the kubelet can't use it.",
     "Remove the CRI plugin from disabled_plugins in containerd's configuration and restart containerd; else read `ctr plugins ls` and its log."),
    ("DefaultRuntimeUndefined", ERROR,
     "The default runtime names a handler that isn't defined. Before containerd 2.1 a drop-in replaces the CRI plugin's whole section, handlers included.",
     "Define that handler in the last file that has the section, or set default_runtime_name to one that exists; run the role gpu_toolkit."),
    ("RuntimeTypeMissing", ERROR, "A handler is defined without runtime_type, so its containers can't start.",
     'Set runtime_type = "io.containerd.runc.v2" for the handler; run the role gpu_toolkit.'),
    ("CgroupDriverMismatch", WARNING, "A handler doesn't use systemd cgroups where the kubelet does: containers are killed or lose their devices later.",
     "Set SystemdCgroup = true in the handler's options and restart the runtime."),
    ("DropInNotImported", ERROR, "A drop-in file defines a handler, but no `imports` pattern of containerd's configuration reads it.",
     "Add the drop-in's folder to imports, or move the file; gpu_toolkit_drop_in names where the role writes."),
    ("RuntimeConfigOverwritten", ERROR, "NVIDIA's entries were in the runtime's configuration and are gone: something regenerated the file.",
     "Run the role gpu_toolkit again and find what else writes that file."),
    ("DaemonNotUsingConfig", ERROR, "The configuration on disk is right, but the running daemon was started with another one.",
     "Restart the runtime: `systemctl restart containerd` (or docker)."),
    ("RuntimeHandlerMissing", ERROR, "The container runtime has no handler of that name.",
     "Run the role gpu_toolkit on the node, or correct the RuntimeClass's handler."),
    ("RuntimeNotRunning", ERROR, "The container runtime is installed, but nothing answers on its socket.",
     "Start it and read why it stopped: `systemctl restart containerd`, `journalctl -u containerd`."),
    ("RuntimeTooOld", ERROR, "The container runtime's version lacks what is asked of it.", "Upgrade the container runtime."),
    ("ToolkitNotInstalled", WARNING, "NVIDIA's container toolkit isn't installed: containers get neither devices nor libraries.",
     "Run the role gpu_toolkit on the node."),
    ("ToolkitVersionMixed", ERROR, "The toolkit's packages have different versions, which don't work together.",
     "Run the role gpu_toolkit: it installs all of them at gpu_toolkit_version."),
    ("ToolkitVulnerable", WARNING, "The toolkit is older than the version that closes published vulnerabilities.", "Raise gpu_toolkit_version."),
    ("ToolkitNotInjecting", ERROR, "Containers start without the GPU's devices or libraries: the NVIDIA runtime isn't in their path.",
     "Give the pod runtimeClassName: nvidia, or make that handler the default; check the toolkit on the node."),
    ("CdiSpecInvalid", ERROR, "A CDI specification can't be read by the runtime.", "Generate it again with `nvidia-ctk cdi generate`."),
    ("CdiSpecStale", ERROR, "The CDI specification describes another driver version or other devices than there are.",
     "Restart nvidia-cdi-refresh.service, or run `nvidia-ctk cdi generate`."),
    ("CdiDeviceUnresolvable", ERROR, "No CDI specification on the node names the device that was asked for.",
     "Compare with `nvidia-ctk cdi list`; generate the specification again."),
    ("EnvVarDevicesNotAllowed", ERROR, "The toolkit ignores NVIDIA_VISIBLE_DEVICES of unprivileged containers, and the device plugin uses just that.",
     "Use the device list strategy cdi-cri."),
    ("DriverRootMismatch", ERROR, "A component looks for the driver below another root than where it is.", "Give all components the same driver root."),
)

_POD = (
    ("GpuResourceNotAdvertised", ERROR, "No node offers the resource at all.", "Check the device plugin's pods and the nodes' drivers."),
    ("InsufficientResource", ERROR, "The resource is offered, but no node has enough of it free.", "Wait, free GPUs, ask for fewer, or add nodes."),
    ("InsufficientCpu", ERROR, "No node with free GPUs has the CPU that the pod asks for.", "Lower the pod's CPU request or free CPU."),
    ("InsufficientMemory", ERROR, "No node with free GPUs has the memory that the pod asks for.", "Lower the pod's memory request or free memory."),
    ("SharedRequestTooLarge", ERROR, "The pod asks for several replicas of a shared GPU, which the plugin's configuration forbids.", "Ask for one replica."),
    ("ResourceRenamed", ERROR, "The pool offers its GPUs under another resource name than the pod asks for.", "Ask for the resource that the nodes offer."),
    ("UntoleratedTaint", ERROR, "The nodes with GPUs carry a taint that the pod doesn't tolerate.", "Add the toleration to the pod, or remove the taint."),
    ("NodeCordoned", WARNING, "The node is marked unschedulable.", "Uncordon it when its maintenance is done."),
    ("NodeNotReady", ERROR, "The kubelet doesn't report the node as ready.", "Read the node's conditions and the kubelet's log."),
    ("AffinityMismatch", ERROR, "The pod's node selector or affinity excludes every node that could serve it.", "Correct the selector or label the nodes."),
    ("RuntimeClassMissing", ERROR, "The RuntimeClass that the pod names doesn't exist.", "Create it (role gpu_device_plugin), or name one that exists."),
    ("QuotaExceeded", ERROR, "The namespace's quota for the resource is used up.", "Free it, raise the quota, or use another namespace."),
    ("QuotaRequiresRequests", ERROR, "A quota makes requests or limits mandatory that the pod doesn't state.",
     "State them, or add a LimitRange with defaults."),
    ("PodSecurityViolation", ERROR, "The namespace's Pod Security level refuses the pod.",
     "Correct the pod's security context, or set the level that it needs on the namespace."),
    ("AdmissionWebhookDenied", ERROR, "A policy webhook refused the object.", "Follow the policy's message."),
    ("DeviceUnavailable", ERROR, "The kubelet had no free device left when the pod arrived.",
     "Delete the failed pod so that it is created again; after a reboot wait for the device plugin first."),
    ("DeviceUnhealthy", ERROR, "The kubelet refused the pod because the device plugin calls the devices unhealthy.",
     "Cure the GPU, restart the device plugin, then recreate the pod."),
    ("AllGpusUnhealthyOrPluginDown", ERROR, "The node has GPUs, but offers none: the device plugin is gone, or calls all of them unhealthy.",
     "Read the device plugin's log on that node."),
    ("PluginNotRegistered", ERROR, "The device plugin runs, but the node offers nothing.",
     "Read the plugin's log; check that its pod uses the NVIDIA runtime; restart it."),
    ("DevicePluginNvmlBroken", ERROR, "The device plugin can't initialise NVML: no driver, or its container didn't get the libraries.",
     "Check the driver and the plugin's runtimeClassName."),
    ("DevicePluginNotReloaded", WARNING, "The device plugin still offers the layout of before the change.", "Restart the device plugin's pods on the node."),
    ("ImagePullFailed", ERROR, "The image can't be pulled.", "Check the image's name, the registry and the pull secret."),
    ("ImageNeedsNewerDriver", ERROR, "The image's CUDA needs a newer driver than the node has.", "Upgrade the driver, or use an image with an older CUDA."),
    ("DriverTooOldOrNotInjected", ERROR, "CUDA in the container found no driver, or one that is too old for it.",
     "Check the pod's runtime class first, then the driver's version."),
    ("CudaNoDevice", ERROR, "CUDA in the container sees no device.", "Check that the container asks for the GPU and how devices are handed to it."),
    ("CudaDeviceBusy", ERROR, "The GPU is in exclusive use by another process.", "Find the process with nvidia-smi; set the compute mode to Default."),
    ("ContainerLostGpu", ERROR, "A running container lost its GPU: its cgroup was rewritten, as a systemd reload does.",
     "Recreate the pod; use CDI so that it doesn't happen again."),
    ("GpuIsolationBypass", WARNING, "A pod can reach GPUs that it was not given.",
     "Use the device list strategy cdi-cri and don't make nvidia the default runtime."),
    ("PluginConflict", ERROR, "More than one device plugin or driver serves the same devices on a node.",
     "Remove all but one, wait until its pods are gone, then restart the remaining one."),
    ("PrivilegedPod", INFO, "The pod is privileged and sees every device, so isolation can't be judged.", "Run it unprivileged."),
    ("DeadlineExceeded", WARNING, "The deadline ended it before it finished.", "Look at the finding that explains what it waited for."),
)

_CLUSTER = (
    ("NoGpuNodes", WARNING, "The operator is ready, but knows no node with a GPU.", "Check Node Feature Discovery and the nodes' PCI labels."),
    ("NfdLabelFormatMismatch", ERROR, "Node Feature Discovery writes PCI labels in a form that the operator doesn't read.",
     "Set deviceLabelFields to [vendor] for NFD's PCI source."),
    ("OperandsPaused", WARNING, "Labels hold the operands back while a driver or MIG change runs.", "Wait; if nothing moves, set the labels back to true."),
    ("StaleUpgradeLabels", WARNING, "Upgrade labels wait for a controller that doesn't manage these nodes.", "Remove the upgrade labels."),
    ("StaleLabels", WARNING, "GPU labels are left on a node that has no GPU.", "Remove the nvidia.com labels from the node."),
    ("CrdOutdated", ERROR, "The CRD is older than the objects applied, so new fields are dropped.", "Apply the CRDs of the installed version."),
    ("HelmOwnershipConflict", ERROR, "Objects of that name exist and belong to something else than this release.",
     "Remove them, or adopt them with Helm's labels and annotations."),
    ("HelmReleaseNotFoundOrFailed", ERROR, "The Helm release was never deployed, or its last attempt failed.",
     "Read `helm history`; roll back or uninstall it, then install again."),
    ("DriverImageNotFound", ERROR, "There is no driver image for this kernel and operating system.",
     "Choose another driver version, or install the driver on the host."),
    ("DriverPodDeletedManually", WARNING, "The driver's pod was deleted outside the upgrade flow, which is turned off.",
     "Drain the node before replacing the driver's pod."),
    ("OperandNotReady", ERROR, "The operator names components that are not ready.", "Read the pods of the components named."),
    ("SharingConfigInvalid", ERROR, "The sharing configuration has a field or value that the plugin refuses or ignores.", "Correct the field named."),
    ("SharingConfigNotSelected", WARNING, "The sharing configuration exists, but no node or default selects it.",
     "Set the default, or the node label nvidia.com/device-plugin.config."),
    ("SharingConfigNotMounted", ERROR, "The sharing configuration is handed to the plugin in a way that it doesn't read.",
     "Mount it as a file and give its path with --config-file."),
    ("GfdConfigMismatch", WARNING, "Feature discovery and the device plugin run with different configurations.", "Give both the same configuration."),
    ("StaleResource", INFO, "The node still lists a resource name of an earlier mode.",
     "Ignore it, or restart the kubelet after removing the plugin's checkpoint."),
    ("MpsRootMissing", ERROR, "MPS is configured, but its control daemon or root directory is missing.", "Run the MPS control daemon and mount its root."),
    ("MigManagerWedged", ERROR, "The MIG manager never finishes its change.", "Read its log; clear the paused labels and set the configuration label again."),
    ("MigLayoutIncomplete", ERROR, "The MIG layout doesn't cover every GPU of the node.", "Add the missing devices to the layout."),
    ("GpuInUse", ERROR, "Workloads hold the GPU, so the change is refused.", "Drain the node's GPU pods first."),
    ("DrainBlockedByPdb", ERROR, "A disruption budget forbids evicting the pod now.", "Add replicas, relax the budget, or wait."),
    ("FinalizerOrphaned", ERROR, "The object waits for a controller that no longer runs.", "Reinstall the controller, or remove the finalizer."),
    ("NoMemoryIsolation", INFO, "Pods that share this GPU are not protected from each other's memory use and faults.", "Use MIG where isolation matters."),
)

RETRYABLE = frozenset((
    "DriverNotLoaded", "NvidiaSmiTimeout", "FabricManagerNotReady", "FabricNotReady", "DriverInUse", "InsufficientResource", "InsufficientCpu",
    "InsufficientMemory", "NodeCordoned", "NodeNotReady", "QuotaExceeded", "DeviceUnavailable", "DeviceUnhealthy", "AllGpusUnhealthyOrPluginDown",
    "PluginNotRegistered", "DevicePluginNotReloaded", "ImagePullFailed", "CudaDeviceBusy", "GpuResourceNotAdvertised", "OperandsPaused",
    "OperandNotReady", "GpuInUse", "DrainBlockedByPdb", "RuntimeNotRunning", "PackagesInterrupted",
))

CATALOGUE = {
    code: CatalogueEntry(severity, cause, next_step, code in RETRYABLE)
    for code, severity, cause, next_step in _NODE + _RUNTIME + _POD + _CLUSTER
}


def finding(
    code: str,
    *,
    kind: str,
    name: str,
    summary: str,
    namespace: str | None = None,
    evidence: t.Sequence[dict[str, str]] = (),
    next_step: str | None = None,
    severity: str | None = None,
) -> dict[str, t.Any]:
    """One finding, in the shape that every module of the collection returns.

    :param code: a code of the catalogue.
    :param kind: what it is about: ``node``, ``gpu``, ``pod``, ``job``, ``daemonset``, ``release`` or ``file``.
    :param name: that thing's name.
    :param summary: one sentence with the values found and expected.
    :param evidence: what shows it: ``{"where": ..., "text": ...}``, at most a handful.
    :param next_step: replaces the catalogue's where the values allow a more precise one.
    :param severity: replaces the catalogue's where the circumstances change it.
    :raises KeyError: the catalogue has no such code.
    """
    entry = CATALOGUE[code]
    return {
        "code": code,
        "severity": severity or entry.severity,
        "subject": {"kind": kind, "name": name, "namespace": namespace},
        "summary": summary,
        "cause": entry.cause,
        "next_step": next_step or entry.next_step,
        "evidence": list(evidence),
        "retryable": entry.retryable,
    }


def seen(where: str, text: str) -> dict[str, str]:
    """One piece of evidence.

    :param where: file, command or field that it was read from.
    :param text: the line or value that shows it.
    """
    return {"where": where, "text": text}
