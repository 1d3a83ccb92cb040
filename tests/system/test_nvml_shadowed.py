"""The module `pynvml` as it is found in the wild: old packages in the way, the retired redirector, foreign ones, none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import NvmlReport

Standin = Callable[[str], dict[str, str]]
Look = Callable[..., NvmlVisit]
ROOT = Path(__file__).parents[2]

# A package folder with the functions that a `pynvml` of the 11 series offers, among those that a visit asks for: it has neither the
# versioned fabric call nor NUMA nodes nor the second version of the process lists.
OLD_PACKAGE = """
import ctypes
from ctypes import POINTER, Structure, byref, c_char, c_int, c_uint, c_ulonglong, create_string_buffer
from types import SimpleNamespace

NVML_NVLINK_MAX_LINKS = 18
nvmlMemory_v2 = 0x02000028
_names = {1: "Uninitialized", 2: "InvalidArgument", 3: "NotSupported", 6: "NotFound", 13: "FunctionNotFound", 999: "Unknown"}
_library = None

class NVMLError(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value

_classes = {code: type("NVMLError_" + name, (NVMLError,), {}) for code, name in _names.items()}

def _call(name, *arguments):
    try:
        function = getattr(_library, name)
    except AttributeError:
        raise _classes[13](13)
    code = function(*arguments)
    if code:
        raise _classes.get(code, NVMLError)(code)

def nvmlInit():
    global _library
    _library = ctypes.CDLL("libnvidia-ml.so.1")
    _call("nvmlInitWithFlags", 0)

def _number(name, kind=c_uint):
    def read(*arguments):
        value = kind()
        _call(name, *arguments, byref(value))
        return value.value
    return read

def _text(name, size=96):
    def read(*arguments):
        buffer = create_string_buffer(size)
        _call(name, *arguments, buffer, size)
        return buffer.value
    return read

def _pair(name):
    def read(handle):
        first, second = c_uint(), c_uint()
        _call(name, handle, byref(first), byref(second))
        return first.value, second.value
    return read

for _name in ("DeviceGetName", "DeviceGetUUID", "SystemGetDriverVersion", "SystemGetNVMLVersion"):
    globals()["nvml" + _name] = _text("nvml" + _name)
for _name in ("EccMode", "MigMode"):
    globals()["nvmlDeviceGet" + _name] = _pair("nvmlDeviceGet" + _name)
nvmlDeviceGetCudaComputeCapability = _pair("nvmlDeviceGetCudaComputeCapability")
for _name in ("PersistenceMode", "ComputeMode", "DisplayActive", "VirtualizationMode", "MaxMigDeviceCount", "EnforcedPowerLimit",
              "PowerManagementDefaultLimit", "CurrPcieLinkWidth", "MaxPcieLinkWidth", "CurrPcieLinkGeneration", "MaxPcieLinkGeneration",
              "RetiredPagesPendingStatus", "Temperature", "NvLinkState", "NvLinkRemoteDeviceType", "P2PStatus", "TopologyCommonAncestor"):
    globals()["nvmlDeviceGet" + _name] = _number("nvmlDeviceGet" + _name)
nvmlDeviceGetTotalEccErrors = _number("nvmlDeviceGetTotalEccErrors", c_ulonglong)
nvmlDeviceGetCurrentClocksThrottleReasons = _number("nvmlDeviceGetCurrentClocksThrottleReasons", c_ulonglong)
nvmlDeviceGetCount = _number("nvmlDeviceGetCount_v2")
nvmlDeviceGetHandleByIndex = lambda index: ctypes.c_void_p(_number("nvmlDeviceGetHandleByIndex_v2", ctypes.c_void_p)(index))
nvmlSystemGetCudaDriverVersion = _number("nvmlSystemGetCudaDriverVersion_v2", c_int)
nvmlSystemGetCudaDriverVersion_v2 = nvmlSystemGetCudaDriverVersion

class _Memory(Structure):
    _fields_ = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]
class _Memory2(Structure):
    _fields_ = [("version", c_uint), ("total", c_ulonglong), ("reserved", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]
class _Window(Structure):
    _fields_ = [("bar1Total", c_ulonglong), ("bar1Free", c_ulonglong), ("bar1Used", c_ulonglong)]
class _Pci(Structure):
    _fields_ = [("busIdLegacy", c_char * 16), ("numbers", c_uint * 5), ("busId", c_char * 32)]
class _Process(Structure):
    _fields_ = [("pid", c_uint), ("usedGpuMemory", c_ulonglong), ("gpuInstanceId", c_uint), ("computeInstanceId", c_uint)]

def nvmlDeviceGetMemoryInfo(handle, version=None):
    memory = _Memory2(version) if version else _Memory()
    _call("nvmlDeviceGetMemoryInfo_v2" if version else "nvmlDeviceGetMemoryInfo", handle, byref(memory))
    return memory

def nvmlDeviceGetBAR1MemoryInfo(handle):
    window = _Window()
    _call("nvmlDeviceGetBAR1MemoryInfo", handle, byref(window))
    return window

def nvmlDeviceGetPciInfo(handle):
    info = _Pci()
    _call("nvmlDeviceGetPciInfo_v3", handle, byref(info))
    return info

def nvmlDeviceGetRemappedRows(handle):
    rows = [c_uint() for _ in range(4)]
    _call("nvmlDeviceGetRemappedRows", handle, *map(byref, rows))
    return tuple(row.value for row in rows)

def nvmlDeviceGetGpuFabricInfo(handle, reference):
    _call("nvmlDeviceGetGpuFabricInfo", handle, reference)
    return 0

def _processes(name):
    def read(handle):
        count, list_ = c_uint(64), (_Process * 64)()
        _call(name, handle, byref(count), list_)
        found = list_[:count.value]
        return [SimpleNamespace(pid=one.pid, usedGpuMemory=one.usedGpuMemory if one.usedGpuMemory < 2**64 - 1 else None) for one in found]
    return read

nvmlDeviceGetComputeRunningProcesses_v3 = _processes("nvmlDeviceGetComputeRunningProcesses_v3")
nvmlDeviceGetGraphicsRunningProcesses_v3 = _processes("nvmlDeviceGetGraphicsRunningProcesses_v3")
"""
LACKING = {"numa_node": "NotInModule"}

# What the last release of the package `pynvml` installs beside nvidia-ml-py: a finder that warns and then finds nothing.
REDIRECTOR = """
import importlib.abc, sys, warnings
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("pynvml"):
            warnings.warn("the package is retired", FutureWarning, stacklevel=2)
        return None
sys.meta_path.insert(0, Finder())
"""


def shadowed(env: dict[str, str], folder: Path, files: dict[str, str]) -> dict[str, str]:
    """The environment with a folder of these files before all others on the module path."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {**env, "PYTHONPATH": os.pathsep.join([str(folder), env["PYTHONPATH"]])}


def without_errors(report: NvmlReport, *keys: str) -> list[dict[str, str]]:
    return [{key: error for key, error in gpu.errors.items() if key not in keys} for gpu in report.gpus]


@pytest.mark.native
def test_an_old_package_in_the_way_costs_what_it_lacks_and_no_more(standin: Standin, look: Look, tmp_path: Path) -> None:
    env = standin("h20x8")
    whole = look(env).report
    files = {"pynvml/__init__.py": "from .nvml import *\n", "pynvml/nvml.py": OLD_PACKAGE}
    report = look(shadowed(env, tmp_path, files)).report
    assert [gpu.errors for gpu in report.gpus] == [LACKING] * 8
    replaced = [msgspec.structs.replace(gpu, numa_node=None, errors=LACKING) for gpu in whole.gpus]
    assert report.gpus == replaced
    assert (report.driver_version, report.cuda_version, report.pairs) == (whole.driver_version, whole.cuda_version, whole.pairs)


@pytest.mark.native
def test_an_old_package_on_an_old_driver_knows_no_process_list(standin: Standin, look: Look, tmp_path: Path) -> None:
    files = {"pynvml/__init__.py": "from .nvml import *\n", "pynvml/nvml.py": OLD_PACKAGE}
    gpu = look(shadowed(standin("t4_470"), tmp_path, files)).report.gpus[0]
    assert (gpu.name, gpu.memory_total_bytes, gpu.processes) == ("Tesla T4", 15360 << 20, None)
    assert (gpu.errors["processes"], gpu.errors["fabric"]) == ("NotInModule", "FunctionNotFound")


@pytest.mark.native
@pytest.mark.parametrize("warnings", ["default", "error"])
def test_the_retired_package_beside_ours_changes_nothing(standin: Standin, look: Look, tmp_path: Path, warnings: str) -> None:
    env = {**standin("h20x8"), "PYTHONWARNINGS": warnings}
    files = {"_redirector.py": REDIRECTOR, "_redirector.pth": "import _redirector\n"}
    redirected = shadowed(env, tmp_path, files)
    report = look(redirected, before=f"import site; site.addsitedir({str(tmp_path)!r})").report
    assert report == look(standin("h20x8")).report


BARE = """
import sys, msgspec
from envcheck.system.nvml import visit
sys.stdout.buffer.write(msgspec.json.encode(visit()))
"""


@pytest.mark.native
@pytest.mark.parametrize(("profile", "status"), [("h20x8", "BindingMissing"), (None, "LibraryNotFound")])
def test_without_the_module_the_status_says_so(standin: Standin, tmp_path: Path, profile: str | None, status: str) -> None:
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    env = {**standin("h20x8"), "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    if profile is None:
        env["LD_LIBRARY_PATH"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-S", "-c", BARE], env=env, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    report = msgspec.json.decode(done.stdout, type=NvmlVisit).report
    assert report.status == status
    assert ("pynvml" if profile else "libnvidia-ml.so.1") in (report.detail or "")


@pytest.mark.native
@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("print 'a module of another age'", "BindingBroken"),  # a SyntaxError
        ("raise SystemExit(3)", "Crashed"),
        ("while True: pass", "Timeout"),
        ("nvmlInit = None", "BindingBroken"),
        ("def nvmlInit(flags): pass", "BindingBroken"),
        ("def nvmlInit(): pass", "BindingBroken"),
        ("def nvmlInit(): raise ValueError('x' * 100_000)", "BindingBroken"),
        ("__getattr__ = lambda name: (lambda *arguments: 'nonsense')", "BindingBroken"),
    ],
)
def test_a_module_that_only_shares_the_name(standin: Standin, look: Look, tmp_path: Path, source: str, status: str) -> None:
    seen = look(shadowed(standin("a10_535"), tmp_path, {"pynvml.py": source}))
    assert (seen.report.status, seen.report.gpus, seen.report.gpu_count) == (status, [], None)
    assert seen.report.detail
    assert len(seen.report.detail) < 400


@pytest.mark.native
def test_a_folder_of_that_name_without_a_module_is_no_obstacle(standin: Standin, look: Look, tmp_path: Path) -> None:
    env = shadowed(standin("a10_535"), tmp_path, {"pynvml/README": "a checkout of something"})
    assert look(env).report == look(standin("a10_535")).report


@pytest.mark.native
def test_a_library_of_that_name_without_its_functions(standin: Standin, look: Look, tmp_path: Path) -> None:
    env = standin("a10_535")
    shutil.copy(f"{env['LD_LIBRARY_PATH']}/libcuda.so.1", tmp_path / "libnvidia-ml.so.1")
    report = look({**env, "LD_LIBRARY_PATH": f"{tmp_path}:{env['LD_LIBRARY_PATH']}"}).report
    assert (report.status, report.gpus, report.library_path) == ("FunctionNotFound", [], f"{tmp_path}/libnvidia-ml.so.1")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with that release as the index has it, without what it depends on."""

    def folder(requirement: str) -> Path:
        target = tmp_path_factory.mktemp("released")
        uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
        argv = [uv, "pip", "install", "--quiet", "--no-deps", "--target", str(target), requirement]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return target

    return folder


@pytest.mark.resolver
@pytest.mark.parametrize(
    ("requirement", "lacking"),
    [
        ("nvidia-ml-py==12.560.30", {}),
        ("pynvml==11.5.3", LACKING),
        ("pynvml==13.0.1", {}),
    ],
)
@pytest.mark.parametrize("profile", ["h20x8", "mig"])
def test_real_releases_in_the_way(
    standin: Standin, look: Look, released: Callable[[str], Path], requirement: str, lacking: dict[str, str], profile: str
) -> None:
    env, folder = standin(profile), released(requirement)
    assert any(folder.iterdir())
    whole = look(env).report
    shadow = {**env, "PYTHONPATH": os.pathsep.join([str(folder), env["PYTHONPATH"]])}
    report = look(shadow, before=f"import site; site.addsitedir({str(folder)!r})").report
    given = [gpu for gpu in whole.gpus if not lacking]
    for gpu in whole.gpus[len(given) :]:
        kept = {key: error for key, error in gpu.errors.items() if key not in lacking}
        given.append(msgspec.structs.replace(gpu, numa_node=None, errors={**kept, **lacking}))
    assert [msgspec.structs.replace(gpu, errors=dict(sorted(gpu.errors.items()))) for gpu in report.gpus] == [
        msgspec.structs.replace(gpu, errors=dict(sorted(gpu.errors.items()))) for gpu in given
    ]
    assert (report.status, report.pairs) == ("ok", whole.pairs)
