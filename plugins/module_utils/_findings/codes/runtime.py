# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. Codes of a node's container runtime, of NVIDIA's container toolkit, and of CDI."""

from __future__ import annotations

import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._findings.codes.entry import (
    DISTRIBUTION,
    ERROR,
    INFO,
    NODE_CONFIG,
    NODE_IMAGE,
    REASON,
    WARNING,
    CatalogueEntry,
)

CODES: t.Mapping[str, CatalogueEntry] = {
    "RuntimeNotInstalled": CatalogueEntry(
        ERROR,
        cause="The node has no container runtime that could be given the NVIDIA handler.",
        see="`command -v containerd dockerd crio`: prints nothing, and none of their sockets is in /run.",
        next_step="Install containerd, as for any Kubernetes node, and run again.",
        by_hand=NODE_IMAGE,
    ),
    "ConfigInvalid": CatalogueEntry(
        ERROR,
        cause="A configuration file doesn't parse or holds a value of the wrong type.",
        see="`containerd config dump >/dev/null`, or `dockerd --validate --config-file /etc/docker/daemon.json`: prints file and line of the fault.",
        next_step="Correct the file at the place named; a restart with it would stop the service.",
        variable="gpu_toolkit_containerd_config",
    ),
    "TemplateNotToml": CatalogueEntry(
        INFO,
        cause="The file is a template of k3s or RKE2, not the configuration that runs.",
        see="`grep -n '{{' FILE`: the file has template directives. What runs is the file that the finding names.",
        next_step="Read the generated config.toml beside it.",
        by_hand=DISTRIBUTION,
    ),
    "CriPluginDisabled": CatalogueEntry(
        ERROR,
        cause="containerd runs without its CRI plugin (disabled, or it failed to load), so the kubelet can't use it.",
        see=(
            '`crictl info` says "unknown service runtime.v1.RuntimeService"; `ctr plugins ls | grep cri` shows error or nothing; `containerd '
            "config dump | grep disabled_plugins`."
        ),
        next_step=(
            "Remove the CRI plugin from disabled_plugins in containerd's configuration and restart containerd; else read `ctr plugins ls` and "
            "its log."
        ),
        by_hand=NODE_CONFIG,
    ),
    "DefaultRuntimeUndefined": CatalogueEntry(
        ERROR,
        cause=(
            "The default runtime names a handler that isn't defined. Before containerd 2.1 a drop-in replaces the CRI plugin's whole section, "
            "handlers included."
        ),
        see="`containerd config dump | grep -E 'default_runtime_name|runtimes\\.'`: the name given has no table of its own.",
        next_step=(
            "Define that handler in the last file that has the section, or set default_runtime_name to one that exists; run the role "
            "gpu_toolkit."
        ),
        variable="gpu_toolkit_default_runtime",
    ),
    "RuntimeTypeMissing": CatalogueEntry(
        ERROR,
        cause="A handler is defined without runtime_type, so its containers can't start.",
        see='`containerd config dump`: the table of the handler has no line runtime_type. Pods say "container.Runtime.Name must be set".',
        next_step='Set runtime_type = "io.containerd.runc.v2" for the handler; run the role gpu_toolkit.',
        variable="gpu_toolkit_version",
    ),
    "CgroupDriverMismatch": CatalogueEntry(
        WARNING,
        cause="A handler doesn't use systemd cgroups where the kubelet does: containers are killed or lose their devices later.",
        see="`containerd config dump | grep -E 'runtimes\\.|SystemdCgroup'` beside `grep cgroupDriver /var/lib/kubelet/config.yaml`.",
        next_step="Set SystemdCgroup = true in the handler's options and restart the runtime.",
        by_hand=NODE_CONFIG,
    ),
    "DropInNotImported": CatalogueEntry(
        ERROR,
        cause="A drop-in file defines a handler, but no `imports` pattern of containerd's configuration reads it.",
        see=(
            "`containerd config dump | grep nvidia` prints nothing although the drop-in is there; `grep imports /etc/containerd/config.toml` "
            "names another folder."
        ),
        next_step="Add the drop-in's folder to imports, or move the file; gpu_toolkit_drop_in names where the role writes.",
        variable="gpu_toolkit_drop_in",
    ),
    "RuntimeConfigOverwritten": CatalogueEntry(
        ERROR,
        cause="NVIDIA's entries were in the runtime's configuration and are gone: something regenerated the file.",
        see=(
            "`containerd config dump | grep nvidia` prints nothing, while a copy of the file, or the running daemon (`crictl info`), still "
            "knows the handler."
        ),
        next_step="Run the role gpu_toolkit again and find what else writes that file.",
        variable="gpu_toolkit_handler",
    ),
    "DaemonNotUsingConfig": CatalogueEntry(
        ERROR,
        cause="The configuration on disk is right, but the running daemon was started with another one.",
        see="`crictl info` (or `docker info`) has other runtimes than the file on the disk (`containerd config dump`).",
        next_step="Restart the runtime: `systemctl restart containerd` (or docker).",
        variable="gpu_toolkit_restart_timeout",
    ),
    "RuntimeHandlerMissing": CatalogueEntry(
        ERROR,
        cause="The container runtime has no handler of that name.",
        see='`kubectl describe pod`: "no runtime for "nvidia" is configured". On the node `crictl info | grep nvidia` prints nothing.',
        next_step="Run the role gpu_toolkit on the node, or correct the RuntimeClass's handler.",
        variable="gpu_toolkit_handler",
    ),
    "RuntimeNotRunning": CatalogueEntry(
        ERROR,
        cause="The container runtime is installed, but nothing answers on its socket.",
        see="`systemctl status containerd` (docker, crio): not active; `crictl info` can't connect to the socket.",
        next_step="Start it and read why it stopped: `systemctl restart containerd`, `journalctl -u containerd`.",
        by_hand=REASON,
        retryable=True,
    ),
    "RuntimeTooOld": CatalogueEntry(
        ERROR,
        cause="The container runtime's version lacks what is asked of it.",
        see="`containerd --version`: below 1.7 for CDI, below 1.7.16 for specifications of CDI version 0.7.0.",
        next_step="Upgrade the container runtime.",
        by_hand=NODE_IMAGE,
    ),
    "ToolkitNotInstalled": CatalogueEntry(
        WARNING,
        cause="NVIDIA's container toolkit isn't installed: containers get neither devices nor libraries.",
        see="`nvidia-ctk --version`: not found; `dpkg -l 'nvidia-container-toolkit*'`: nothing installed.",
        next_step="Run the role gpu_toolkit on the node.",
        variable="gpu_toolkit_version",
    ),
    "ToolkitVersionMixed": CatalogueEntry(
        ERROR,
        cause="The toolkit's packages have different versions, which don't work together.",
        see="`dpkg -l 'nvidia-container-toolkit*' 'libnvidia-container*'`: all four must have one version.",
        next_step="Run the role gpu_toolkit: it installs all of them at gpu_toolkit_version.",
        variable="gpu_toolkit_version",
    ),
    "ToolkitVulnerable": CatalogueEntry(
        WARNING,
        cause="The toolkit is older than the version that closes published vulnerabilities.",
        see="`nvidia-ctk --version`: below the version that the finding names (option toolkit_floor of gpu_node_info).",
        next_step="Raise gpu_toolkit_version.",
        variable="gpu_toolkit_version",
    ),
    "ToolkitNotInjecting": CatalogueEntry(
        ERROR,
        cause="Containers start without the GPU's devices or libraries: the NVIDIA runtime isn't in their path.",
        see="In the pod `nvidia-smi` isn't found and `ls /dev/nvidia*` shows nothing, while both work on the node.",
        next_step="Give the pod runtimeClassName: nvidia, or make that handler the default; check the toolkit on the node.",
        variable="gpu_toolkit_default_runtime",
    ),
    "CdiSpecInvalid": CatalogueEntry(
        ERROR,
        cause="A CDI specification can't be read by the runtime.",
        see="`nvidia-ctk cdi list` warns about the file; the container runtime's log names the field.",
        next_step="Generate it again with `nvidia-ctk cdi generate`.",
        variable="gpu_toolkit_version",
    ),
    "CdiSpecStale": CatalogueEntry(
        ERROR,
        cause="The CDI specification describes another driver version or other devices than there are.",
        see=(
            "`grep -h -o 'libcuda.so.[0-9.]*' /var/run/cdi/*.yaml /etc/cdi/*.yaml | sort -u` beside `cat /sys/module/nvidia/version`; "
            "`nvidia-ctk cdi list` beside `nvidia-smi -L`."
        ),
        next_step="Restart nvidia-cdi-refresh.service, or run `nvidia-ctk cdi generate`.",
        variable="gpu_toolkit_cdi",
    ),
    "CdiDeviceUnresolvable": CatalogueEntry(
        ERROR,
        cause="No CDI specification on the node names the device that was asked for.",
        see='`kubectl describe pod`: "unresolvable CDI devices". On the node `nvidia-ctk cdi list` lacks the name.',
        next_step="Compare with `nvidia-ctk cdi list`; generate the specification again.",
        variable="gpu_device_plugin_device_list_strategy",
    ),
    "EnvVarDevicesNotAllowed": CatalogueEntry(
        ERROR,
        cause="The toolkit ignores NVIDIA_VISIBLE_DEVICES of unprivileged containers, and the device plugin uses just that.",
        see="`grep accept-nvidia-visible-devices /etc/nvidia-container-runtime/config.toml`: envvar-when-unprivileged is false.",
        next_step="Use the device list strategy cdi-cri.",
        variable="gpu_device_plugin_device_list_strategy",
    ),
    "DriverRootMismatch": CatalogueEntry(
        ERROR,
        cause="A component looks for the driver below another root than where it is.",
        see="`grep root /etc/nvidia-container-runtime/config.toml` beside where `find / -xdev -name libnvidia-ml.so.1` finds the library.",
        next_step="Give all components the same driver root.",
        variable="gpu_device_plugin_driver_root",
    ),
}
