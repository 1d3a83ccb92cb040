"""Every error of NVML in every function that the visit calls: one read is lost, by name, and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import NvmlGpu, NvmlReport

pytestmark = pytest.mark.native

Standin = Callable[[str], dict[str, str]]
Case = tuple[tuple[str, str, int], ...]  # (section, function, code), all in force at once

# nvmlReturn_t of NVML's interface, by number.
NAMES = """
Uninitialized InvalidArgument NotSupported NoPermission AlreadyInitialized NotFound InsufficientSize InsufficientPower DriverNotLoaded
Timeout IrqIssue LibraryNotFound FunctionNotFound CorruptedInforom GpuIsLost ResetRequired OperatingSystem LibRmVersionMismatch InUse
Memory NoData VgpuEccNotSupported InsufficientResources FreqNotSupported ArgumentVersionMismatch Deprecated NotReady GpuNotFound
InvalidState
"""
CODES = {**dict(enumerate(NAMES.split(), 1)), 999: "Unknown"}
OLD = (13, 25)  # the driver does not know the call, or not this version of its struct

MORE = """
[system]
gpus = 2
[gpu]
nvlinks = 2/2
[gpu1]
mig = 1 1
processes = 71:100MiB
graphics = 72:200MiB
memory_used = 300 MiB
[gpu1.mig0]
name = NVIDIA H20 MIG 1g.12gb
uuid = MIG-00000000-0000-0000-0000-000000000200
memory_total = 12032 MiB
memory_used = 0
"""


class Effect(NamedTuple):
    """What a failing function costs: the key in `errors`, and the fields with what is left of them."""

    key: str
    left: dict[str, Any]


def gone(key: str, *fields: str) -> Effect:
    return Effect(key, dict.fromkeys(fields))


COMPUTE, GRAPHICS = {"pid": 71, "used_bytes": 100 << 20}, {"pid": 72, "used_bytes": 200 << 20}
MEMORY = gone("memory", "memory_total_bytes", "memory_free_bytes", "memory_reserved_bytes")
OF_A_GPU = {
    "nvmlDeviceGetName": gone("name", "name"),
    "nvmlDeviceGetUUID": gone("uuid", "uuid"),
    "nvmlDeviceGetPciInfo_v3": gone("pci", "pci_bus_id"),
    "nvmlDeviceGetCudaComputeCapability": gone("compute_capability", "compute_capability"),
    "nvmlDeviceGetMemoryInfo_v2": MEMORY,
    "nvmlDeviceGetMigMode": Effect("mig", {"mig_current": None, "mig_pending": None, "mig_devices": []}),
    "nvmlDeviceGetMaxMigDeviceCount": Effect("mig_devices", {"mig_devices": []}),
    "nvmlDeviceGetMigDeviceHandleByIndex": Effect("mig_devices", {"mig_devices": []}),
    "nvmlDeviceGetGpuFabricInfoV": gone("fabric", "fabric_state", "fabric_status"),
    "nvmlDeviceGetNvLinkState": Effect("nvlink", {"nvlink_peers": []}),
    "nvmlDeviceGetNvLinkRemoteDeviceType": Effect("nvlink_remote", {"nvlink_peers": ["other"] * 2}),
    "nvmlDeviceGetVirtualizationMode": gone("virtualization", "virtualization"),
    "nvmlDeviceGetComputeRunningProcesses_v3": Effect("processes", {"processes": [GRAPHICS]}),
    "nvmlDeviceGetGraphicsRunningProcesses_v3": Effect("graphics_processes", {"processes": [COMPUTE]}),
    "nvmlDeviceGetEccMode": gone("ecc", "ecc_current"),
    "nvmlDeviceGetTotalEccErrors": gone("ecc_errors", "ecc_uncorrected"),
    "nvmlDeviceGetRemappedRows": gone("remapped_rows", "remapped_rows", "remap_pending", "remap_failed"),
    "nvmlDeviceGetRetiredPagesPendingStatus": gone("retired_pages", "retirement_pending"),
    "nvmlDeviceGetPersistenceMode": gone("persistence", "persistence"),
    "nvmlDeviceGetComputeMode": gone("compute_mode", "compute_mode"),
    "nvmlDeviceGetCurrentClocksEventReasons": gone("throttle", "throttle_mask"),
    "nvmlDeviceGetTemperatureV": gone("temperature", "temperature_c"),
    "nvmlDeviceGetEnforcedPowerLimit": gone("power_limit", "power_limit_mw"),
    "nvmlDeviceGetPowerManagementDefaultLimit": gone("power_default", "power_default_mw"),
    "nvmlDeviceGetCurrPcieLinkWidth": gone("pcie", "pcie_width"),
    "nvmlDeviceGetMaxPcieLinkWidth": gone("pcie", "pcie_width_max"),
    "nvmlDeviceGetCurrPcieLinkGeneration": gone("pcie", "pcie_generation"),
    "nvmlDeviceGetMaxPcieLinkGeneration": gone("pcie", "pcie_generation_max"),
    "nvmlDeviceGetBAR1MemoryInfo": gone("bar1", "bar1_total_bytes"),
    "nvmlDeviceGetNumaNodeId": gone("numa_node", "numa_node"),
    "nvmlDeviceGetDisplayActive": gone("display", "display_active"),
}
# An older call that takes over where the newer is unknown, and what it cannot tell.
OLDER: dict[str, tuple[str, dict[str, Any]]] = {
    "nvmlDeviceGetMemoryInfo_v2": ("nvmlDeviceGetMemoryInfo", {"memory_reserved_bytes": None}),
    "nvmlDeviceGetGpuFabricInfoV": ("nvmlDeviceGetGpuFabricInfo", {}),
    "nvmlDeviceGetComputeRunningProcesses_v3": ("nvmlDeviceGetComputeRunningProcesses_v2", {}),
    "nvmlDeviceGetGraphicsRunningProcesses_v3": ("nvmlDeviceGetGraphicsRunningProcesses_v2", {}),
    "nvmlDeviceGetCurrentClocksEventReasons": ("nvmlDeviceGetCurrentClocksThrottleReasons", {}),
    "nvmlDeviceGetTemperatureV": ("nvmlDeviceGetTemperature", {}),
}
OF_A_MIG_DEVICE = {
    "nvmlDeviceGetName": gone("name", "name"),
    "nvmlDeviceGetUUID": gone("uuid", "uuid"),
    "nvmlDeviceGetMemoryInfo_v2": gone("memory", "memory_total_bytes", "memory_free_bytes"),
}
OF_A_PAIR = {"nvmlDeviceGetTopologyCommonAncestor": ("ancestor",), "nvmlDeviceGetP2PStatus": ("read", "nvlink")}
OF_THE_SYSTEM = {
    "nvmlSystemGetDriverVersion": gone("driver_version", "driver_version"),
    "nvmlSystemGetNVMLVersion": gone("nvml_version", "nvml_version"),
    "nvmlSystemGetCudaDriverVersion_v2": gone("cuda_version", "cuda_version"),
}
ENDING = ("nvmlInitWithFlags", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2")

# The visit's child runs in this process: what it sends is received as if it came through the pipe.
PROGRAM = """
import ctypes, json, sys, msgspec
from envcheck.system import nvml, nvml_binding
from envcheck.system.forked import Outcome

def here(work, stall_s, total_s):
    messages = []
    work(messages.append)
    return Outcome(messages, "done", "")

nvml.forked = here
pynvml = nvml_binding.binding()
nvml_binding.binding = lambda: pynvml  # imported once, as one visit does
lib = ctypes.CDLL("libnvidia-ml.so.1")
lib.standin_called.restype = ctypes.c_char_p
for case in [[], *json.load(sys.stdin)]:
    while lib.nvmlShutdown() == 0:
        pass
    lib.standin_reset()
    for section, function, code in case:
        assert lib.standin_override(section.encode(), b"error." + function.encode(), str(code).encode()) == 0
    sys.stdout.buffer.write(msgspec.json.encode(nvml.visit()) + b"\\n")
    if not case:
        called = [name.decode() for index in range(200) if (name := lib.standin_called(index))]
        sys.stdout.buffer.write(msgspec.json.encode(called) + b"\\n")
"""


class Bench(NamedTuple):
    """A host where every read succeeds, the functions asked for there, and the same host with each case's errors."""

    whole: NvmlReport
    called: set[str]
    broken: dict[Case, NvmlReport]


def cases() -> Iterator[Case]:
    for code in CODES:
        yield from (((("system", name, code),)) for name in (*OF_THE_SYSTEM, *ENDING))
        yield from (((("gpu1", name, code),)) for name in (*OF_A_GPU, ENDING[-1]))
        yield from (((("gpu1.mig0", name, code),)) for name in OF_A_MIG_DEVICE)
        yield from (((("pair0-1", name, code),)) for name in OF_A_PAIR)
        yield from ((("gpu1", name, 13), ("gpu1", older, code)) for name, (older, _) in OLDER.items())


@pytest.fixture(scope="module")
def bench(native_libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    tests = Path(__file__).parents[1]
    profile = tmp_path_factory.mktemp("errors") / "whole.ini"
    profile.write_text((tests / "profiles" / "h20x8.ini").read_text() + MORE)
    env = {"LD_LIBRARY_PATH": str(native_libraries), "ENVCHECK_NVML_PROFILE": str(profile), "PYTHONPATH": str(tests.parent)}
    asked = list(cases())
    argv = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(argv, env=env, input=json.dumps(asked).encode(), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    first, called, *rest = done.stdout.splitlines()
    whole = msgspec.json.decode(first, type=NvmlVisit).report
    reports = [msgspec.json.decode(line, type=NvmlVisit).report for line in rest]
    return Bench(whole, set(msgspec.json.decode(called, type=list[str])), dict(zip(asked, reports, strict=True)))


def plain(value: Any) -> dict[str, Any]:
    """A struct as a mapping of all its fields, omitted defaults included."""
    return {name: msgspec.to_builtins(getattr(value, name)) for name in value.__struct_fields__}


def with_effect(whole: Any, left: dict[str, Any], errors: dict[str, str]) -> dict[str, Any]:
    return {**plain(whole), **left, "errors": {**whole.errors, **errors}}


def test_the_whole_host_has_every_read(bench: Bench) -> None:
    assert bench.whole.status == "ok"
    assert [gpu.errors for gpu in bench.whole.gpus] == [{}, {}]
    nothing = {name for gpu in bench.whole.gpus for name in gpu.__struct_fields__ if getattr(gpu, name) is None}
    assert nothing == {"lost"}
    assert [mig.errors for mig in bench.whole.gpus[1].mig_devices] == [{}]
    assert [(pair.a, pair.b, pair.errors) for pair in bench.whole.pairs] == [(0, 1, {})]


def test_every_function_that_is_called_stands_in_these_tables(bench: Bench) -> None:
    assert bench.called == {*OF_A_GPU, *OF_A_PAIR, *OF_THE_SYSTEM, *ENDING}
    assert len(bench.broken) > 1000


@pytest.mark.parametrize("function", OF_A_GPU)
def test_an_error_of_one_read_costs_that_read_alone(bench: Bench, function: str) -> None:
    key, left = OF_A_GPU[function]
    for code, name in CODES.items():
        report = bench.broken[(("gpu1", function, code),)]
        errors = {key: name}
        if function in OLDER and code in OLD:
            left, errors = OLDER[function][1], {}
        elif (function, code) == ("nvmlDeviceGetMigDeviceHandleByIndex", 6):
            errors = {}  # a hole between MIG devices
        else:
            left = OF_A_GPU[function].left
        assert plain(report.gpus[1]) == with_effect(bench.whole.gpus[1], left, errors), name
        assert (report.status, report.gpus[0], report.pairs) == ("ok", bench.whole.gpus[0], bench.whole.pairs), name


@pytest.mark.parametrize("function", OLDER)
def test_an_older_call_fails_as_the_newer_would(bench: Bench, function: str) -> None:
    key, left = OF_A_GPU[function]
    for code, name in CODES.items():
        report = bench.broken[(("gpu1", function, 13), ("gpu1", OLDER[function][0], code))]
        assert plain(report.gpus[1]) == with_effect(bench.whole.gpus[1], left, {key: name}), name
        assert report.gpus[0] == bench.whole.gpus[0]


@pytest.mark.parametrize("function", OF_A_MIG_DEVICE)
def test_an_error_of_a_mig_device_is_its_own(bench: Bench, function: str) -> None:
    key, left = OF_A_MIG_DEVICE[function]
    for code, name in CODES.items():
        gpu = bench.broken[(("gpu1.mig0", function, code),)].gpus[1]
        expected = (left, {key: name}) if function not in OLDER or code not in OLD else ({}, {})
        assert plain(gpu.mig_devices[0]) == with_effect(bench.whole.gpus[1].mig_devices[0], *expected), name
        assert msgspec.structs.replace(gpu, mig_devices=[]) == msgspec.structs.replace(bench.whole.gpus[1], mig_devices=[])


@pytest.mark.parametrize("function", OF_A_PAIR)
def test_an_error_between_two_gpus_leaves_the_gpus(bench: Bench, function: str) -> None:
    fields = OF_A_PAIR[function]
    for code, name in CODES.items():
        report = bench.broken[(("pair0-1", function, code),)]
        expected = with_effect(bench.whole.pairs[0], dict.fromkeys(fields), dict.fromkeys(fields, name))
        assert [plain(pair) for pair in report.pairs] == [expected], name
        assert (report.status, report.gpus) == ("ok", bench.whole.gpus)


@pytest.mark.parametrize("function", OF_THE_SYSTEM)
def test_an_error_of_the_system_leaves_the_gpus(bench: Bench, function: str) -> None:
    key, left = OF_THE_SYSTEM[function]
    for code, name in CODES.items():
        report = bench.broken[(("system", function, code),)]
        # The newer call for the CUDA level asks libcuda and cannot do without; the older one can.
        taken_over = function == "nvmlSystemGetCudaDriverVersion_v2" and code in {12, 13}
        assert plain(report) == with_effect(bench.whole, *(({}, {}) if taken_over else (left, {key: name}))), name


@pytest.mark.parametrize("function", ENDING[:2])
def test_an_error_that_ends_the_visit_is_its_status(bench: Bench, function: str) -> None:
    for code, name in CODES.items():
        report = bench.broken[(("system", function, code),)]
        assert (report.status, report.gpus, report.gpu_count, report.pairs) == (name, [], None, [])
        assert report.detail
        known = function != "nvmlInitWithFlags"
        assert (report.driver_version, report.cuda_version) == (
            (bench.whole.driver_version, bench.whole.cuda_version) if known else (None,) * 2
        )


def test_a_gpu_without_a_handle_is_lost_by_name(bench: Bench) -> None:
    for code, name in CODES.items():
        report = bench.broken[(("gpu1", ENDING[2], code),)]
        assert (report.status, report.gpu_count, report.pairs) == ("ok", 2, [])
        assert report.gpus == [bench.whole.gpus[0], NvmlGpu(index=1, lost=name)]
        none = bench.broken[(("system", ENDING[2], code),)]
        assert none.gpus == [NvmlGpu(index=0, lost=name), NvmlGpu(index=1, lost=name)]
