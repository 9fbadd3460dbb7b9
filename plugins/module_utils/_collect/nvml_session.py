# Copyright (c) 2026, gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private to this collection: may change in any release. One conversation with NVML, from loading the library to its last GPU."""

from __future__ import annotations

import ctypes
import typing as t

from ansible_collections.gpufleet.k8s.plugins.module_utils._collect import nvml_library as lib
from ansible_collections.gpufleet.k8s.plugins.module_utils._collect.nvml_gpu import FAULTS, Gpu

Record = t.Dict[str, t.Any]

_LOAD = "dlopen"
# After which a GPU's other values aren't worth asking for, and nvidia-smi may tell more.
_GRAVE = frozenset((lib.TIMEOUT, lib.GPU_IS_LOST, lib.RESET_REQUIRED, lib.OPERATING_SYSTEM))


def ask(candidates: t.Sequence[tuple[str, str]]) -> Record:
    """What the first library says that gives an answer, else why the first that could be loaded gave none.

    :param candidates: paths of libraries: on the host, and for this process.
    :return: ``nvml``, the evidence, and ``failures``, sentences on values that could not be read.
    """
    answers = []
    for shown, path in candidates:
        answer = _Session(shown).ask(path)
        if answer["nvml"]["error"] is None or answer["nvml"]["gpus"]:
            return answer
        answers.append(answer)
    return next((answer for answer in answers if answer["nvml"]["error"]["function"] != _LOAD), answers[0])


class _Session:
    def __init__(self, shown: str) -> None:
        self._record: Record = {"library": shown, "error": None, "driver_version": None, "cuda_version": None, "attached_gpus": None, "gpus": []}
        self._failures: dict[str, None] = {}

    def ask(self, path: str) -> Record:
        try:
            nvml = lib.Nvml(path)
        except OSError as error:
            self._record["error"] = {"function": _LOAD, "code": lib.LIBRARY_NOT_FOUND, "text": str(error)}
        else:
            try:
                self._system(nvml)
            except lib.NvmlError as error:
                self._error(nvml, error.function, error.code)
        return {"nvml": self._record, "failures": list(self._failures)}

    def _system(self, nvml: lib.Nvml) -> None:
        nvml.call(("nvmlInit_v2", "nvmlInit"))
        self._record["driver_version"] = lib.decoded(nvml.read(("nvmlSystemGetDriverVersion",), None, (ctypes.c_char * 96, 96))[0].value)
        # The newer one fails where libcuda isn't in the loader's path, the older one then knows the version that NVML was built with.
        self._record["cuda_version"] = _cuda(nvml, "nvmlSystemGetCudaDriverVersion_v2") or _cuda(nvml, "nvmlSystemGetCudaDriverVersion")
        count = nvml.read(("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"), None, (ctypes.c_uint,))[0].value
        self._record["attached_gpus"] = count
        for index in range(count):
            self._record["gpus"].append({"index": index, **self._gpu(nvml, index)})

    def _gpu(self, nvml: lib.Nvml, index: int) -> Record:
        try:
            handle = nvml.read(("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"), None, (index, ctypes.c_void_p))[0]
        except lib.NvmlError as error:
            self._error(nvml, error.function, error.code)
            return {"fault": FAULTS.get(error.code)}
        gpu = Gpu(nvml, handle)
        facts = gpu.facts()
        for function, code in gpu.failures:
            self._failures[f"{function} of GPU {index}: {nvml.text(code)}"] = None
            if code in _GRAVE:
                self._error(nvml, function, code)
        return facts

    def _error(self, nvml: lib.Nvml, function: str, code: int) -> None:
        """Keep the first one."""
        self._record["error"] = self._record["error"] or {"function": function, "code": code, "text": nvml.text(code)}


def _cuda(nvml: lib.Nvml, function: str) -> str | None:
    """``13.0`` of NVML's 13000."""
    try:
        version = nvml.read((function,), None, (ctypes.c_int,))[0].value
    except lib.NvmlError:
        return None
    return f"{version // 1000}.{version % 1000 // 10}"
