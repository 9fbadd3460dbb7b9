# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Codes of pods, of Jobs, and of the Nodes that are to take them."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.codes.entry import (
    CAPACITY,
    CLUSTER,
    ERROR,
    INFO,
    NAMESPACE,
    REASON,
    SHARING,
    WARNING,
    WORKLOAD,
    CatalogueEntry,
)

CODES: t.Mapping[str, CatalogueEntry] = {
    "GpuResourceNotAdvertised": CatalogueEntry(
        ERROR,
        cause="No node offers the resource at all.",
        see="`kubectl get nodes -o 'custom-columns=N:.metadata.name,GPUS:.status.allocatable.nvidia\\.com/gpu'`: `<none>` everywhere.",
        next_step="Check the device plugin's pods and the nodes' drivers.",
        variable="gpu_device_plugin_nodes",
        retryable=True,
    ),
    "InsufficientResource": CatalogueEntry(
        ERROR,
        cause="The resource is offered, but no node has enough of it free.",
        see=(
            "`kubectl describe pod`: \"Insufficient nvidia.com/gpu\"; `kubectl describe node | grep -A8 'Allocated resources'`: all of it is "
            "requested."
        ),
        next_step="Wait, free GPUs, ask for fewer, or add nodes.",
        by_hand=CAPACITY,
        retryable=True,
    ),
    "InsufficientCpu": CatalogueEntry(
        ERROR,
        cause="No node with free GPUs has the CPU that the pod asks for.",
        see='`kubectl describe pod`: "Insufficient cpu", while `kubectl describe node` of a GPU node has free GPUs.',
        next_step="Lower the pod's CPU request or free CPU.",
        by_hand=WORKLOAD,
        retryable=True,
    ),
    "InsufficientMemory": CatalogueEntry(
        ERROR,
        cause="No node with free GPUs has the memory that the pod asks for.",
        see='`kubectl describe pod`: "Insufficient memory", while `kubectl describe node` of a GPU node has free GPUs.',
        next_step="Lower the pod's memory request or free memory.",
        by_hand=WORKLOAD,
        retryable=True,
    ),
    "SharedRequestTooLarge": CatalogueEntry(
        ERROR,
        cause="The pod asks for several replicas of a shared GPU, which the plugin's configuration forbids.",
        see='`kubectl describe pod`: "maximum request size for shared resources is 1".',
        next_step="Ask for one replica.",
        by_hand=WORKLOAD,
    ),
    "ResourceRenamed": CatalogueEntry(
        ERROR,
        cause="The pool offers its GPUs under another resource name than the pod asks for.",
        see="`kubectl describe node | grep nvidia.com/`: it offers nvidia.com/gpu.shared or nvidia.com/mig-..., the pod asks for something else.",
        next_step="Ask for the resource that the nodes offer.",
        by_hand=WORKLOAD,
    ),
    "UntoleratedTaint": CatalogueEntry(
        ERROR,
        cause="The nodes with GPUs carry a taint that the pod doesn't tolerate.",
        see='`kubectl describe pod`: "untolerated taint"; `kubectl get nodes -o custom-columns=N:.metadata.name,T:.spec.taints`.',
        next_step="Add the toleration to the pod, or remove the taint.",
        by_hand=WORKLOAD,
    ),
    "NodeCordoned": CatalogueEntry(
        WARNING,
        cause="The node is marked unschedulable.",
        see="`kubectl get nodes`: SchedulingDisabled.",
        next_step="Uncordon it when its maintenance is done.",
        by_hand=CLUSTER,
        retryable=True,
    ),
    "NodeNotReady": CatalogueEntry(
        ERROR,
        cause="The kubelet doesn't report the node as ready.",
        see=(
            "`kubectl get nodes`: NotReady; `kubectl describe node` has the kubelet's words under Conditions. On the node `journalctl -u "
            "kubelet -n 50`."
        ),
        next_step="Read the node's conditions and the kubelet's log.",
        by_hand=CLUSTER,
        retryable=True,
    ),
    "AffinityMismatch": CatalogueEntry(
        ERROR,
        cause="The pod's node selector or affinity excludes every node that could serve it.",
        see="`kubectl describe pod`: \"didn't match Pod's node affinity/selector\"; compare with `kubectl get nodes --show-labels`.",
        next_step="Correct the selector or label the nodes.",
        by_hand=WORKLOAD,
    ),
    "RuntimeClassMissing": CatalogueEntry(
        ERROR,
        cause="The RuntimeClass that the pod names doesn't exist.",
        see="`kubectl get runtimeclass`: the name isn't listed; creating the pod fails with \"RuntimeClass ... not found\".",
        next_step="Create it (role gpu_device_plugin), or name one that exists.",
        variable="gpu_device_plugin_runtime_class",
    ),
    "QuotaExceeded": CatalogueEntry(
        ERROR,
        cause="The namespace's quota for the resource is used up.",
        see="`kubectl describe resourcequota -n NAMESPACE`: Used equals Hard. A Job has no pod, and says so in `kubectl describe job`.",
        next_step="Free it, raise the quota, or use another namespace.",
        by_hand=NAMESPACE,
        retryable=True,
    ),
    "QuotaRequiresRequests": CatalogueEntry(
        ERROR,
        cause="A quota makes requests or limits mandatory that the pod doesn't state.",
        see='`kubectl describe job` or the answer to `kubectl apply`: "failed quota: ... must specify".',
        next_step="State them, or add a LimitRange with defaults.",
        by_hand=NAMESPACE,
    ),
    "PodSecurityViolation": CatalogueEntry(
        ERROR,
        cause="The namespace's Pod Security level refuses the pod.",
        see=(
            '`kubectl get ns NAMESPACE --show-labels`: pod-security.kubernetes.io/enforce; the refusal says "violates PodSecurity". "would '
            'violate" is only a warning.'
        ),
        next_step="Correct the pod's security context, or set the level that it needs on the namespace.",
        variable="gpu_device_plugin_namespace",
    ),
    "AdmissionWebhookDenied": CatalogueEntry(
        ERROR,
        cause="A policy webhook refused the object.",
        see='The answer to `kubectl apply`, or `kubectl describe job`: "admission webhook ... denied the request".',
        next_step="Follow the policy's message.",
        by_hand=NAMESPACE,
    ),
    "DeviceUnavailable": CatalogueEntry(
        ERROR,
        cause="The kubelet had no free device left when the pod arrived.",
        see='`kubectl get pod`: UnexpectedAdmissionError; `kubectl describe pod`: "Requested: 1, Available: 0".',
        next_step="Delete the failed pod so that it is created again; after a reboot wait for the device plugin first.",
        by_hand=WORKLOAD,
        retryable=True,
    ),
    "DeviceUnhealthy": CatalogueEntry(
        ERROR,
        cause="The kubelet refused the pod because the device plugin calls the devices unhealthy.",
        see='`kubectl describe node`: less allocatable than capacity; a refused pod says "no healthy devices present".',
        next_step="Cure the GPU, restart the device plugin, then recreate the pod.",
        by_hand=REASON,
        retryable=True,
    ),
    "AllGpusUnhealthyOrPluginDown": CatalogueEntry(
        ERROR,
        cause="The node has GPUs, but offers none: the device plugin is gone, or calls all of them unhealthy.",
        see=(
            "`kubectl describe node`: capacity has GPUs, allocatable 0. `kubectl get pods -A -o wide | grep device-plugin` shows whether a "
            "plugin runs on that node."
        ),
        next_step="Read the device plugin's log on that node.",
        variable="gpu_device_plugin_nodes",
        retryable=True,
    ),
    "PluginNotRegistered": CatalogueEntry(
        ERROR,
        cause="The device plugin runs, but the node offers nothing.",
        see="`kubectl logs` of the device plugin's pod on the node: the last \"Registered device plugin\" is older than the kubelet's start.",
        next_step="Read the plugin's log; check that its pod uses the NVIDIA runtime; restart it.",
        variable="gpu_device_plugin_kubelet_dir",
        retryable=True,
    ),
    "DevicePluginNvmlBroken": CatalogueEntry(
        ERROR,
        cause="The device plugin can't initialise NVML: no driver, or its container didn't get the libraries.",
        see="`kubectl logs` of the device plugin's pod: \"Failed to initialize NVML\" or \"Incompatible strategy detected\".",
        next_step="Check the driver and the plugin's runtimeClassName.",
        variable="gpu_device_plugin_runtime_class",
    ),
    "DevicePluginNotReloaded": CatalogueEntry(
        WARNING,
        cause="The device plugin still offers the layout of before the change.",
        see="`kubectl describe node`: the resources are those of before the change; `nvidia-smi -L` on the node shows the new ones.",
        next_step="Restart the device plugin's pods on the node.",
        by_hand=SHARING,
        retryable=True,
    ),
    "ImagePullFailed": CatalogueEntry(
        ERROR,
        cause="The image can't be pulled.",
        see="`kubectl describe pod`: ErrImagePull or ImagePullBackOff, with the registry's answer.",
        next_step="Check the image's name, the registry and the pull secret.",
        variable="gpu_validate_image",
        retryable=True,
    ),
    "ImageNeedsNewerDriver": CatalogueEntry(
        ERROR,
        cause="The image's CUDA needs a newer driver than the node has.",
        see=(
            '`kubectl describe pod` or its log: "unsatisfied condition: cuda>=..."; the head of `nvidia-smi` has the CUDA version that the '
            "driver can do."
        ),
        next_step="Upgrade the driver, or use an image with an older CUDA.",
        variable="gpu_driver_version",
    ),
    "DriverTooOldOrNotInjected": CatalogueEntry(
        ERROR,
        cause="CUDA in the container found no driver, or one that is too old for it.",
        see=(
            "The pod's log: \"CUDA driver version is insufficient for CUDA runtime version\". If `nvidia-smi` doesn't work in such a pod either, "
            "the driver isn't injected."
        ),
        next_step="Check the pod's runtime class first, then the driver's version.",
        variable="gpu_driver_version",
    ),
    "CudaNoDevice": CatalogueEntry(
        ERROR,
        cause="CUDA in the container sees no device.",
        see="The pod's log: \"no CUDA-capable device is detected\". In the pod: `nvidia-smi -L`, `echo $CUDA_VISIBLE_DEVICES`, `ls /dev/nvidia-uvm`.",
        next_step="Check that the container asks for the GPU and how devices are handed to it.",
        variable="gpu_device_plugin_device_list_strategy",
    ),
    "CudaDeviceBusy": CatalogueEntry(
        ERROR,
        cause="The GPU is in exclusive use by another process.",
        see="`nvidia-smi -q -d COMPUTE`: Compute Mode is Exclusive_Process; `nvidia-smi` lists the process that has the GPU.",
        next_step="Find the process with nvidia-smi; set the compute mode to Default.",
        by_hand=WORKLOAD,
        retryable=True,
    ),
    "ContainerLostGpu": CatalogueEntry(
        ERROR,
        cause="A running container lost its GPU: its cgroup was rewritten, as a systemd reload does.",
        see='`kubectl exec POD -- nvidia-smi` says "Failed to initialize NVML: Unknown Error", while `nvidia-smi` works on the node.',
        next_step="Recreate the pod; use CDI so that it doesn't happen again.",
        variable="gpu_device_plugin_device_list_strategy",
    ),
    "GpuIsolationBypass": CatalogueEntry(
        WARNING,
        cause="A pod can reach GPUs that it was not given.",
        see="`kubectl exec POD -- nvidia-smi -L`: more GPUs than the pod's limit.",
        next_step="Use the device list strategy cdi-cri and don't make nvidia the default runtime.",
        variable="gpu_device_plugin_device_list_strategy",
    ),
    "PluginConflict": CatalogueEntry(
        ERROR,
        cause="More than one device plugin or driver serves the same devices on a node.",
        see="`kubectl get pods -A -o wide | grep -E 'device-plugin|dra-driver'`: two on the same node.",
        next_step="Remove all but one, wait until its pods are gone, then restart the remaining one.",
        variable="gpu_device_plugin_other_plugins",
    ),
    "PrivilegedPod": CatalogueEntry(
        INFO,
        cause="The pod is privileged and sees every device, so isolation can't be judged.",
        see="`kubectl get pod POD -o yaml | grep 'privileged: true'`.",
        next_step="Run it unprivileged.",
        by_hand=WORKLOAD,
    ),
    "CudaOutOfMemory": CatalogueEntry(
        ERROR,
        cause="The program asked for more GPU memory than was free: its own need, or others on a shared GPU.",
        see="The pod's log: \"CUDA out of memory\"; `nvidia-smi` on the node shows who has the memory.",
        next_step="Lower the program's need, or give it a GPU of its own: sharing by time-slicing limits nobody's memory.",
        by_hand=WORKLOAD,
    ),
    "CudaApplicationError": CatalogueEntry(
        ERROR,
        cause="The program failed on the GPU by its own fault; driver and GPU are fine.",
        see=(
            "The pod's log: \"an illegal memory access was encountered\", \"no kernel image is available\" or the like; "
            "`dmesg | grep Xid` on the node has at most Xid 13, 31, 43 or 45."
        ),
        next_step="Debug the program with compute-sanitizer; check that the image is built for this GPU generation.",
        by_hand=WORKLOAD,
    ),
    "ContainerOutOfMemory": CatalogueEntry(
        ERROR,
        cause="The container used more host memory than its limit, so the kernel ended it: this isn't GPU memory.",
        see="`kubectl describe pod`: OOMKilled, exit code 137.",
        next_step="Raise the container's memory limit, or lower the program's need (data loaders, pinned memory).",
        by_hand=WORKLOAD,
    ),
    "ContainerFailed": CatalogueEntry(
        ERROR,
        cause="The container ended with an error of its own, in which nothing known about GPUs was found.",
        see="`kubectl logs POD --previous` and the exit code in `kubectl describe pod`.",
        next_step="Read the container's log.",
        by_hand=WORKLOAD,
    ),
    "PodEvicted": CatalogueEntry(
        ERROR,
        cause="The cluster ended the pod: its node ran short of something, or a more important pod needed the place.",
        see="`kubectl describe pod`: Evicted, or the condition DisruptionTarget with its reason.",
        next_step="Read the reason; raise the pod's priority or requests, or free the node.",
        by_hand=CLUSTER,
    ),
    "ReferencedObjectMissing": CatalogueEntry(
        ERROR,
        cause="The pod names an object that doesn't exist in its namespace: ConfigMap, Secret, claim, service account or priority.",
        see='`kubectl describe pod`: "... not found", with kind and name of what is missing.',
        next_step="Create it in the pod's namespace, or correct the name.",
        by_hand=WORKLOAD,
    ),
    "DeadlineExceeded": CatalogueEntry(
        WARNING,
        cause="The deadline ended it before it finished.",
        see="`kubectl describe pod` or `kubectl describe job`: DeadlineExceeded.",
        next_step="Look at the finding that explains what it waited for.",
        variable="gpu_validate_timeout",
    ),
}
