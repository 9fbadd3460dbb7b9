# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How to reach the machines of an instance: its key, and an Ansible inventory of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

# Machines come and go at the same addresses: nothing about them may be remembered, and a dead one must not hold a connection.
SSH_OPTIONS = {
    "StrictHostKeyChecking": "no",
    "UserKnownHostsFile": "/dev/null",
    "LogLevel": "ERROR",
    "ConnectTimeout": "5",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
}


def make_key(instance: Path) -> str:
    """Make the instance's key unless it is there, and return its public half."""
    private = instance / "id_ed25519"
    if not private.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"gpufleet testbed {instance.name}", "-f", str(private)], check=True)
    return private.with_suffix(".pub").read_text()


def inventory(instance: Path, addresses: dict[str, str], repository_url: str) -> dict:
    """Return the inventory of the machines of an instance, in the shape of Ansible's YAML.

    :param addresses: IPv4 address by machine
    :param repository_url: URL above the package repositories
    """
    variables = {
        "ansible_user": "root",
        "ansible_ssh_private_key_file": str(instance / "id_ed25519"),
        "ansible_ssh_common_args": " ".join(f"-o {name}={value}" for name, value in SSH_OPTIONS.items()),
        "ansible_python_interpreter": "/usr/bin/python3",
        "gpu_driver_repository_uri": f"{repository_url}/driver",
        "gpu_driver_repository_key": f"{repository_url}/gpgkey",
        "gpu_toolkit_repository_uri": f"{repository_url}/toolkit",
        "gpu_toolkit_repository_key": f"{repository_url}/gpgkey",
    }
    hosts = {name: {"ansible_host": address} for name, address in addresses.items()}
    return {"all": {"vars": {"testbed_kubeconfig": str(instance / "kubeconfig")}}, "gpu_nodes": {"hosts": hosts, "vars": variables}}


def write_inventory(instance: Path, addresses: dict[str, str], repository_url: str) -> Path:
    """Write the instance's hosts.yml and return its path."""
    path = instance / "hosts.yml"
    path.write_text(json.dumps(inventory(instance, addresses, repository_url), indent=2) + "\n")  # JSON is YAML too
    return path
