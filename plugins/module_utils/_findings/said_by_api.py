# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. What the API server says when it refuses something, and kubectl in its place."""

from __future__ import annotations

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.wording import Wording

SAID_BY_API = (
    Wording(
        "QuotaExceeded",
        r"exceeded quota: (?P<quota>[^,\n]+), requested: (?P<requested>[^\n]+?), used: (?P<used>[^\n]+?), limited: (?P<hard>\S+)",
        "quota {quota} is used up: {requested} requested, {used} used of {hard}",
    ),
    Wording("QuotaRequiresRequests", r"failed quota: (?P<quota>[^:\n]+): must specify (?P<missing>[^\n]+)", "quota {quota} demands {missing}"),
    # "would violate" only warns.
    Wording(
        "PodSecurityViolation",
        r"violates PodSecurity \"(?P<level>[^\"\n]+)\": (?P<violations>[^\n]+)",
        "Pod Security level {level} refuses {violations}",
        since="Kubernetes 1.22",
    ),
    Wording("PodSecurityViolation", r"unable to validate against any pod security policy", "no PodSecurityPolicy admits it", until="Kubernetes 1.24"),
    Wording(
        "AdmissionWebhookDenied",
        r"admission webhook \"(?P<webhook>[^\"\n]+)\" denied the request: ?(?P<reason>[^\n]*)",
        "webhook {webhook} refused it: {reason}",
    ),
    Wording(
        "AdmissionWebhookDenied",
        r"ValidatingAdmissionPolicy '(?P<policy>[^'\n]+)' with binding [^\n]+? denied request: ?(?P<reason>[^\n]*)",
        "policy {policy} refused it: {reason}",
        since="Kubernetes 1.26",
    ),
    Wording("RuntimeClassMissing", r"RuntimeClass \"(?P<runtime_class>[^\"\n]+)\" not found", "RuntimeClass {runtime_class} doesn't exist"),
    Wording(
        "RuntimeClassMissing",
        r"runtimeclass(?:es)?\.node\.k8s\.io \"(?P<runtime_class>[^\"\n]+)\" not found",
        "RuntimeClass {runtime_class} doesn't exist",
    ),
    Wording("ReferencedObjectMissing", r"no PriorityClass with name (?P<name>\S+) was found", "PriorityClass {name} doesn't exist"),
    Wording("ReferencedObjectMissing", r"serviceaccount \"(?P<name>[^\"\n]+)\" not found", "service account {name} doesn't exist"),
    Wording(
        "DrainBlockedByPdb",
        r"Cannot evict pod as it would violate the pod's disruption budget",
        "a disruption budget forbids the eviction",
    ),
    Wording(
        "DrainBlockedByPod",
        r"cannot delete Pods that declare no controller \(use --force to override\): (?P<pods>[^\n\],]+)",
        "{pods} has no controller that would make it again",
    ),
    Wording(
        "DrainBlockedByPod",
        r"cannot delete (?:DaemonSet-managed Pods|Pods with local storage) \(use --[^\n)]*\): (?P<pods>[^\n\],]+)",
        "{pods} stands in the drain's way",
    ),
)
