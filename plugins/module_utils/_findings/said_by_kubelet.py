# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the kubelet says of a pod that it refuses or can't start."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.wording import Wording

SAID_BY_KUBELET = (
    Wording(
        "SharedRequestTooLarge",
        r"maximum request size for shared resources is (?P<most>\d+); found (?P<asked>\d+)",
        "{asked} replicas of a shared GPU asked for, {most} allowed",
    ),
    Wording("SharedRequestTooLarge", r"maximum request size for shared resources is (?P<most>\d+)", "at most {most} replica of a shared GPU allowed"),
    Wording("DeviceUnhealthy", r"cannot allocate unhealthy devices (?P<resource>[^\s,]+)", "no healthy {resource} left on the node"),
    Wording(
        "DeviceUnavailable",
        r"devices unavailable for (?P<resource>\S+?)\. Requested: (?P<requested>\d+), Available: (?P<available>\d+)",
        "{requested} {resource} asked for, {available} available to the kubelet",
    ),
    Wording(
        "DeviceUnavailable",
        r"didn't have enough resource: (?P<resource>nvidia\.com/\S+?), requested: (?P<requested>\d+), used: (?P<used>\d+), capacity: (?P<capacity>\d+)",
        "{requested} {resource} asked for, {used} of {capacity} in use on the node",
    ),
    Wording(
        "DeviceUnavailable", r"Resources cannot be allocated with Topology locality", "no free devices and CPUs share a NUMA node", since="Kubernetes 1.16"
    ),
    Wording(
        "ReferencedObjectMissing",
        r"(?P<kind>configmap|secret|persistentvolumeclaim) \"(?P<name>[^\"\n]+)\" not found",
        "{kind} {name} doesn't exist in the namespace",
    ),
    Wording(
        "ReferencedObjectMissing",
        r"couldn't find key (?P<key>\S+) in (?P<kind>ConfigMap|Secret) (?P<name>\S+)",
        "{kind} {name} has no key {key}",
    ),
    Wording(
        "ReferencedObjectMissing",
        r"references non-existent config key: (?P<key>[^\s,\"]+)",
        "the ConfigMap or Secret that it mounts has no key {key}",
    ),
    Wording(
        "PodSecurityViolation",
        r"container has runAsNonRoot and image (?:will run as root|has non-numeric user)",
        "the pod demands a user other than root and the image has none; runAsUser is missing",
    ),
)
