# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_diagnose
short_description: Say why GPU work doesn't run, from a live cluster or from files that somebody sent
version_added: 0.1.0
author:
  - gpufleet authors (@gpufleet)
description:
  - Names the causes, the root cause first, and what to do about each. See RV(findings).
  - Asks a cluster about a pod, a job, a namespace, a node, the GPU Operator, or about all of it, in a bounded number of requests. Secrets are never
    read, and credentials in what is read are masked.
  - Reads a folder or a file with O(evidence), with or without a cluster. Files are told apart by their content, whatever their names are. What can't be
    used is listed in RV(unused).
  - It changes nothing in the cluster. Findings don't fail it unless O(fail_on) says so.
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - gpufleet.k8s._cluster
  - gpufleet.k8s._attributes
  - gpufleet.k8s._attributes.info
  - gpufleet.k8s._attributes.action
  - gpufleet.k8s._attributes.cluster
options:
  evidence:
    description:
      - Path on the controller of a folder or a file with evidence. A support bundle, what P(gpufleet.k8s.gpu_node_info#module) returned with C(raw), or
        any mix of the output of C(nvidia-smi), kernel logs, C(lspci), package lists, configuration files of container runtimes, C(kubectl get -o json),
        C(kubectl get -o yaml), C(kubectl describe), logs and the output of Helm.
      - Nothing in it is executed, and links that lead out of it aren't followed.
    type: path
  live:
    description:
      - Whether to ask the cluster. By default it is asked unless only O(evidence) is given. Set it to V(true) to look at O(evidence) and the whole
        cluster together.
    type: bool
  pod:
    description:
      - Name of a pod in O(namespace) to explain. A name that no pod has fails the module with code V(PodNotFound), and RV(failure) has near names.
    type: str
  job:
    description:
      - Name of a Job in O(namespace) to explain, with its pods or why it has none. Code V(JobNotFound) if there is no such Job.
    type: str
  namespace:
    description:
      - Namespace of O(pod) or O(job), V(default) if omitted.
      - Without these, the namespace whose GPU pods are to be explained. Code V(NamespaceNotFound) if it doesn't exist.
    type: str
  node:
    description:
      - Name of a node to explain, with what runs on it. Code V(NodeNotFound) if there is no such node.
    type: str
  operator:
    description:
      - Explain the GPU Operator, its resources and operands.
    type: bool
    default: false
  log_lines:
    description:
      - Lines to read of the end of a log. V(0) for no logs.
      - Logs are read of containers that aren't well and of device plugins beside them, at most 40 and at most 256 KiB of each.
    type: int
    default: 100
  save:
    description:
      - Path of a folder on the controller to save a support bundle in, which O(evidence) reads again. Made with mode V(0700), files with V(0600).
      - Credentials in it are masked always.
    type: path
  mask:
    description:
      - Put made-up values in place of UUIDs, serial numbers, MAC and IP addresses in the bundle. Equal values stay equal throughout the bundle.
        Names of nodes, namespaces and pods stay.
      - The key behind them is kept beside the folder, in a file with the suffix C(.masking-key), so that a second run makes the same values.
        Don't send it along.
    type: bool
    default: false
  fail_on:
    description:
      - Fail with code V(FindingsReported) if a finding is at least as severe.
    type: str
    choices: [never, error, warning]
    default: never
notes:
  - It needs the permissions to get and list nodes, pods, events, resourcequotas, limitranges, daemonsets, runtimeclasses and jobs, to get pods/log and
    configmaps, and for the GPU Operator to list deployments and its resources and to get their customresourcedefinitions.
    What it may not read is listed in RV(unused), and doesn't fail it.
seealso:
  - module: gpufleet.k8s.gpu_cluster_info
  - module: gpufleet.k8s.gpu_node_info
"""

EXAMPLES = r"""
- name: Explain why a pod doesn't start
  gpufleet.k8s.gpu_diagnose:
    namespace: research
    pod: train-1
  register: diagnosis

- name: Show the causes
  ansible.builtin.debug:
    msg: "{{ diagnosis.findings | map(attribute='summary') }}"

- name: Explain a job that has no pods
  gpufleet.k8s.gpu_diagnose:
    namespace: research
    job: train

- name: Look at the whole cluster, and save what was seen for somebody else
  gpufleet.k8s.gpu_diagnose:
    save: support/
    mask: true

- name: Explain what a colleague sent, without any cluster
  gpufleet.k8s.gpu_diagnose:
    evidence: ~/Downloads/gpu-problem/
  register: diagnosis

- name: Fail a pipeline if anything about a node is an error
  gpufleet.k8s.gpu_diagnose:
    node: gpu-1
    fail_on: error
"""

RETURN = r"""
findings:
  description: What is wrong, the root cause first. The codes are stable.
  returned: success
  type: list
  elements: dict
  contains:
    code:
      description: Name of the cause.
      type: str
      sample: RuntimeHandlerMissing
    severity:
      description: V(error), V(warning) or V(info).
      type: str
    subject:
      description: What it is about, with C(kind), C(name) and C(namespace).
      type: dict
    summary:
      description: One sentence with the values found and expected.
      type: str
    cause:
      description: Why this happens.
      type: str
    next_step:
      description: What to do now.
      type: str
    evidence:
      description: What shows it, each with C(where) and C(text).
      type: list
      elements: dict
    retryable:
      description: Whether waiting may cure it.
      type: bool
    consequence_of:
      description: Code of the finding before it that explains it, V(null) if none does.
      type: str
summary:
  description: The findings in one line each.
  returned: success
  type: list
  elements: str
nodes:
  description: Names of the nodes that were looked at.
  returned: success
  type: list
  elements: str
unused:
  description: What could not be read or used, each with C(what) and C(reason).
  returned: success
  type: list
  elements: dict
bundle:
  description: Paths of the files of the support bundle.
  returned: O(save) is given
  type: list
  elements: str
failure:
  description:
    - Why the module failed, with C(code) and C(details).
  returned: failure
  type: dict
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.connection import connect
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.diagnosis import diagnose
from ansible_collections.gpufleet.k8s.plugins.module_utils._cluster.options import DIAGNOSE_ALTERNATIVES, DIAGNOSE_OPTIONS, cluster_argument_spec
from ansible_collections.gpufleet.k8s.plugins.module_utils._module import run_module


def read(module: AnsibleModule) -> dict[str, t.Any]:
    """What the action plugin makes the result of: objects, logs and notes."""
    return diagnose(connect(module), module.params)


def main() -> None:
    run_module(read, cluster_argument_spec(**DIAGNOSE_OPTIONS), mutually_exclusive=DIAGNOSE_ALTERNATIVES)


if __name__ == "__main__":
    main()
