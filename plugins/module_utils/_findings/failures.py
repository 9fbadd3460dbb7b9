# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release.

Codes with which a module or role of this collection stops and that name no cause on a node or in a cluster: what was asked for isn't there, isn't allowed,
or isn't possible from here. Causes are in the catalogue, whose codes a failure may have too.
"""

from __future__ import annotations

import typing as t


class Failure(t.NamedTuple):
    """What is always true of a failure; the values found stand in its message and details.

    :param meaning: what was expected and isn't so.
    :param next_step: what to do now.
    """

    meaning: str
    next_step: str


_CLUSTER = {
    "LibraryMissing": Failure(
        "The Python library that talks to Kubernetes isn't on the controller.", "Install it with the Python that the message names: `pip install kubernetes`."
    ),
    "KubeconfigUnreadable": Failure("The kubeconfig can't be read, or isn't one.", "Correct the option kubeconfig or the variable KUBECONFIG."),
    "ContextNotFound": Failure("The kubeconfig has no such context.", "Choose one of those that the message lists (`kubectl config get-contexts`)."),
    "ApiUnreachable": Failure(
        "The API server doesn't answer.",
        "Check that it runs, that the controller reaches it, and its address and CA in the kubeconfig.",
    ),
    "ApiUnauthorized": Failure("The API server doesn't accept the credentials.", "Renew the credentials of the kubeconfig."),
    "ApiForbidden": Failure("The credentials lack a permission.", "Have verb and resource of the message granted (RBAC)."),
    "ApiNotFound": Failure("The API server has no such object, or doesn't serve this API.", "Check the name, and the cluster's version."),
    "ApiConflict": Failure("Somebody else changed the object at the same time, or it is there already.", "Run again."),
    "ApiGone": Failure("The API server no longer has the list that was being read.", "Run again."),
    "ApiInvalid": Failure("The API server finds fault with an object that was sent.", "Correct the value that the message names."),
    "ApiError": Failure("The API server answered with another error.", "Read its words in the message; run again where it is a passing one."),
    "AdmissionRefused": Failure("Admission refused an object: Pod Security, a quota or a webhook.", "Follow the words in the message."),
    "NodeNotFound": Failure("The cluster has no Node of that name.", "Compare with `kubectl get nodes`; set gpu_node_name where the host has another name."),
    "PodNotFound": Failure("The namespace has no such pod.", "Take one of the near names in the failure's details, or correct the namespace."),
    "JobNotFound": Failure("The namespace has no such Job.", "Take one of the near names in the failure's details, or correct the namespace."),
    "NamespaceNotFound": Failure("The cluster has no such namespace.", "Take one of the near names in the failure's details."),
    "NamespaceNotReady": Failure(
        "A namespace that was just made isn't ready for pods in time.",
        "Look at its events and at the controller manager; run again.",
    ),
    "NamespaceTerminating": Failure("The namespace is being deleted.", "Wait until it is gone (`kubectl get ns`), then run again."),
    "NamespaceRefusesPods": Failure(
        "The namespace refuses the validation's pods.",
        "Choose another gpu_validate_namespace, or have the reason named lifted.",
    ),
}

_EVIDENCE = {
    "EvidenceUnreadable": Failure("The evidence can't be read: no such file or folder, no permission, or nothing in it that is known.", "Correct the path."),
    "EvidenceUnsupported": Failure(
        "The evidence is of a form that this version doesn't know.",
        "Use the version of the collection that saved it, or a newer one.",
    ),
    "EvidenceAmbiguous": Failure("The folder holds evidence of several nodes, and none is named like the host.", "Name one with the option name."),
    "NothingToExplain": Failure("There is neither a cluster nor evidence to explain.", "Give the option evidence, or leave live at its default."),
    "BundleUnwritable": Failure("The support bundle can't be written.", "Choose a folder that you may write to and that has space."),
    "FindingsReported": Failure("There are findings as severe as fail_on says.", "Start with the first finding; its page tells more."),
}

_NODE_ROLES = {
    "PreflightFailed": Failure(
        "The node isn't fit for a GPU node; nothing was changed.",
        "Work through the list in the message, each entry of which has a code.",
    ),
    "DriverVersionMismatch": Failure(
        "The node has a driver of another version, and the role may not replace it.",
        "Set gpu_driver_version to the version found, or gpu_driver_upgrade: true.",
    ),
    "DriverVersionUnavailable": Failure("The repository doesn't offer that version of the driver.", "Set gpu_driver_version to one that the message lists."),
    "DriverInstallFailed": Failure("The package manager could not install the driver.", "Read its words in the message, then run again."),
    "ToolkitVersionUnavailable": Failure(
        "The repository doesn't offer that version of the toolkit.",
        "Set gpu_toolkit_version to one that the message lists.",
    ),
    "ToolkitInstallFailed": Failure("The package manager could not install the toolkit.", "Read its words in the message, then run again."),
    "RuntimeRestored": Failure(
        "The runtime didn't become ready with its new configuration, so that it has its previous one back and runs with it.",
        "Read `journalctl -u containerd`, cure the reason and run again.",
    ),
    "RuntimeNotHealthy": Failure(
        "The container runtime doesn't become ready.",
        "Read `journalctl -u containerd`; the message says where the previous files are.",
    ),
}

_CLUSTER_ROLES = {
    "NoNodesGiven": Failure("The role isn't told which Nodes to equip.", "Name at least one in gpu_device_plugin_nodes."),
    "NodeLabelConflict": Failure("Somebody labelled the Node as having no GPU.", "Check the GPU and its driver, then remove the label."),
    "RuntimeClassConflict": Failure(
        "There is a RuntimeClass of that name for another handler.",
        "Choose another gpu_device_plugin_runtime_class, or that handler.",
    ),
    "RuntimeClassAmbiguous": Failure("Several RuntimeClasses could be the one for GPUs.", "Set gpu_validate_runtime_class to one that the message lists."),
    "DevicePluginNotSettled": Failure("The device plugin's DaemonSet didn't replace its pods in time.", "Look for a pod of it that can't end or start."),
    "GpuNotAllocatable": Failure("The Node doesn't offer the GPUs that it has to.", "Work through the findings in the failure's details."),
    "ValidationFailed": Failure(
        "The Node didn't give pods its GPUs.",
        "Work through the findings in the failure's details, of which the first is the root cause.",
    ),
    "Interrupted": Failure("The validation was stopped by a signal, and has removed what it made.", "Run again."),
}

_OURS = {"Unexpected": Failure("The module stopped on an error that it doesn't know.", "Please report it, with the traceback in the failure's details.")}

# By who stops, for people.
GROUPS: t.Mapping[str, t.Mapping[str, Failure]] = {
    "Reaching a cluster and its objects": _CLUSTER,
    "Evidence, bundles and diagnosis": _EVIDENCE,
    "Roles for nodes": _NODE_ROLES,
    "Roles for the cluster": _CLUSTER_ROLES,
    "Faults of the collection": _OURS,
}

FAILURES: t.Mapping[str, Failure] = {code: failure for group in GROUPS.values() for code, failure in group.items()}
