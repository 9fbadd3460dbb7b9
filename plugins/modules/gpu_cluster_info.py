# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_cluster_info
short_description: GPUs of a Kubernetes cluster, who holds them, and what is wrong
version_added: 0.1.0
author:
  - gpufleet authors (@gpufleet)
description:
  - Reads nodes, pods, device plugins and RuntimeClasses in a few requests and says how many GPUs each node has, offers and has free, and which
    pods hold them.
  - What a pod asks for is counted by the scheduler's own rule, sidecars, init containers and requests of the pod itself included.
  - Explains nodes that offer no GPUs, and GPU pods that have no node or don't come up. It changes nothing.
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - gpufleet.k8s._cluster
  - gpufleet.k8s._attributes
  - gpufleet.k8s._attributes.info
  - gpufleet.k8s._attributes.cluster
options:
  nodes:
    description:
      - Names of the nodes wanted in RV(gpu_cluster.nodes), RV(gpu_cluster.totals) and RV(findings). All nodes if omitted, those without GPUs included.
      - A name that no node has fails the module with code V(NodeNotFound).
    type: list
    elements: str
notes:
  - It needs the permissions to list nodes, pods, daemonsets and runtimeclasses, and events, in the whole cluster.
"""

EXAMPLES = r"""
- name: Look at the cluster
  gpufleet.k8s.gpu_cluster_info:
    kubeconfig: ~/.kube/config
    context: production
  register: cluster

- name: Show the free GPUs per resource
  ansible.builtin.debug:
    msg: "{{ cluster.gpu_cluster.totals | items2dict(key_name='resource', value_name='free') }}"

- name: Show why GPU pods wait
  ansible.builtin.debug:
    msg: "{{ cluster.findings | selectattr('subject.kind', 'eq', 'pod') | map(attribute='summary') }}"
"""

RETURN = r"""
gpu_cluster:
  description: What the cluster has.
  returned: success
  type: dict
  contains:
    nodes:
      description: The nodes, by name.
      type: list
      elements: dict
      contains:
        name:
          description: The node's name.
          type: str
        gpu:
          description: Whether it lists a GPU resource or is labelled as having an NVIDIA GPU.
          type: bool
        ready:
          description: Whether its condition C(Ready) is V(True).
          type: bool
        unschedulable:
          description: Whether it is cordoned.
          type: bool
        product:
          description: The GPUs' product by feature discovery's label, V(null) without it.
          type: str
        driver_version:
          description: The driver's version by feature discovery's label, V(null) without it.
          type: str
        container_runtime:
          description: Name and version of the container runtime as the kubelet reports it.
          type: str
          sample: containerd://2.1.4
        kubelet_version:
          description: Version of the kubelet.
          type: str
        runtime_handlers:
          description: Runtime handlers that the kubelet reports; empty where the runtime doesn't tell it.
          type: list
          elements: str
        labels:
          description: Its labels of NVIDIA's components and the PCI labels for NVIDIA devices.
          type: dict
        pci_gpu:
          description:
            - Whether Node Feature Discovery sees an NVIDIA GPU on the PCI bus.
            - V(null) where it wrote no PCI labels, or where the GPU may be no PCI device (Grace, Jetson).
          type: bool
        conditions:
          description: Its conditions that tell of trouble, each with C(type), C(status), C(reason) and C(message).
          type: list
          elements: dict
        taints:
          description: Its taints, each with C(key), C(value) and C(effect).
          type: list
          elements: dict
        resources:
          description: Its GPU resources, whole GPUs first.
          type: list
          elements: dict
          contains:
            resource:
              description: Name of the resource.
              type: str
              sample: nvidia.com/gpu
            capacity:
              description: Devices that the kubelet knows.
              type: int
            allocatable:
              description: Devices that it offers. Stale for some seconds after a change.
              type: int
            requested:
              description: Devices that pods on the node ask for, other than finished ones.
              type: int
            free:
              description: RV(gpu_cluster.nodes[].resources[].allocatable) less RV(gpu_cluster.nodes[].resources[].requested), at least 0.
              type: int
            unhealthy:
              description: Devices that it has and doesn't offer.
              type: int
            shared:
              description: Whether several pods share a device, as far as names and labels tell.
              type: bool
            physical:
              description: Physical GPUs behind it, V(null) where that isn't known.
              type: int
            stale:
              description: Whether the name is left from an earlier mode, while the node offers another one.
              type: bool
        consumers:
          description: Pods on the node that ask for GPUs, other than finished ones.
          type: list
          elements: dict
          contains:
            namespace:
              description: The pod's namespace.
              type: str
            pod:
              description: The pod's name.
              type: str
            resource:
              description: The resource that it asks for.
              type: str
            count:
              description: Number of devices.
              type: int
        plugin_pods:
          description: Device plugin pods on the node, each with C(namespace), C(pod) and C(running).
          type: list
          elements: dict
    totals:
      description:
        - Sums over RV(gpu_cluster.nodes) per resource, stale ones left out. Each has C(resource), C(nodes), C(capacity), C(allocatable),
          C(requested), C(free) and C(unhealthy).
      type: list
      elements: dict
    plugins:
      description: NVIDIA device plugins of the cluster, whoever made them.
      type: list
      elements: dict
      contains:
        kind:
          description: Always V(daemonset).
          type: str
        namespace:
          description: Its namespace.
          type: str
        name:
          description: Its name.
          type: str
        image:
          description: The plugin container's image.
          type: str
        desired:
          description: Nodes that should run it.
          type: int
        ready:
          description: Nodes on which its pod is ready. That the plugin is ready doesn't prove that the node offers GPUs.
          type: int
        runtime_class:
          description: RuntimeClass that it runs with, V(null) for none.
          type: str
    runtime_classes:
      description: RuntimeClasses of the cluster, each with C(name) and C(handler).
      type: list
      elements: dict
    kubernetes_version:
      description: The API server's version.
      type: str
      sample: v1.36.3
findings:
  description:
    - What is wrong with GPU nodes and GPU pods, the root cause first. The codes are stable.
    - C(consequence_of) is the code of the finding before it that explains it, V(null) if none does.
  returned: success
  type: list
  elements: dict
  sample:
    - code: InsufficientResource
      severity: error
      subject: {kind: pod, name: train-1, namespace: research}
      summary: Pod train-1 asks for 2 nvidia.com/gpu; at most 0 are free on one node (gpu-1).
      cause: The resource is offered, but no node has enough of it free.
      next_step: Wait, free GPUs, ask for fewer, or add nodes.
      evidence:
        - where: scheduling of research/train-1
          text: "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) didn't match Pod's node affinity/selector."
      retryable: true
      consequence_of: null
failure:
  description: Why the module failed, with C(code) and C(details).
  returned: failure
  type: dict
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.connection import connect
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.observe import observe
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.options import cluster_argument_spec
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import cluster_facts, only_nodes
from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.cluster import cluster_findings, only_findings
from ansible_collections.gpufleet.k8s.plugins.module_utils._module import run_module


def look(module: AnsibleModule) -> dict[str, t.Any]:
    """Facts and findings; waiting pods are explained with all nodes in view, whichever are asked for."""
    seen = observe(connect(module))
    everything = cluster_facts(seen)
    chosen = only_nodes(everything, module.params["nodes"])
    return {"gpu_cluster": chosen, "findings": only_findings(cluster_findings(everything, seen), chosen, everything)}


def main() -> None:
    run_module(look, cluster_argument_spec(nodes={"type": "list", "elements": "str"}))


if __name__ == "__main__":
    main()
