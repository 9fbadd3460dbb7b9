# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_validate
short_description: Prove that GPU nodes work, by computing on them
version_added: 0.1.0
author:
  - gpufleet authors (@gpufleet)
description:
  - Starts on each chosen node a pod that lists the GPUs that it is given, and then a job that computes on one of them with CUDA. Returns a verdict
    per node, and findings that explain each failure.
  - All nodes are tested at the same time, and all pods are followed with one watch. The pods go through the scheduler.
  - The pods have no privileges and are admitted by Pod Security level C(restricted). They run as an unprivileged user with a read-only root file
    system, without capabilities and without a service account's token.
  - Nothing is guessed. RuntimeClass and tolerations are read from the cluster, and what was chosen is in the result.
  - What was made is removed at the end, after a failure too. What a killed run left is removed by the next one, once its deadline has passed.
  - A bad verdict isn't a failure of the module. See RV(passed).
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - gpufleet.k8s._cluster
  - gpufleet.k8s._attributes
  - gpufleet.k8s._attributes.cluster
attributes:
  check_mode:
    support: full
    details:
      - Nothing is launched; the objects are in RV(would_create), and RV(passed) is V(null).
      - Missing GPU nodes and a missing RuntimeClass don't fail it, since earlier tasks may make them; see RV(obstacle).
  diff_mode:
    support: N/A
    details:
      - Nothing that it makes remains.
  idempotent:
    support: full
    details:
      - It never reports a change, since it removes what it made.
options:
  nodes:
    description:
      - Names of the nodes to validate. Every node that lists a GPU resource or is labelled as having an NVIDIA GPU if omitted.
      - A node that isn't ready, is cordoned or offers no free GPU is reported without anything being launched on it.
    type: list
    elements: str
  gpus:
    description:
      - Devices that the inspecting pod asks for on each node.
      - If omitted, all that are free, so that the verdict is about all of them; one where the resource is shared or a MIG profile.
      - The job always asks for one.
    type: int
  namespace:
    description:
      - Namespace in which to run. It is created with Pod Security level C(restricted), and removed again, if it doesn't exist.
      - One that an earlier validation made and could not remove is removed too, unless another run is in it.
    type: str
    default: gpufleet-validation
  image:
    description:
      - Image with C(nvidia-smi) injected by the runtime, whose own command computes with CUDA and prints C(Test PASSED).
    type: str
    default: nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04
  runtime_class:
    description:
      - Name of the RuntimeClass for the pods; an empty string for none.
      - If omitted, the one that the device plugin runs with, else the only one with an NVIDIA handler, else none. Several fail the module with code
        V(RuntimeClassAmbiguous).
      - A name that doesn't exist fails it with code V(RuntimeClassMissing), and RV(failure) lists those that do.
    type: str
  timeout:
    description:
      - Seconds for all nodes together. What hasn't ended then has failed. What no waiting would cure is given up earlier.
    type: int
    default: 300
  keep:
    description:
      - Leave pods, jobs and namespace in place, for looking at them.
    type: bool
    default: false
notes:
  - "It needs the permissions of M(gpufleet.k8s.gpu_cluster_info), and in the namespace: create, list, watch, delete and deletecollection of pods,
    create, list, delete and deletecollection of jobs, get of pods/log, list of events; to get namespaces, and to create and delete them where it
    is to do that."
seealso:
  - module: gpufleet.k8s.gpu_cluster_info
"""

EXAMPLES = r"""
- name: Validate all GPU nodes
  gpufleet.k8s.gpu_validate:
    kubeconfig: ~/.kube/config
  register: validation

- name: Stop unless every node passed
  ansible.builtin.assert:
    that: validation.passed
    fail_msg: "{{ validation.summary | join('\n') }}"

- name: Validate one node with one GPU and keep the pods
  gpufleet.k8s.gpu_validate:
    nodes: [gpu-1]
    gpus: 1
    keep: true
  register: validation
"""

RETURN = r"""
passed:
  description: Whether each node passed. V(null) in check mode.
  returned: success
  type: bool
nodes:
  description: The verdict on each node.
  returned: success
  type: list
  elements: dict
  contains:
    node:
      description: The node's name.
      type: str
    verdict:
      description:
        - V(passed), V(failed), or V(not_tested) where nothing could be launched for a reason that is no fault of the node, such as busy GPUs.
      type: str
    summary:
      description: The verdict in one line.
      type: str
      sample: "gpu-1: passed, 2 of 2 nvidia.com/gpu seen, NVIDIA H200, 580.159.04, inspect passed in 2.5 s, cuda passed in 3.6 s"
    product:
      description: The GPUs' product as the pod saw it, else by the node's label.
      type: str
    driver_version:
      description: The driver's version as the pod saw it, else by the node's label.
      type: str
    resource:
      description: The resource that was asked for, V(null) where nothing was launched.
      type: str
      sample: nvidia.com/gpu
    capacity:
      description: GPU devices that the node has.
      type: int
    allocatable:
      description: GPU devices that the node offers.
      type: int
    gpus_expected:
      description: Devices that the inspecting pod asked for.
      type: int
    gpus_seen:
      description: Devices that it saw, each with C(uuid) and C(product).
      type: list
      elements: dict
    checks:
      description: The single checks.
      type: list
      elements: dict
      contains:
        name:
          description: V(inspect) or V(cuda).
          type: str
        status:
          description: V(passed), V(failed) or V(skipped).
          type: str
        message:
          description: What it ended with, such as the last lines of the log.
          type: str
        pod:
          description: Name of its pod, V(null) where there was none.
          type: str
        exit_code:
          description: Exit code of its container, V(null) where it didn't end.
          type: int
        seconds:
          description: Time from its creation to its end, V(null) where it didn't end.
          type: float
    findings:
      description: What explains the verdict, the root cause first; C(consequence_of) names the finding before it that explains one.
      type: list
      elements: dict
findings:
  description: The findings of all nodes. See M(gpufleet.k8s.gpu_cluster_info) for their form.
  returned: success
  type: list
  elements: dict
summary:
  description: The verdicts, one line each.
  returned: success
  type: list
  elements: str
run_id:
  description: Value of the label C(gpufleet.io/run) of all objects that were made.
  returned: unless there is an obstacle
  type: str
namespace:
  description: Where it ran.
  returned: unless there is an obstacle
  type: str
image:
  description: With which image.
  returned: unless there is an obstacle
  type: str
runtime_class:
  description: The RuntimeClass of the pods, C(name) (V(null) for none), and C(reason), why that one.
  returned: unless there is an obstacle
  type: dict
would_create:
  description: Pods and jobs that would be created.
  returned: check mode
  type: list
  elements: dict
obstacle:
  description: What would stop the run as things are now, with C(code), C(details) and C(message). V(null) if nothing would.
  returned: check mode
  type: dict
failure:
  description:
    - Why the module failed, with C(code) and C(details).
    - "Beside those of all cluster modules: V(NoGpuNodes), V(NodeNotFound), V(RuntimeClassMissing), V(RuntimeClassAmbiguous), V(NamespaceNotReady),
      V(NamespaceRefusesPods) (with the server's text in C(reason) and what it means in C(findings)) and V(Interrupted)."
  returned: failure
  type: dict
"""

import secrets
import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.connection import connect
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.observe import observe
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.options import cluster_argument_spec
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.validation import Validation
from ansible_collections.gpufleet.k8s.plugins.module_utils._errors import GpuFleetError
from ansible_collections.gpufleet.k8s.plugins.module_utils._facts.cluster import cluster_facts
from ansible_collections.gpufleet.k8s.plugins.module_utils._module import run_module
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.plan import announce, announce_obstacle, make_plan, report
from ansible_collections.gpufleet.k8s.plugins.module_utils._validation.verdict import Surroundings

OPTIONS: dict[str, t.Any] = {
    "nodes": {"type": "list", "elements": "str"},
    "gpus": {"type": "int"},
    "namespace": {"type": "str", "default": "gpufleet-validation"},
    "image": {"type": "str", "default": "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0-ubuntu22.04"},
    "runtime_class": {"type": "str"},
    "timeout": {"type": "int", "default": 300},
    "keep": {"type": "bool", "default": False},
}


def validate(module: AnsibleModule) -> dict[str, t.Any]:
    """Look, decide, launch and judge."""
    api = connect(module)
    seen = observe(api)
    gpu_cluster = cluster_facts(seen)
    around = Surroundings(module.params["namespace"], [], gpu_cluster["nodes"], seen.nodes)
    try:
        plan = make_plan(gpu_cluster, module.params, secrets.token_hex(4))
    except GpuFleetError as error:
        if not module.check_mode:
            raise
        return announce_obstacle(error)
    if module.check_mode:
        return announce(plan, around)
    validation = Validation(api, plan.run, plan.targets, around)
    validation.carry_out(keep=module.params["keep"])
    return report(plan, validation.checks, validation.around)


def main() -> None:
    run_module(validate, cluster_argument_spec(**OPTIONS))


if __name__ == "__main__":
    main()
