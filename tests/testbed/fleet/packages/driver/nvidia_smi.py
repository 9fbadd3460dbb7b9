# Copyright (c) 2026, gpufleet authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for nvidia-smi: answers from a capture, for the GPUs and the driver that this machine shows, with NVIDIA's texts and exit codes.

Texts and codes of the failures: nvidia-smi's manual page ("RETURN VALUE") and public reports. Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

HARDWARE = Path("/srv/gpu-hardware/hardware.json")
CAPTURE = Path("/srv/gpu-hardware/capture.xml")
SICK = Path("/run/gpu-hardware/sick.json")
LOADED_VERSION = Path("/sys/module/nvidia/version")
GPU_FOLDERS = Path("/proc/driver/nvidia/gpus")
NVML = Path("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1")

USAGE = """NVIDIA System Management Interface -- stand-in of a test machine

    nvidia-smi [-L] [-q -x] [--version] [--query-gpu=... --format=csv[,noheader][,nounits]] [-i ID]
"""
INVALID_ARGUMENT, NOT_FOUND, NOT_LOADED, NO_LIBRARY, LOST, MISMATCH = 2, 6, 9, 12, 15, 18

# Property of --query-gpu: (path in the XML of a GPU, unit). An empty path has its answer in QUERIES_BY_RULE.
QUERIES = {
    "name": ("product_name", ""),
    "uuid": ("uuid", ""),
    "serial": ("serial", ""),
    "pci.bus_id": ("pci/pci_bus_id", ""),
    "vbios_version": ("vbios_version", ""),
    "persistence_mode": ("persistence_mode", ""),
    "mig.mode.current": ("mig_mode/current_mig", ""),
    "mig.mode.pending": ("mig_mode/pending_mig", ""),
    "ecc.mode.current": ("ecc_mode/current_ecc", ""),
    "compute_mode": ("compute_mode", ""),
    "memory.total": ("fb_memory_usage/total", "MiB"),
    "memory.used": ("fb_memory_usage/used", "MiB"),
    "memory.free": ("fb_memory_usage/free", "MiB"),
    "utilization.gpu": ("utilization/gpu_util", "%"),
    "utilization.memory": ("utilization/memory_util", "%"),
    "temperature.gpu": ("temperature/gpu_temp", ""),
    "power.draw": ("gpu_power_readings/instant_power_draw", "W"),
    "pstate": ("performance_state", ""),
}
ALIASES = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_serial": "serial", "gpu_bus_id": "pci.bus_id"}
QUERIES_BY_RULE = {
    "index": lambda gpus, gpu: str(gpus.index(gpu)),
    "count": lambda gpus, gpu: str(len(gpus)),
    "driver_version": lambda gpus, gpu: loaded_version(),
    "compute_cap": lambda gpus, gpu: "9.0",
}


class Failure(Exception):
    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def loaded_version() -> str:
    """The version of the kernel module.

    :raises Failure: it is not loaded
    """
    try:
        return LOADED_VERSION.read_text().strip()
    except FileNotFoundError:
        text = (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n"
        )
        raise Failure(text, NOT_LOADED) from None


def library_version() -> str:
    """The version of the management library that is installed.

    :raises Failure: there is none
    """
    try:
        return os.readlink(NVML).rpartition(".so.")[2]
    except OSError:
        text = (
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. "
            "Please make sure that the NVIDIA Display Driver is properly installed and present in your system.\n"
            "Please also try adding directory that contains libnvidia-ml.so to your system PATH."
        )
        raise Failure(text, NO_LIBRARY) from None


def check_versions() -> None:
    library = library_version()
    if loaded_version() != library:
        branch = ".".join(library.split(".")[:2])
        raise Failure(f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {branch}", MISMATCH)


def sick() -> dict:
    """What ails GPUs since an Xid, by address.

    :raises Failure: the driver has lost one
    """
    found: dict = json.loads(SICK.read_text()) if SICK.exists() else {}
    for address, state in found.items():
        if state["is_lost"]:
            index = sorted(folder.name for folder in GPU_FOLDERS.iterdir()).index(address)
            text = f"Unable to determine the device handle for GPU{index}: {address}: GPU is lost.  Reboot the system to recover this GPU\n"
            raise Failure(text, LOST)
    return found


def with_values(xml: str, values: dict) -> str:
    """The XML with the text of the named elements replaced."""
    return re.sub(r"<(\w+)>[^<]*", lambda found: f"<{found[1]}>{values[found[1]]}" if found[1] in values else found[0], xml)


def report() -> str:
    """The capture's XML with this machine's identities, version and time; GPUs that the driver doesn't show are left out."""
    version, ailing = loaded_version(), sick()
    described = {gpu["pci_address"]: gpu for gpu in json.loads(HARDWARE.read_text())["gpus"]}
    head, *rest = re.split(r'(\t<gpu id="[^"]*">.*?\t</gpu>\n)', CAPTURE.read_text(), flags=re.DOTALL)
    blocks, tail = rest[0::2], rest[-1]
    shown = []
    for block in blocks:
        address = block.split('"')[1].lower()[len("0000") :]
        if (GPU_FOLDERS / address).is_dir():
            own = {name: described[address][name] for name in ("uuid", "serial")}
            own.update({"gsp_firmware_version": version, "gpu_recovery_action": ailing.get(address, {}).get("gpu_recovery_action", "None")})
            shown.append(with_values(block, own))
    if not shown:
        raise Failure("No devices were found", NOT_FOUND)
    now = time.strftime("%a %b %d %H:%M:%S %Y")
    return with_values(head, {"timestamp": now, "driver_version": version, "attached_gpus": str(len(shown))}) + "".join(shown) + tail


def selected(gpus: list, ids: str | None) -> list:
    """The GPUs that ``--id`` names by index, UUID, serial or bus id; all of them without it."""
    if ids is None:
        return gpus
    wanted = {}
    for index, gpu in enumerate(gpus):
        wanted.update(dict.fromkeys((str(index), gpu.findtext("uuid"), gpu.findtext("serial"), gpu.findtext("pci/pci_bus_id")), gpu))
    missing = [name for name in ids.split(",") if name not in wanted]
    if missing:
        raise Failure(f"No devices were found\nUnable to find the GPU {missing[0]}", NOT_FOUND)
    return [wanted[name] for name in ids.split(",")]


def listing(gpus: list) -> str:
    return "".join(f"GPU {index}: {gpu.findtext('product_name')} (UUID: {gpu.findtext('uuid')})\n" for index, gpu in enumerate(gpus))


def query(everything: list, gpus: list, properties: str, options: str) -> str:
    """The answer to --query-gpu as CSV.

    :param options: value of --format
    """
    names = [ALIASES.get(name.strip(), name.strip()) for name in properties.split(",")]
    chosen = options.split(",")
    for name in names:
        if name not in QUERIES and name not in QUERIES_BY_RULE:
            raise Failure(f'Field "{name}" is not a valid field to query.\n', INVALID_ARGUMENT)
    if "csv" not in chosen:
        raise Failure("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n", INVALID_ARGUMENT)
    lines = []
    if "noheader" not in chosen:
        lines.append(", ".join(f"{name} [{QUERIES[name][1]}]" if name in QUERIES and QUERIES[name][1] else name for name in names))
    for gpu in gpus:
        values = []
        for name in names:
            value = QUERIES_BY_RULE[name](everything, gpu) if name in QUERIES_BY_RULE else gpu.findtext(QUERIES[name][0]) or "[N/A]"
            values.append(value.split(" ")[0] if "nounits" in chosen and name in QUERIES and QUERIES[name][1] else value)
        lines.append(", ".join(values))
    return "\n".join(lines) + "\n"


def number(gpu: ElementTree.Element, path: str) -> str:
    """A reading without its unit, as a whole number."""
    return f"{float(gpu.findtext(path, '').split()[0]):.0f}"


def table(root: ElementTree.Element, gpus: list) -> str:
    """The summary that nvidia-smi prints without arguments."""
    version, cuda = root.findtext("driver_version"), root.findtext("cuda_version")
    lines = [
        time.strftime("%a %b %d %H:%M:%S %Y       "),
        "+-----------------------------------------------------------------------------------------+",
        f"| NVIDIA-SMI {version:<22} Driver Version: {version:<14} CUDA Version: {cuda:<8} |",
        "+-----------------------------------------+------------------------+----------------------+",
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        "|=========================================+========================+======================|",
    ]
    for index, gpu in enumerate(gpus):
        power = f"{number(gpu, 'gpu_power_readings/instant_power_draw')}W / {number(gpu, 'gpu_power_readings/current_power_limit'):>4}W"
        memory = f"{number(gpu, 'fb_memory_usage/used')}MiB / {number(gpu, 'fb_memory_usage/total')}MiB"
        temperature, used = f"{number(gpu, 'temperature/gpu_temp')}C", f"{number(gpu, 'utilization/gpu_util')}%"
        persistence = "On" if gpu.findtext("persistence_mode") == "Enabled" else "Off"
        lines += [
            f"|{index:>4}  {gpu.findtext('product_name'):<24}{persistence:>9}  |{gpu.findtext('pci/pci_bus_id'):>19} Off |{'0':>21} |",
            f"| N/A{temperature:>6}    {gpu.findtext('performance_state'):<4}{power:>22} |{memory:>23} |{used:>8}      Default |",
            f"|{'':41}|{'':24}|{gpu.findtext('mig_mode/current_mig'):>21} |",
            "+-----------------------------------------+------------------------+----------------------+",
        ]
    lines += [
        "",
        "+-----------------------------------------------------------------------------------------+",
        "| Processes:                                                                              |",
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
        "|        ID   ID                                                               Usage      |",
        "|=========================================================================================|",
        "|  No running processes found                                                             |",
        "+-----------------------------------------------------------------------------------------+",
    ]
    return "\n".join(lines) + "\n"


def parsed(arguments: list) -> dict:
    """The switches and their values, by long name; both ``--id=0`` and ``-i 0`` are understood."""
    short = {"-q": "query", "-x": "xml-format", "-L": "list-gpus", "-i": "id", "-h": "help"}
    options: dict = {}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        name = short.get(name) or name.removeprefix("--")
        if name == "id" and not equals:
            value = next(words, "")
        if name not in {"query", "xml-format", "list-gpus", "id", "help", "query-gpu", "format", "version"}:
            text = f"Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\nOption \"{word}\" is not recognized."
            raise Failure(text, INVALID_ARGUMENT)
        options[name] = value
    return options


def answer(options: dict) -> str:
    """What nvidia-smi prints for these options.

    :raises Failure: the driver or the arguments don't allow an answer
    """
    if "help" in options:
        return USAGE
    check_versions()
    text = report()
    root = ElementTree.fromstring(text)
    everything = root.findall("gpu")
    gpus = selected(everything, options.get("id"))
    if "version" in options:
        version = loaded_version()
        branch = ".".join(version.split(".")[:2])
        versions = {"NVIDIA-SMI version": version, "NVML version": branch, "DRIVER version": version, "CUDA Version": root.findtext("cuda_version")}
        return "".join(f"{label:<20}: {value}\n" for label, value in versions.items())
    if "list-gpus" in options:
        return listing(gpus)
    if "query-gpu" in options:
        return query(everything, gpus, options["query-gpu"], options.get("format", ""))
    if "query" in options or "xml-format" in options:
        if "xml-format" not in options:
            raise Failure("this stand-in answers -q as XML only: nvidia-smi -q -x", INVALID_ARGUMENT)
        return text
    return table(root, gpus)


def main(arguments: list) -> int:
    try:
        sys.stdout.write(answer(parsed(arguments)))
    except Failure as failure:
        print(failure)
        return failure.code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
