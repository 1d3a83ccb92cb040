"""The stand-ins themselves: what the real nvidia-ml-py and a CUDA program read from them is what the profile says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.native

Standin = Callable[[str], dict[str, str]]
MIB = 1 << 20


def run(env: dict[str, str], program: str) -> Any:
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


READS = """
import json, pynvml as n
n.nvmlInit()
d = n.nvmlDeviceGetHandleByIndex(3)
e = n.nvmlDeviceGetHandleByIndex(4)
def plain(value):
    if isinstance(value, bytes): return value.decode()
    if isinstance(value, n.nvmlFriendlyObject): return {k: plain(v) for k, v in vars(value).items()}
    if hasattr(value, "_fields_"): return {k: plain(getattr(value, k)) for k, *_ in value._fields_}
    if isinstance(value, (list, tuple)): return [plain(v) for v in value]
    return value
def ask(name, *args):
    try: return plain(getattr(n, name)(*args))
    except Exception as error: return type(error).__name__
print(json.dumps({repr(call): ask(call[0], *[{"D": d, "E": e}.get(a, a) for a in call[1:]]) for call in %r}))
"""


def asked(env: dict[str, str], *calls: tuple[Any, ...]) -> list[Any]:
    answers = run(env, READS % (calls,))
    return [answers[repr(call)] for call in calls]


def test_what_monitors_read_of_a_device_is_what_the_profile_says(standin: Standin) -> None:
    calls_and_answers: dict[tuple[Any, ...], Any] = {
        ("nvmlDeviceGetSerial", "D"): "1650000000003",
        ("nvmlDeviceGetMinorNumber", "D"): 3,
        ("nvmlDeviceGetIndex", "D"): 3,
        ("nvmlDeviceGetBrand", "D"): 14,
        ("nvmlDeviceGetArchitecture", "D"): 9,
        ("nvmlDeviceGetPersistenceMode", "D"): 1,
        ("nvmlDeviceGetComputeMode", "D"): 0,
        ("nvmlDeviceGetEccMode", "D"): [1, 1],
        ("nvmlDeviceGetTotalEccErrors", "D", 1, 0): 0,
        ("nvmlDeviceGetTotalEccErrors", "D", 7, 0): "NVMLError_InvalidArgument",
        ("nvmlDeviceGetRemappedRows", "D"): [0, 0, 0, 0],
        ("nvmlDeviceGetRetiredPagesPendingStatus", "D"): 0,
        ("nvmlDeviceGetTemperature", "D", 0): 31,
        ("nvmlDeviceGetTemperatureV", "D", 0): 31,
        ("nvmlDeviceGetPowerUsage", "D"): 71000,
        ("nvmlDeviceGetEnforcedPowerLimit", "D"): 500000,
        ("nvmlDeviceGetPowerManagementDefaultLimit", "D"): 500000,
        ("nvmlDeviceGetCurrentClocksThrottleReasons", "D"): 1,
        ("nvmlDeviceGetCurrentClocksEventReasons", "D"): 1,
        ("nvmlDeviceGetCurrPcieLinkGeneration", "D"): 5,
        ("nvmlDeviceGetMaxPcieLinkWidth", "D"): 16,
        ("nvmlDeviceGetNumaNodeId", "D"): 0,
        ("nvmlDeviceGetDisplayActive", "D"): 0,
        ("nvmlDeviceGetUtilizationRates", "D"): {"gpu": 0, "memory": 0},
        ("nvmlDeviceGetClockInfo", "D", 2): 2619,
        ("nvmlDeviceGetClockInfo", "D", 9): "NVMLError_InvalidArgument",
        ("nvmlDeviceGetFanSpeed", "D"): "NVMLError_NotSupported",
        ("nvmlDeviceGetTopologyCommonAncestor", "D", "E"): 50,
        ("nvmlDeviceGetP2PStatus", "D", "E", 2): 0,
        ("nvmlDeviceGetP2PStatus", "D", "E", 9): "NVMLError_InvalidArgument",
        ("nvmlDeviceGetNvLinkState", "D", 17): 1,
        ("nvmlDeviceGetNvLinkState", "D", 18): "NVMLError_InvalidArgument",
        ("nvmlDeviceGetNvLinkRemoteDeviceType", "D", 0): 2,
        ("nvmlDeviceGetGpuInstanceId", "D"): "NVMLError_NotSupported",
        ("nvmlSystemGetProcessName", 1): "NVMLError_NotFound",
    }
    answers = asked(standin("h20x8"), *calls_and_answers)
    assert dict(zip(calls_and_answers, answers, strict=True)) == calls_and_answers


def test_structs_are_laid_out_as_the_binding_reads_them(standin: Standin) -> None:
    env = standin("h20x8")
    memory_v1, memory_v2, window, pci, compute = asked(
        env,
        ("nvmlDeviceGetMemoryInfo", "D"),
        ("nvmlDeviceGetMemoryInfo", "D", 0x02000028),
        ("nvmlDeviceGetBAR1MemoryInfo", "D"),
        ("nvmlDeviceGetPciInfo", "D"),
        ("nvmlDeviceGetComputeRunningProcesses_v3", "D"),
    )
    total = 97871 * MIB
    assert memory_v1 == {"total": total, "free": total - (552 + 71684) * MIB, "used": (552 + 71684) * MIB}
    assert (memory_v2["reserved"], memory_v2["used"], memory_v2["free"]) == (552 * MIB, 71684 * MIB, memory_v1["free"])
    assert (window["bar1Total"], window["bar1Used"]) == (131072 * MIB, 0)
    assert (pci["busId"], pci["busIdLegacy"], pci["bus"]) == ("00000000:38:00.0", "0000:38:00.0", 0x38)
    assert [(process["pid"], process["usedGpuMemory"]) for process in compute] == [(9001, 71680 * MIB), (9002, None)]


UNKNOWN_VERSIONS = """
import ctypes, json, os
n = ctypes.CDLL("libnvidia-ml.so.1")
n.nvmlInit_v2()
d = ctypes.c_void_p()
n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(d))
codes = {}
for name in ("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetTemperatureV", "nvmlDeviceGetPciInfoExt",
             "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetMarginTemperature"):
    buffer = (ctypes.c_uint * 64)(*[0x63000010] + [0] * 63)
    codes[name] = getattr(n, name)(d, buffer)
print(json.dumps(codes))
"""


def test_a_struct_of_a_version_that_the_driver_does_not_know_is_refused(standin: Standin) -> None:
    codes = run(standin("h20x8"), UNKNOWN_VERSIONS)
    assert len(codes) == 6
    assert set(codes.values()) == {25}


def test_a_process_can_change_its_host_and_change_it_back(standin: Standin) -> None:
    program = """
import ctypes, json, pynvml as n
lib = ctypes.CDLL("libnvidia-ml.so.1")
n.nvmlInit()
d = n.nvmlDeviceGetHandleByIndex(0)
def name():
    try: return n.nvmlDeviceGetName(d)
    except n.NVMLError as error: return error.value
seen = [name()]
lib.standin_override(b"gpu0", b"error.nvmlDeviceGetName", b"15")
seen.append(name())
n.nvmlShutdown(); lib.standin_reset(); n.nvmlInit()
seen.append(name())
n.nvmlShutdown(); seen.append(name())
print(json.dumps(seen))
"""
    assert run(standin("a10_535"), program) == ["NVIDIA A10", 15, "NVIDIA A10", 1]


def test_at_least_sixty_functions_are_there(native_libraries: Path) -> None:
    program = """
import ctypes, json, re, sys, pynvml
lib = ctypes.CDLL(sys.argv[1]) if len(sys.argv) > 1 else ctypes.CDLL("libnvidia-ml.so.1")
source = open(pynvml.__file__, encoding="utf-8").read()
names = set(re.findall(r'_nvmlGetFunctionPointer\\("(nvml\\w+)"\\)', source))
print(json.dumps(sorted(name for name in names if hasattr(lib, name))))
"""
    env = {"LD_LIBRARY_PATH": str(native_libraries), "PATH": "/usr/bin:/bin"}
    assert len(run(env, program)) >= 60


CUDA = """
import ctypes, json
c = ctypes.CDLL("libcuda.so.1")
def text(function, code):
    out = ctypes.c_char_p(); function(code, ctypes.byref(out)); return out.value.decode() if out.value else None
code = c.cuInit(0)
count, device, total, major, minor = ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_size_t(), ctypes.c_int(), ctypes.c_int()
codes = [c.cuDeviceGetCount(ctypes.byref(count)), c.cuDeviceGet(ctypes.byref(device), 0)]
name, uuid = ctypes.create_string_buffer(64), ctypes.create_string_buffer(16)
c.cuDeviceGetName(name, 64, device); c.cuDeviceTotalMem_v2(ctypes.byref(total), device); c.cuDeviceGetUuid(uuid, device)
c.cuDeviceGetAttribute(ctypes.byref(major), 75, device); c.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
print(json.dumps({"init": code, "name": text(c.cuGetErrorName, code), "said": text(c.cuGetErrorString, code), "codes": codes,
    "count": count.value, "board": name.value.decode(), "total": total.value, "capability": [major.value, minor.value],
    "uuid": uuid.raw.hex()}))
"""


def test_a_cuda_program_sees_the_boards(standin: Standin) -> None:
    seen = run(standin("h20x8"), CUDA)
    assert (seen["init"], seen["name"], seen["codes"], seen["count"]) == (0, "CUDA_SUCCESS", [0, 0], 8)
    assert (seen["board"], seen["capability"], seen["total"]) == ("NVIDIA H20", [9, 0], (97871 - 552) * MIB)
    assert seen["uuid"] == "00000000000000000000000000000200"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (802, "CUDA_ERROR_SYSTEM_NOT_READY"),
        (803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        (804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE"),
        (100, "CUDA_ERROR_NO_DEVICE"),
        (999, "CUDA_ERROR_UNKNOWN"),
        (3, "CUDA_ERROR_NOT_INITIALIZED"),
    ],
)
def test_cuda_that_does_not_start_says_why_and_shows_no_device(standin: Standin, tmp_path: Path, code: int, name: str) -> None:
    env = standin("h20x8")
    profile = tmp_path / "changed.ini"
    profile.write_text(Path(env["ENVCHECK_NVML_PROFILE"]).read_text() + f"\n[system]\nerror.cuInit = {code}\n")
    seen = run({**env, "ENVCHECK_NVML_PROFILE": str(profile)}, CUDA)
    assert (seen["init"], seen["name"]) == (code, name)
    assert (seen["codes"], seen["count"]) == ([3, 3], -1)


def test_without_a_profile_the_stand_ins_fail_loudly(standin: Standin) -> None:
    env = {key: value for key, value in standin("h20x8").items() if key != "ENVCHECK_NVML_PROFILE"}
    program = (
        "import ctypes, json; print(json.dumps([ctypes.CDLL('libnvidia-ml.so.1').nvmlInit_v2(), ctypes.CDLL('libcuda.so.1').cuInit(0)]))"
    )
    assert run(env, program) == [999, 100]
