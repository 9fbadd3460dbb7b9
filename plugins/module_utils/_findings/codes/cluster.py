# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Codes of the GPU Operator, of sharing and MIG, of upgrades and cleanup."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.codes.entry import (
    CLUSTER,
    DRAIN,
    ERROR,
    HELM,
    INFO,
    OPERATOR,
    SHARING,
    WARNING,
    CatalogueEntry,
)

CODES: t.Mapping[str, CatalogueEntry] = {
    "NoGpuNodes": CatalogueEntry(
        WARNING,
        cause="The operator is ready, but knows no node with a GPU.",
        see=(
            "`kubectl get clusterpolicy -o yaml`: reason NoGPUNodes; `kubectl get nodes -l feature.node.kubernetes.io/pci-10de.present=true` is "
            "empty."
        ),
        next_step="Check Node Feature Discovery and the nodes' PCI labels.",
        by_hand=OPERATOR,
    ),
    "NfdLabelFormatMismatch": CatalogueEntry(
        ERROR,
        cause="Node Feature Discovery writes PCI labels in a form that the operator doesn't read.",
        see="`kubectl get nodes --show-labels | grep -o 'pci-[0-9a-f_]*10de[^ ,]*'`: pci-0302_10de instead of pci-10de.",
        next_step="Set deviceLabelFields to [vendor] for NFD's PCI source.",
        by_hand=OPERATOR,
    ),
    "OperandsPaused": CatalogueEntry(
        WARNING,
        cause="Labels hold the operands back while a driver or MIG change runs.",
        see="`kubectl get node NODE --show-labels | grep -o 'nvidia.com/gpu.deploy[^,]*paused-for[^,]*'`.",
        next_step="Wait; if nothing moves, set the labels back to true.",
        by_hand=OPERATOR,
        retryable=True,
    ),
    "StaleUpgradeLabels": CatalogueEntry(
        WARNING,
        cause="Upgrade labels wait for a controller that doesn't manage these nodes.",
        see=(
            "`kubectl get nodes -L nvidia.com/gpu-driver-upgrade-state` with a state that doesn't move, while the operator doesn't manage the "
            "driver."
        ),
        next_step="Remove the upgrade labels.",
        by_hand=OPERATOR,
    ),
    "StaleLabels": CatalogueEntry(
        WARNING,
        cause="GPU labels are left on a node that has no GPU.",
        see="`kubectl get node NODE --show-labels | grep nvidia.com`, while `lspci -d 10de:` on the node prints nothing.",
        next_step="Remove the nvidia.com labels from the node.",
        by_hand=CLUSTER,
    ),
    "CrdOutdated": CatalogueEntry(
        ERROR,
        cause="The CRD is older than the objects applied, so new fields are dropped.",
        see=(
            "`kubectl get crd clusterpolicies.nvidia.com -o yaml`: it lacks fields that the chart's CRD has; what was set there is missing in "
            "`kubectl get clusterpolicy -o yaml`."
        ),
        next_step="Apply the CRDs of the installed version.",
        by_hand=OPERATOR,
    ),
    "HelmOwnershipConflict": CatalogueEntry(
        ERROR,
        cause="Objects of that name exist and belong to something else than this release.",
        see='`helm upgrade --install` says "exists and cannot be imported into the current release", with kind and name.',
        next_step="Remove them, or adopt them with Helm's labels and annotations.",
        by_hand=HELM,
    ),
    "HelmReleaseNotFoundOrFailed": CatalogueEntry(
        ERROR,
        cause="The Helm release was never deployed, or its last attempt failed.",
        see="`helm list -A --all`: the release is failed or pending, or isn't there under that name.",
        next_step="Read `helm history`; roll back or uninstall it, then install again.",
        by_hand=HELM,
    ),
    "DriverImageNotFound": CatalogueEntry(
        ERROR,
        cause="There is no driver image for this kernel and operating system.",
        see="`kubectl describe pod` of the driver's DaemonSet: ImagePullBackOff, with a tag that has kernel and operating system in it.",
        next_step="Choose another driver version, or install the driver on the host.",
        variable="gpu_driver_version",
    ),
    "DriverPodDeletedManually": CatalogueEntry(
        WARNING,
        cause="The driver's pod was deleted outside the upgrade flow, which is turned off.",
        see="`kubectl logs` of the driver's pod, container k8s-driver-manager: eviction and drain are \"disabled by the upgrade policy\".",
        next_step="Drain the node before replacing the driver's pod.",
        by_hand=OPERATOR,
    ),
    "OperandNotReady": CatalogueEntry(
        ERROR,
        cause="The operator names components that are not ready.",
        see="`kubectl get clusterpolicy -o yaml`: the status names the states; `kubectl get pods -n gpu-operator` has their pods.",
        next_step="Read the pods of the components named.",
        by_hand=OPERATOR,
        retryable=True,
    ),
    "SharingConfigInvalid": CatalogueEntry(
        ERROR,
        cause="The sharing configuration has a field or value that the plugin refuses or ignores.",
        see=(
            "`kubectl logs` of the device plugin's pod: the parse error with its field. A field that it ignores is in no log: compare with the "
            "finding."
        ),
        next_step="Correct the field named.",
        by_hand=SHARING,
    ),
    "SharingConfigNotSelected": CatalogueEntry(
        WARNING,
        cause="The sharing configuration exists, but no node or default selects it.",
        see="`kubectl get nodes -L nvidia.com/device-plugin.config` is empty, and the plugin or the ClusterPolicy names no default.",
        next_step="Set the default, or the node label nvidia.com/device-plugin.config.",
        by_hand=SHARING,
    ),
    "SharingConfigNotMounted": CatalogueEntry(
        ERROR,
        cause="The sharing configuration is handed to the plugin in a way that it doesn't read.",
        see="`kubectl get daemonset -A -o yaml | grep -E 'config-file|CONFIG_FILE|envFrom'`: the ConfigMap is there by envFrom alone.",
        next_step="Mount it as a file and give its path with --config-file.",
        by_hand=SHARING,
    ),
    "GfdConfigMismatch": CatalogueEntry(
        WARNING,
        cause="Feature discovery and the device plugin run with different configurations.",
        see="`kubectl get node NODE -L nvidia.com/gpu.count,nvidia.com/gpu.replicas`: their product isn't the node's capacity.",
        next_step="Give both the same configuration.",
        by_hand=SHARING,
    ),
    "StaleResource": CatalogueEntry(
        INFO,
        cause="The node still lists a resource name of an earlier mode.",
        see="`kubectl describe node`: a resource with a capacity and allocatable 0 beside another one that is in use.",
        next_step="Ignore it, or restart the kubelet after removing the plugin's checkpoint.",
        by_hand=SHARING,
    ),
    "MpsRootMissing": CatalogueEntry(
        ERROR,
        cause="MPS is configured, but its control daemon or root directory is missing.",
        see=(
            "`kubectl get pods -A | grep mps-control-daemon`: none on the node; the plugin's log says \"using MPS requires --mps-root to be "
            'specified" or the like.'
        ),
        next_step="Run the MPS control daemon and mount its root.",
        by_hand=SHARING,
    ),
    "MigManagerWedged": CatalogueEntry(
        ERROR,
        cause="The MIG manager never finishes its change.",
        see="`kubectl get nodes -L nvidia.com/mig.config,nvidia.com/mig.config.state`: pending for many minutes; the manager's log doesn't move.",
        next_step="Read its log; clear the paused labels and set the configuration label again.",
        by_hand=OPERATOR,
    ),
    "MigLayoutIncomplete": CatalogueEntry(
        ERROR,
        cause="The MIG layout doesn't cover every GPU of the node.",
        see="`nvidia-smi -L` on the node: a GPU with MIG on and no MIG device below it; compare with the layout in the ConfigMap.",
        next_step="Add the missing devices to the layout.",
        by_hand=SHARING,
    ),
    "GpuInUse": CatalogueEntry(
        ERROR,
        cause="Workloads hold the GPU, so the change is refused.",
        see=(
            "The manager's log: \"In use by another client\". `fuser -v /dev/nvidia*` and `lsmod | grep nvidia_drm` on the node; pods by `kubectl "
            "get pods -A -o wide`."
        ),
        next_step="Drain the node's GPU pods first.",
        by_hand=DRAIN,
        retryable=True,
    ),
    "DrainBlockedByPdb": CatalogueEntry(
        ERROR,
        cause="A disruption budget forbids evicting the pod now.",
        see="`kubectl drain` says \"violate the pod's disruption budget\"; `kubectl get pdb -A`: ALLOWED DISRUPTIONS is 0.",
        next_step="Add replicas, relax the budget, or wait.",
        by_hand=CLUSTER,
        retryable=True,
    ),
    "DrainBlockedByPod": CatalogueEntry(
        ERROR,
        cause="A pod that nothing would make again, or that a DaemonSet owns, stands in the drain's way.",
        see='`kubectl drain` names the pods: "DaemonSet-managed", or "cannot delete Pods that declare no controller".',
        next_step="Pass --ignore-daemonsets for DaemonSets; delete or move a bare pod yourself, or accept its loss with --force.",
        by_hand=CLUSTER,
    ),
    "FinalizerOrphaned": CatalogueEntry(
        ERROR,
        cause="The object waits for a controller that no longer runs.",
        see="`kubectl get KIND NAME -o yaml`: deletionTimestamp and finalizers are set, and the controller's pod is gone.",
        next_step="Reinstall the controller, or remove the finalizer.",
        by_hand=OPERATOR,
    ),
    "NoMemoryIsolation": CatalogueEntry(
        INFO,
        cause="Pods that share this GPU are not protected from each other's memory use and faults.",
        see="`kubectl get node NODE -L nvidia.com/gpu.sharing-strategy`: time-slicing.",
        next_step="Use MIG where isolation matters.",
        by_hand=SHARING,
    ),
}
