# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_node_info
short_description: Facts and findings on a node with NVIDIA GPUs
version_added: 0.1.0
author:
  - gpufleet authors (@gpufleet)
description:
  - Looks once at a node, from the PCI bus through the driver to the container runtime, and says what is there and what is wrong with it.
  - It never fails because something on the node is sick. What could not be read is listed in RV(collector_errors).
  - It changes nothing. In particular C(nvidia-smi) isn't run while the driver isn't loaded, since it would load it.
  - The evidence is read on the node with nothing but Python; facts and findings are made of it on the controller, so that saved evidence can be
    looked at again without the node.
extends_documentation_fragment:
  - gpufleet.k8s._attributes
  - gpufleet.k8s._attributes.info
  - gpufleet.k8s._attributes.action
options:
  gather:
    description:
      - The parts of RV(gpu_node) that are wanted. The others are V(null), and findings that need them are not made.
    type: list
    elements: str
    choices: [platform, pci, driver, gpus, runtimes, toolkit]
    default: [platform, pci, driver, gpus, runtimes, toolkit]
  raw:
    description:
      - Return the evidence too.
      - Save it as JSON to look at it again with O(evidence). Registry credentials in it are masked; UUIDs and serial numbers are not.
    type: bool
    default: false
  timeout:
    description:
      - Seconds that the commands on the node may take together, and again the container runtime's answer.
      - A command that hangs costs this time once, and the facts that need it are missing.
    type: int
    default: 10
  evidence:
    description:
      - Path on the controller of evidence that was saved earlier, a JSON file or a folder with C(evidence.json) in it.
      - With it no node is looked at, and none needs to be reachable.
    type: path
notes:
  - Runs without privileges as far as it can. The container runtime's socket usually needs C(become).
requirements:
  - Python 3.8 or later on the node, and nothing else
"""

EXAMPLES = r"""
- name: Read facts and findings
  gpufleet.k8s.gpu_node_info:
  become: true
  register: node

- name: Show what is wrong
  ansible.builtin.debug:
    msg: "{{ node.findings | selectattr('severity', 'in', ['error', 'warning']) | map(attribute='summary') }}"

- name: Only the driver, for a quick check
  gpufleet.k8s.gpu_node_info:
    gather: [pci, driver]
  register: node

- name: Collect the evidence
  gpufleet.k8s.gpu_node_info:
    raw: true
  register: node

- name: Save it on the controller
  ansible.builtin.copy:
    content: "{{ node.evidence | to_json }}"
    dest: "evidence/{{ inventory_hostname }}.json"
    mode: "0600"
  delegate_to: localhost

- name: Look again at saved evidence, without the node
  gpufleet.k8s.gpu_node_info:
    evidence: evidence/gpu-1.json
"""

RETURN = r"""
gpu_node:
  description: Facts on the node. V(null) where something is unknown, and for what O(gather) left out.
  returned: success
  type: dict
  contains:
    platform:
      description: The machine and its operating system.
      type: dict
      contains:
        kind:
          description: One of V(bare_metal), V(virtual_machine), V(vgpu_guest), V(wsl2), V(tegra).
          type: str
          sample: bare_metal
        os:
          description: From C(/etc/os-release).
          type: dict
          contains:
            id:
              description: The distribution's name.
              type: str
              sample: debian
            version_id:
              description: Its version.
              type: str
              sample: "13"
            codename:
              description: The version's name.
              type: str
              sample: trixie
            pretty_name:
              description: Name and version, for people.
              type: str
              sample: Debian GNU/Linux 13 (trixie)
            like:
              description: The distributions that it derives from.
              type: list
              elements: str
        kernel:
          description: Release of the running kernel.
          type: str
          sample: 6.12.38+deb13-amd64
        machine:
          description: Processor architecture.
          type: str
          sample: x86_64
        boot_id:
          description: Changes with every boot.
          type: str
        uptime_s:
          description: Seconds since the boot.
          type: int
        secure_boot:
          description: Whether Secure Boot is on; V(null) where the firmware isn't UEFI.
          type: bool
        reboot_required:
          description: Whether a package asked for a reboot (C(/run/reboot-required)).
          type: bool
    pci:
      description: NVIDIA's functions on the PCI bus, from C(/sys/bus/pci/devices). V(null) where the bus can't be read.
      type: list
      elements: dict
      contains:
        address:
          description: As sysfs writes it.
          type: str
          sample: "0000:3b:00.0"
        vendor_id:
          description: Four hexadecimal digits.
          type: str
          sample: 10de
        device_id:
          description: Four hexadecimal digits.
          type: str
          sample: "2335"
        class:
          description: Base class and subclass, four hexadecimal digits.
          type: str
          sample: "0302"
        kind:
          description: One of V(gpu), V(nvswitch), V(audio), V(other).
          type: str
          sample: gpu
        driver:
          description: The kernel driver that holds the function.
          type: str
          sample: nvidia
    driver:
      description: The NVIDIA driver.
      type: dict
      contains:
        loaded_version:
          description: Version of the kernel module that is loaded.
          type: str
          sample: 580.159.04
        kernel_module:
          description: Its flavour, V(open) or V(proprietary).
          type: str
          sample: open
        userspace_version:
          description: Version of the libraries, as they answer or, where they don't, as they lie on the disk.
          type: str
          sample: 580.159.04
        installed_version:
          description: Version of the packages, without epoch and revision.
          type: str
          sample: 580.159.04
        attached_gpus:
          description: Number of GPUs that the driver has. May be above the number in RV(gpu_node.gpus), which then isn't complete.
          type: int
          sample: 2
        cuda_version:
          description: The newest CUDA version that the driver serves.
          type: str
          sample: "13.0"
        packages:
          description: The driver's packages that the package manager knows.
          type: list
          elements: dict
          contains: &packages
            name:
              description: Name of the package.
              type: str
              sample: nvidia-open
            version:
              description: The whole version.
              type: str
              sample: 580.159.04-1
            status:
              description: What is wanted and what is, in dpkg's letters. V(ii) is installed; a hold is not shown here.
              type: str
              sample: ii
            held:
              description: Whether the package manager keeps this version.
              type: bool
        interrupted_packages:
          description: Names of packages that are in a state between installed and removed.
          type: list
          elements: str
        module_files:
          description: Files of the kernel module that are there for the running kernel, relative to its directory below C(/lib/modules).
          type: list
          elements: str
        conflicting_driver:
          description: Another driver that holds a GPU, for example V(nouveau).
          type: str
        nvidia_smi:
          description: How C(nvidia-smi -q -x) ended; V(null) where it wasn't run.
          type: dict
          contains:
            exit_code:
              description: Its exit code; V(null) where it didn't end by itself.
              type: int
            timed_out:
              description: Whether it was stopped after O(timeout).
              type: bool
            message:
              description: What it said where it listed no GPU, at most 500 characters.
              type: str
        healthy:
          description: Whether a driver is loaded and answers, and its libraries are of the same version.
          type: bool
    gpus:
      description: The GPUs that the driver lists, from C(nvidia-smi -q -x).
      type: list
      elements: dict
      contains:
        index:
          description: Position in the driver's list.
          type: int
        uuid:
          description: The GPU's UUID.
          type: str
          sample: GPU-00000001-0000-4000-8000-000000000001
        serial:
          description: Serial number of the board.
          type: str
        minor_number:
          description: Number of the device file C(/dev/nvidiaN).
          type: int
        pci_address:
          description: As sysfs writes it.
          type: str
          sample: "0000:3b:00.0"
        product:
          description: The product's name.
          type: str
          sample: NVIDIA H200
        product_known:
          description: Whether the driver knows the product. An older driver than the card gives a general name.
          type: bool
        architecture:
          description: The GPU's generation.
          type: str
          sample: Hopper
        memory_total_mib:
          description: Memory in MiB. V(null) where the GPU shares the system's.
          type: int
          sample: 143771
        memory_used_mib:
          description: Memory in use, in MiB.
          type: int
        bar1_total_mib:
          description: Size of the memory window on the PCI bus, in MiB.
          type: int
        mig_mode:
          description: V(Enabled) or V(Disabled); V(null) where the GPU can't be partitioned.
          type: str
          sample: Disabled
        mig_mode_pending:
          description: The mode after the next reset.
          type: str
        mig_devices:
          description: The MIG devices.
          type: list
          elements: dict
          contains:
            index:
              description: Number of the device on its GPU.
              type: int
            gpu_instance_id:
              description: Number of its GPU instance.
              type: int
            compute_instance_id:
              description: Number of its compute instance.
              type: int
            memory_total_mib:
              description: Memory in MiB.
              type: int
        ecc_mode:
          description: V(Enabled) or V(Disabled); V(null) where the memory has no ECC.
          type: str
        ecc_mode_pending:
          description: The mode after the next reset.
          type: str
        recovery_action:
          description: What the GPU asks for. V(None) is a value, and means nothing.
          type: str
          sample: None
        virtualization_mode:
          description: Whether the GPU is passed through, or one of a vGPU guest.
          type: str
        persistence_mode:
          description: V(Enabled) or V(Disabled).
          type: str
        compute_mode:
          description: Whether several processes may use the GPU.
          type: str
          sample: Default
        temperature_c:
          description: Temperature in degrees Celsius.
          type: int
    runtimes:
      description: Container runtimes. Empty where the node has none.
      type: list
      elements: dict
      contains:
        name:
          description: Its name.
          type: str
          sample: containerd
        version:
          description: The running daemon's version, else the package's.
          type: str
          sample: 1.7.24
        active:
          description: Whether it answers on its socket; V(null) where access to that is denied.
          type: bool
        config_path:
          description: The main configuration file; V(null) where there is none and the defaults rule.
          type: str
          sample: /etc/containerd/config.toml
        config_version:
          description: Version of that file's format, 1 to 4.
          type: int
          sample: 2
        config_valid:
          description: Whether a start would accept the configuration.
          type: bool
        config_error:
          description: Why not.
          type: str
        config_error_path:
          description: In which file.
          type: str
        dumped:
          description: Whether the facts are what C(containerd config dump) gives. Otherwise they are merged from the files.
          type: bool
        drop_ins:
          description: The files that the configuration imports, in their order.
          type: list
          elements: str
          sample: [/etc/containerd/conf.d/99-nvidia.toml]
        orphan_drop_ins:
          description: Files beside the configuration that define runtime handlers and are imported by nothing.
          type: list
          elements: str
        import_cycle:
          description: Whether a file imports one that is already being read.
          type: bool
        disabled_plugins:
          description: As configured.
          type: list
          elements: str
        handlers:
          description: The runtime handlers of the effective configuration.
          type: list
          elements: dict
          contains: &handlers
            name:
              description: The name that a RuntimeClass gives as its handler.
              type: str
              sample: nvidia
            runtime_type:
              description: The shim that runs its containers.
              type: str
              sample: io.containerd.runc.v2
            binary:
              description: The program that the shim calls.
              type: str
              sample: /usr/bin/nvidia-container-runtime
            systemd_cgroup:
              description: Whether it lets systemd manage its cgroups; V(null) where the option isn't set.
              type: bool
        default_handler:
          description: The handler of pods without a RuntimeClass.
          type: str
          sample: runc
        default_explicit:
          description: Whether the configuration names it, rather than containerd's own default.
          type: bool
        cdi_enabled:
          description: Whether CDI devices can be injected.
          type: bool
        cri:
          description: What the running daemon says over the CRI; V(null) where it has no socket.
          type: dict
          contains:
            endpoint:
              description: Where it was asked.
              type: str
              sample: unix:///run/containerd/containerd.sock
            ready:
              description: Whether it calls itself ready.
              type: bool
            reason:
              description: Why not, as one word.
              type: str
            message:
              description: Why not, or why it gave no answer.
              type: str
            grpc_status:
              description: gRPC status code of a call that failed, for example 12 where the CRI plugin is disabled.
              type: int
            denied:
              description: Whether access to the socket is denied.
              type: bool
            version:
              description: The daemon's version.
              type: str
            handlers:
              description: Names of the handlers that the daemon knows; V(null) where it doesn't say.
              type: list
              elements: str
            default_handler:
              description: The handler that it uses by default.
              type: str
            runtimes:
              description: Those handlers as the daemon has them.
              type: list
              elements: dict
              contains: *handlers
    toolkit:
      description: NVIDIA's container toolkit.
      type: dict
      contains:
        version:
          description: Version of its packages, without revision; V(null) where none is installed.
          type: str
          sample: 1.20.2
        packages:
          description: Its packages that the package manager knows.
          type: list
          elements: dict
          contains: *packages
        interrupted_packages:
          description: Names of packages that are in a state between installed and removed.
          type: list
          elements: str
        ctk_version:
          description: What C(nvidia-ctk --version) says.
          type: str
          sample: 1.20.2
findings:
  description: What is to be said about the node. The first is the root cause. A healthy node has none that is an error or a warning.
  returned: success
  type: list
  elements: dict
  contains:
    code:
      description: The finding's name, which never changes.
      type: str
      sample: DriverNotLoaded
    severity:
      description: One of V(error), V(warning), V(info).
      type: str
      sample: error
    subject:
      description: What it is about.
      type: dict
      contains:
        kind:
          description: V(node), V(gpu) or V(file).
          type: str
        name:
          description: Its name.
          type: str
        namespace:
          description: Always V(null) here.
          type: str
    summary:
      description: One sentence, with the values found and expected.
      type: str
    cause:
      description: Why this happens.
      type: str
    next_step:
      description: What to do now.
      type: str
    evidence:
      description: What shows it.
      type: list
      elements: dict
      contains:
        where:
          description: File, command or field.
          type: str
        text:
          description: What was found there.
          type: str
    retryable:
      description: Whether waiting may cure it.
      type: bool
collector_errors:
  description: What could not be read.
  returned: success
  type: list
  elements: dict
  contains:
    what:
      description: File or command.
      type: str
    error:
      description: Why not.
      type: str
evidence:
  description: The raw evidence, to be saved and given to O(evidence) later.
  returned: when O(raw) is true
  type: dict
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.node import collect
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import NODE_INFO_OPTIONS
from ansible_collections.gpufleet.k8s.plugins.module_utils._module import run_module


def observe(module: AnsibleModule) -> dict[str, t.Any]:
    """The evidence; what it means is found out on the controller."""
    return {"evidence": collect(Host(module.run_command), module.params["gather"], module.params["timeout"])}


def main() -> None:
    run_module(observe, NODE_INFO_OPTIONS)


if __name__ == "__main__":
    main()
