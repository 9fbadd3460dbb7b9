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
  - It changes nothing. In particular the driver isn't asked while it isn't loaded, since asking would load it.
  - The driver is asked through its library NVML, or with C(nvidia-smi) where the library isn't found or doesn't answer. Both give the same facts.
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
    choices: [platform, pci, driver, gpus, runtimes, toolkit, cdi, kernel_log]
    default: [platform, pci, driver, gpus, runtimes, toolkit, cdi, kernel_log]
  timeout:
    description:
      - Seconds that each command on the node may take, and also NVML and the container runtime's answer. They run side by side.
      - One that hangs costs this time once, and the facts that need it are missing.
    type: int
    default: 10
  driver_root:
    description:
      - Path on the node below which the driver's files lie as they usually do below C(/), for example V(/run/nvidia/driver).
      - Without it NVML's library is looked for where distributions, WSL, driver containers and image-based systems have it.
    type: path
  raw:
    description:
      - Return the evidence too.
      - Save it as JSON to look at it again with O(evidence), or let O(save) do so. Registry credentials in it are masked; UUIDs and serial numbers are not.
    type: bool
    default: false
  name:
    description:
      - Name of the node in RV(findings) and in the folder that O(save) writes. C(inventory_hostname) if omitted.
      - Give the name of its Kubernetes Node where that is another one, so that M(gpufleet.k8s.gpu_diagnose) finds that they are the same.
    type: str
  evidence:
    description:
      - Path on the controller of evidence to look at instead of a node, which then needs not be reachable.
      - Either a JSON file as this module returns it in RV(evidence), or a folder with such a file named C(evidence.json) in it.
      - Or a folder of text that somebody collected by hand, such as the output of C(nvidia-smi), the kernel's log, and configuration files. What a file is is
        told by its content. Where they are of several nodes, those of the one that is named like the host are used.
    type: path
  save:
    description:
      - Folder on the controller to save the evidence to, as a support bundle that M(gpufleet.k8s.gpu_diagnose) and O(evidence) read.
      - All nodes may have the same.
      - Credentials are masked always.
      - Nothing is written in check mode.
    type: path
  mask:
    description:
      - Put pseudonyms in place of UUIDs, serial numbers and addresses in what O(save) writes.
    type: bool
    default: false
  toolkit_floor:
    description:
      - The oldest version of the NVIDIA Container Toolkit without a known vulnerability.
    type: str
    default: 1.19.1
notes:
  - Runs without privileges as far as it can. The container runtime's socket and the kernel's log usually need C(become).
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

- name: Where the driver is that the GPU Operator's container installed
  gpufleet.k8s.gpu_node_info:
    gather: [driver, gpus]
    driver_root: /run/nvidia/driver

- name: Save the evidence of all nodes to send it to somebody
  gpufleet.k8s.gpu_node_info:
    save: bundle
    mask: true
  become: true

- name: Look again at saved evidence, without the node
  gpufleet.k8s.gpu_node_info:
    evidence: bundle/nodes/gpu-1/evidence.json

- name: Look at what somebody else has collected
  gpufleet.k8s.gpu_node_info:
    evidence: mailed-by-a-colleague/
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
        virtualization:
          description: Vendor and product of a virtual machine, from its DMI; V(null) on a machine of its own.
          type: str
          sample: QEMU Standard PC (Q35 + ICH9, 2009)
        unprivileged:
          description: Whether the module ran without the rights of root, so that some facts may be missing.
          type: bool
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
        kernel_command_line:
          description: From C(/proc/cmdline).
          type: str
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
        subsystem_id:
          description: Vendor and device of the board's maker, four hexadecimal digits each.
          type: str
          sample: "10de:16c1"
        link_speed_gts:
          description: Speed of the PCIe link in GT/s. Below the maximum is normal on an idle GPU.
          type: float
          sample: 32.0
        max_link_speed_gts:
          description: The highest speed that the function can have, in GT/s.
          type: float
          sample: 32.0
        link_width:
          description: Lanes of the PCIe link.
          type: int
          sample: 16
        max_link_width:
          description: The highest number of lanes that the function can have.
          type: int
          sample: 16
        numa_node:
          description: The NUMA node that the function is nearest to; V(null) where there is only one.
          type: int
        iommu_group:
          description: Number of its IOMMU group; V(null) without an IOMMU.
          type: int
        is_virtual_function:
          description: Whether it is a virtual function that a host made of a GPU (SR-IOV).
          type: bool
        bars_mib:
          description: Sizes in MiB of its memory windows (BARs) that have an address; one without an address isn't listed.
          type: list
          elements: int
          sample: [16, 262144, 32]
    driver:
      description: The NVIDIA driver.
      type: dict
      contains:
        source:
          description: Who told of the GPUs, V(nvml) or V(nvidia-smi); V(null) where neither did.
          type: str
          sample: nvml
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
        pending_version:
          description: The installed version where another one is loaded. It takes effect with a reboot.
          type: str
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
        held:
          description: Whether the package manager keeps one of them at its version.
          type: bool
        interrupted_packages:
          description: Names of packages that are in a state between installed and removed.
          type: list
          elements: str
        module_files:
          description:
            - Files of the kernel module that are there for the running kernel, relative to its directory below C(/lib/modules).
            - V(null) where nobody looked, as in a folder of evidence.
          type: list
          elements: str
        other_kernels:
          description: Installed kernels besides the running one.
          type: list
          elements: dict
          contains:
            kernel:
              description: The kernel's release.
              type: str
              sample: 6.12.41+deb13-amd64
            has_module:
              description: Whether there is a module of the driver for it.
              type: bool
        dkms:
          description: What C(dkms status) lists of NVIDIA's modules.
          type: list
          elements: dict
          contains:
            module:
              description: The module's name.
              type: str
              sample: nvidia
            version:
              description: Its version.
              type: str
              sample: 580.159.04
            kernel:
              description: The kernel that it is built for; V(null) where it isn't built.
              type: str
            state:
              description: V(added), V(built) or V(installed).
              type: str
              sample: installed
        loaded_modules:
          description: Loaded kernel modules that matter for the GPUs, from C(/proc/modules). V(null) where it wasn't read.
          type: list
          elements: dict
          contains:
            name:
              description: The module's name.
              type: str
              sample: nvidia
            refcount:
              description: Number of its users, of which other modules are some.
              type: int
            used_by:
              description: Names of the modules that use it.
              type: list
              elements: str
        services:
          description: NVIDIA's services, from systemd. Each is V(null) where it isn't installed; all are where systemd wasn't asked.
          type: dict
          contains:
            persistence_daemon:
              description: C(nvidia-persistenced).
              type: dict
              contains: &service
                state:
                  description: systemd's ActiveState.
                  type: str
                  sample: active
                enabled:
                  description: Whether it starts with the node; V(null) where that isn't its own decision.
                  type: bool
                version:
                  description: Version of its package, without revision.
                  type: str
            fabric_manager:
              description: C(nvidia-fabricmanager), which sets up NVSwitches. Its version has to be the driver's.
              type: dict
              contains: *service
            imex:
              description: C(nvidia-imex), which joins the GPUs of several nodes.
              type: dict
              contains: *service
            grid:
              description: C(nvidia-gridd), which gets a vGPU its licence.
              type: dict
              contains: *service
        conflicting_driver:
          description: Another driver that holds a GPU, for example V(nouveau).
          type: str
        failure:
          description: Why NVML or nvidia-smi gives no answer; V(null) where one does, or none was asked.
          type: dict
          contains:
            where:
              description: nvidia-smi, or the function of NVML.
              type: str
            code:
              description: nvidia-smi's exit code, or NVML's return code; both have the same meanings.
              type: int
              sample: 18
            text:
              description: What it said.
              type: str
        nvidia_smi:
          description: How nvidia-smi ended; V(null) where it wasn't run, as where NVML answers.
          type: dict
          contains:
            warnings:
              description: Lines of warning behind its answer, for example of a corrupted infoROM.
              type: list
              elements: str
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
      description:
        - The GPUs that the driver has, through NVML where its library is there, else from C(nvidia-smi -q -x). Both give the same facts.
        - V(compute_capability), the MIG devices' profile and UUID, and the NVLinks may be known to NVML alone.
        - In a folder of evidence any output of nvidia-smi will do.
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
        pci_address:
          description: As sysfs writes it.
          type: str
          sample: "0000:3b:00.0"
        minor_number:
          description: Number of the device file C(/dev/nvidiaN).
          type: int
        product:
          description: The product's name.
          type: str
          sample: NVIDIA H200
        product_known:
          description: Whether the driver knows the product. An older driver than the card gives a general name.
          type: bool
        brand:
          description: The product's line.
          type: str
          sample: NVIDIA
        architecture:
          description: The GPU's generation.
          type: str
          sample: Hopper
        compute_capability:
          description: CUDA's compute capability. From nvidia-smi only where generation and product leave no doubt.
          type: str
          sample: "9.0"
        vbios_version:
          description: Version of the GPU's firmware.
          type: str
          sample: 96.00.A5.00.1A
        memory_total_mib:
          description: Memory in MiB; V(null) with RV(gpu_node.gpus[].unified_memory). Never taken from the product's name.
          type: int
          sample: 143771
        unified_memory:
          description: Whether the GPU has no memory of its own but uses the system's, as GB10 and Jetson do.
          type: bool
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
          description: The MIG devices. Their profile and UUID are known from NVML and from C(nvidia-smi -L), but not from its XML.
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
            profile:
              description: Its size.
              type: str
              sample: 1g.18gb
            uuid:
              description: The device's UUID.
              type: str
            memory_total_mib:
              description: Memory in MiB.
              type: int
        ecc_mode:
          description: V(Enabled) or V(Disabled); V(null) where the memory has no ECC.
          type: str
        ecc_mode_pending:
          description: The mode after the next reset.
          type: str
        ecc_uncorrected_volatile:
          description: Number of errors that ECC did not correct since the driver was loaded.
          type: int
        ecc_uncorrected_aggregate:
          description: The same over the GPU's life.
          type: int
        row_remapping:
          description: Rows of the memory that were replaced by spare ones; V(null) where the GPU doesn't do so (before Ampere).
          type: dict
          contains:
            correctable:
              description: Number of rows replaced after errors that were corrected.
              type: int
            uncorrectable:
              description: Number of rows replaced after errors that were not.
              type: int
            pending:
              description: Whether a row waits for the next reset.
              type: bool
            failed:
              description: Whether a row could not be replaced.
              type: bool
        recovery_action:
          description: What the GPU asks for. V(None) is a value, and means nothing.
          type: str
          sample: None
        fault:
          description: What stands in place of values, for example V(GPU is lost); V(null) on a GPU that answers.
          type: str
        temperature_c:
          description: Temperature in degrees Celsius.
          type: int
        temperature_slowdown_c:
          description: Temperature at which the GPU slows down, in degrees Celsius; V(null) where it states its margin instead.
          type: int
        temperature_shutdown_c:
          description: Temperature at which the GPU stops, in degrees Celsius; V(null) where it states its margin instead.
          type: int
        temperature_memory_c:
          description: Temperature of the memory in degrees Celsius.
          type: int
        tlimit_c:
          description: Margin up to the temperature at which the GPU slows down, in degrees Celsius.
          type: int
        power_draw_w:
          description: Power in watts, averaged by the GPU where it does so.
          type: float
          sample: 123.44
        power_limit_w:
          description: The limit in force, in watts.
          type: float
          sample: 700.0
        power_limit_default_w:
          description: The limit after a restart, in watts.
          type: float
        power_limit_max_w:
          description: The highest limit that can be set, in watts.
          type: float
        clock_sm_mhz:
          description: Clock of the multiprocessors in MHz.
          type: int
        clock_memory_mhz:
          description: Clock of the memory in MHz.
          type: int
        clock_sm_max_mhz:
          description: The highest clock of the multiprocessors in MHz.
          type: int
        clock_memory_max_mhz:
          description: The highest clock of the memory in MHz.
          type: int
        throttle_reasons:
          description: Why the clocks are below the highest, in the words of nvidia-smi's XML. V(gpu_idle) is normal.
          type: list
          elements: str
          sample: [gpu_idle]
        performance_state:
          description: V(P0), the fastest, to V(P15).
          type: str
          sample: P0
        persistence_mode:
          description: V(Enabled) or V(Disabled).
          type: str
        compute_mode:
          description: Whether several processes may use the GPU.
          type: str
          sample: Default
        virtualization_mode:
          description: Whether the GPU is passed through (V(Pass-Through)) or one of a vGPU guest (V(VGPU)).
          type: str
        vgpu:
          description: What a virtual GPU says of itself; V(null) on a whole one.
          type: dict
          contains:
            profile:
              description: Its profile, from the product's name.
              type: str
              sample: H100L-2-24C
            license_status:
              description: As the driver says it.
              type: str
              sample: Unlicensed
            licensed:
              description: Whether it has a licence.
              type: bool
        nvlink:
          description: The GPU's NVLinks; V(null) where it has none, or nobody asked.
          type: dict
          contains:
            links:
              description: Number of links.
              type: int
              sample: 18
            active:
              description: Number of links that are up.
              type: int
              sample: 18
            speed_gbs:
              description: Speed of one link in GB/s.
              type: float
              sample: 26.562
        fabric:
          description: The GPU's place in the NVLink fabric; V(null) where the GPU reports none.
          type: dict
          contains:
            state:
              description: V(Completed), V(In Progress), V(Not Started) or V(Not Supported).
              type: str
              sample: Completed
            status:
              description: How it ended; means something where the state is V(Completed).
              type: str
              sample: Success
            clique_id:
              description: Number of its clique; 0 is normal within one machine.
              type: int
            cluster_uuid:
              description: UUID of its cluster; zeros are normal within one machine.
              type: str
        processes:
          description: Processes that compute on the GPU.
          type: list
          elements: dict
          contains:
            pid:
              description: Process id on the node.
              type: int
            type:
              description: V(C), or another that contains it, such as V(C+G).
              type: str
              sample: C
            name:
              description: The program.
              type: str
            memory_mib:
              description: Memory in MiB that it holds.
              type: int
    kernel_log:
      description: Events of GPUs in the kernel's log since the boot. V(null) where the log can't be read.
      type: dict
      contains:
        source:
          description: V(kmsg), which is the kernel's own buffer, or V(journal).
          type: str
          sample: kmsg
        complete:
          description: Whether the log goes back to the boot.
          type: bool
        dropped:
          description: Number of lines that mattered and were left out, since there were too many of their kind.
          type: int
        driver_version:
          description: The version as which the driver's module last named itself when it was loaded.
          type: str
          sample: 580.159.04
        kernel_module:
          description: Its flavour, V(open) or V(proprietary).
          type: str
        events:
          description: At most 200, one for each kind, GPU and code, in the order in which they first happened.
          type: list
          elements: dict
          contains:
            kind:
              description:
                - V(xid) and V(sxid) are faults that the driver and the NVSwitches report.
                - V(fallen_off_bus), V(rm_init_failed), V(probe_failed), V(not_probed), V(none_probed), V(already_bound), V(unsupported),
                  V(bar_not_assigned) and V(bar_unassigned) say why a GPU didn't start.
                - V(signature_rejected), V(module_unsigned) and V(module_in_use) are about the kernel module.
              type: str
              sample: xid
            pci_address:
              description: The GPU, as sysfs writes its address.
              type: str
              sample: "0000:3b:00.0"
            code:
              description: Number of the Xid or SXid, or what the driver gives as the reason of a failed initialisation.
              type: raw
              sample: 79
            class:
              description:
                - V(fatal) asks for a reset or more, V(application) is a program's fault, V(recovery) tells of the action that the GPU asks for;
                  else V(warning), V(info) or V(unknown).
                - From NVIDIA's Xid catalogue.
              type: str
              sample: fatal
            process:
              description: Name of the process that ran.
              type: str
            count:
              description: How often it happened.
              type: int
            text:
              description: The first message, at most 300 characters.
              type: str
            recovered:
              description: Whether the driver has told since then that the GPU needs no action.
              type: bool
            details:
              description: What else the message names, for example C(recovery_action), C(devices) (a number), C(minor_number), C(driver), C(gsp_firmware).
              type: dict
    runtimes:
      description: Container runtimes, the kubelet's own first. Empty where the node has none.
      type: list
      elements: dict
      contains:
        name:
          description: One of V(containerd), V(docker), V(cri-o).
          type: str
          sample: containerd
        distribution:
          description:
            - The Kubernetes distribution that brings it, V(k3s), V(rke2), V(microk8s) or V(k0s), which write its configuration anew at each start.
            - V(kubeadm) where the host's own is used by a cluster that was made with it. Else V(null).
          type: str
          sample: kubeadm
        version:
          description: The running daemon's version, else the package's.
          type: str
          sample: 1.7.24
        active:
          description: Whether it answers on its socket; V(null) where access to that is denied, or where nobody looked.
          type: bool
        socket:
          description: Path of the socket that it listens on.
          type: str
          sample: /run/containerd/containerd.sock
        used_by_kubelet:
          description:
            - Whether the kubelet's containers are this runtime's, by the kubelet's endpoint or the distribution. V(null) where nothing says so or otherwise.
            - Findings are made on the others only where their configuration is broken.
          type: bool
        kubelet_cgroup_driver:
          description: V(systemd) or V(cgroupfs), from the kubelet's command line or configuration; V(null) where neither says.
          type: str
        edit_path:
          description: The file, or for k0s the folder, that a person edits to change the configuration.
          type: str
          sample: /etc/containerd/config.toml
        config_path:
          description: The main configuration file; V(null) where there is none and the defaults rule.
          type: str
          sample: /etc/containerd/config.toml
        config_version:
          description: Version of that file's format, 1 to 4.
          type: int
          sample: 2
        config_valid:
          description: Whether a start would accept the configuration; V(null) where a template stands in its place.
          type: bool
        config_error:
          description: Why not.
          type: str
        config_error_path:
          description: In which file.
          type: str
        config_error_line:
          description: At which line of it, counted from 1.
          type: int
        keys_at_risk:
          description: The outermost keys of a broken C(daemon.json) that stand behind the fault, which a reader that stops there would lose.
          type: list
          elements: str
          sample: [data-root]
        dumped:
          description: Whether the facts are what C(containerd config dump) or C(crio config) gives. Otherwise they are merged from the files.
          type: bool
        templates:
          description: Files that a distribution makes the configuration of. They hold directives and aren't TOML.
          type: list
          elements: str
        deprecated_default_runtime:
          description: Whether a table C(default_runtime) is set, which containerd no longer follows.
          type: bool
        lost_handlers:
          description: NVIDIA's handlers that a copy of the configuration, the role C(gpu_toolkit) or the daemon knows, and the configuration doesn't.
          type: list
          elements: dict
          contains:
            name:
              description: Name of the handler.
              type: str
            seen_in:
              description: What remembers it.
              type: str
        missing_binaries:
          description: Programs that handlers run and that aren't there.
          type: list
          elements: str
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
        sources:
          description: The file that defines a handler, by the handler's name. The last one counts.
          type: dict
          sample: {nvidia: /etc/containerd/conf.d/99-nvidia.toml}
        default_handler:
          description: The handler of pods without a RuntimeClass; V(null) where CRI-O's own default rules, which depends on its version.
          type: str
          sample: runc
        default_explicit:
          description: Whether the configuration names it, rather than the runtime's own default.
          type: bool
        cdi_enabled:
          description: Whether CDI devices can be injected.
          type: bool
        cdi_asked:
          description: Whether a file of the configuration asks for that.
          type: bool
        cdi_spec_dirs:
          description: Folders in which the runtime looks for CDI specifications, where its configuration names them.
          type: list
          elements: str
        daemon:
          description: What the running Docker says (C(docker info)); V(null) for other runtimes, and where it didn't answer.
          type: dict
          contains:
            version:
              description: The daemon's version.
              type: str
            handlers:
              description: Names of the handlers that the daemon knows; V(null) where it doesn't say.
              type: list
              elements: str
            unknown_handlers:
              description: Names of handlers that it refused.
              type: list
              elements: str
            default_handler:
              description: The handler that it uses by default.
              type: str
            cgroup_driver:
              description: V(systemd) or V(cgroupfs).
              type: str
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
        vulnerable_below:
          description: The first version without a published vulnerability that this module knows of.
          type: str
          sample: 1.19.1
        config_path:
          description: Its configuration, the host's or that of the GPU Operator's toolkit container; V(null) where there is none.
          type: str
          sample: /etc/nvidia-container-runtime/config.toml
        config_valid:
          description: Whether that parses; V(null) where it wasn't read.
          type: bool
        config_error:
          description: Why not.
          type: str
        config_error_line:
          description: At which line, counted from 1.
          type: int
        foreign_section:
          description: The first table in it that belongs to another program's configuration.
          type: str
        accept_envvar_unprivileged:
          description: Whether unprivileged containers may name their devices in C(NVIDIA_VISIBLE_DEVICES).
          type: bool
        accept_volume_mounts:
          description: Whether containers may name their devices by volume mounts.
          type: bool
        mode:
          description: How devices are injected.
          type: str
          sample: auto
        driver_root:
          description: Below which folder it looks for the driver.
          type: str
          sample: /
        driver_roots:
          description: Below which folders the driver's libraries are.
          type: list
          elements: str
          sample: [/]
    cdi:
      description: CDI specifications.
      type: dict
      contains:
        directories:
          description: Where they were looked for.
          type: list
          elements: str
          sample: [/etc/cdi, /var/run/cdi]
        unresolvable:
          description: Devices that a program asked for and that its message calls unresolvable. Only from saved evidence.
          type: list
          elements: str
        specs:
          description: The specifications.
          type: list
          elements: dict
          contains:
            path:
              description: The file.
              type: str
              sample: /var/run/cdi/nvidia.yaml
            cdi_version:
              description: The version that it gives itself.
              type: str
              sample: 0.5.0
            kind:
              description: Vendor and class of its devices.
              type: str
              sample: nvidia.com/gpu
            devices:
              description: Names of its devices.
              type: list
              elements: str
              sample: ["0", all]
            driver_version:
              description: Version of the driver's libraries that it mounts.
              type: str
              sample: 580.159.04
            driver_root:
              description: Below which folder of the host those are.
              type: str
              sample: /
            device_nodes:
              description: The host's device files that it uses.
              type: list
              elements: str
              sample: [/dev/nvidia0]
            valid:
              description: Whether a reader accepts it; V(null) where it was too large to be read whole.
              type: bool
            error:
              description: Why not.
              type: str
            error_field:
              description: The field that is missing, of the wrong form, or newer than the version that it gives itself.
              type: str
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
    consequence_of:
      description: Code of the finding before it that explains it, V(null) if none does.
      type: str
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
saved:
  description: Paths on the controller of the files that O(save) wrote or found up to date. Empty in check mode.
  returned: when O(save) is given
  type: list
  elements: str
  sample: [bundle/nodes/gpu-1/evidence.json]
"""

import typing as t

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.host import Host
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.node import collect
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.options import NODE_INFO_OPTIONS
from ansible_collections.gpufleet.k8s.plugins.module_utils._module import run_module


def observe(module: AnsibleModule) -> dict[str, t.Any]:
    """The evidence; what it means is found out on the controller."""
    options = module.params
    return {"evidence": collect(Host(module.run_command), options["gather"], options["timeout"], options["driver_root"])}


def main() -> None:
    run_module(observe, NODE_INFO_OPTIONS)


if __name__ == "__main__":
    main()
