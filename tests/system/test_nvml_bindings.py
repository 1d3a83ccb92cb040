"""Other people's `pynvml` in the way of nvidia-ml-py, and the compiler of the stand-ins."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.model.fact import Fact, Found
from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import NvmlGpu, NvmlProcess, NvmlReport

pytestmark = pytest.mark.native

MIB = 1 << 20
Standin = Callable[[str], dict[str, str]]
Look = Callable[..., NvmlVisit]
Changed = Callable[..., dict[str, str]]


def only_gpu(report: NvmlReport) -> NvmlGpu:
    assert report.status == "ok"
    assert report.gpu_count == len(report.gpus) == 1
    return report.gpus[0]


def fact_value(fact: Fact[Any]) -> Any:
    return fact.value if isinstance(fact, Found) else fact


def shadow(env: dict[str, str], folder: Path, source: str) -> dict[str, str]:
    """A package `pynvml` that is found before nvidia-ml-py's module, as old and retired ones are."""
    (folder / "pynvml").mkdir()
    (folder / "pynvml" / "__init__.py").write_text(source)
    return {**env, "PYTHONPATH": f"{folder}:{env['PYTHONPATH']}"}


def module(missing: set[str], extra: str) -> str:
    """The source of a module that is nvidia-ml-py without some names and with others in their place."""
    return f"""
import importlib.util, os, sys, warnings
warnings.warn("The pynvml package is deprecated.", FutureWarning)
path = next(path for path in (f"{{folder}}/pynvml.py" for folder in sys.path) if os.path.isfile(path))
spec = importlib.util.spec_from_file_location("real_pynvml", path)
real = sys.modules["real_pynvml"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(real)
globals().update({{k: v for k, v in vars(real).items() if k not in {missing!r} and not k.startswith("__")}})
{extra}
"""


OLD_ANSWERS = """
nvmlDeviceGetName = lambda handle: real.nvmlDeviceGetName(handle).encode()
nvmlDeviceGetMemoryInfo = lambda handle: real.nvmlDeviceGetMemoryInfo(handle)
"""

# Fields and lengths as nvidia-ml-py 12.560.30 has them; NVML's header gives the UUID 16 bytes.
MISLAID_FABRIC = """
import ctypes
class c_nvmlGpuFabricInfoV_t(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("clusterUuid", ctypes.c_char * 80), ("status", ctypes.c_uint),
                ("cliqueId", ctypes.c_uint32), ("state", ctypes.c_uint), ("healthMask", ctypes.c_uint32)]
    def __init__(self):
        super().__init__(version=0x02000024)
"""


def test_an_old_module_in_the_way_lacks_names_and_is_borne(standin: Standin, tmp_path: Path, look: Look) -> None:
    missing = {
        "nvmlMemory_v2",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetGpuFabricInfo",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlDeviceGetComputeRunningProcesses_v3",
    }
    gpu = only_gpu(look(shadow(standin("rtx4090"), tmp_path, module(missing, OLD_ANSWERS))).report)
    assert gpu.name == "NVIDIA GeForce RTX 4090"
    assert (gpu.memory_total_bytes, gpu.memory_reserved_bytes) == (24564 * MIB, None)
    assert gpu.errors["mig"] == gpu.errors["fabric"] == "NotInModule"
    assert gpu.processes
    assert gpu.processes[0] == NvmlProcess(4321, 1000 * MIB)


def test_a_module_that_lays_out_the_fabric_wrongly_does_not_mislead(standin: Standin, tmp_path: Path, look: Look) -> None:
    report = look(shadow(standin("h20x8"), tmp_path, module(set(), MISLAID_FABRIC))).report
    assert {gpu.fabric_state for gpu in report.gpus} == {"completed"}


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("raise ImportError('no ctypes here')", "BindingMissing"),
        ("raise RuntimeError('broken')", "BindingBroken"),
        ("", "BindingBroken"),
        ("import os; os._exit(9)", "Crashed"),
    ],
)
def test_a_module_that_is_of_no_use(standin: Standin, tmp_path: Path, source: str, status: str, look: Look) -> None:
    seen = look(shadow(standin("rtx4090"), tmp_path, source))
    assert seen.report.status == status
    assert fact_value(seen.libcuda_version) == 12040


def test_what_a_module_prints_goes_nowhere(standin: Standin, tmp_path: Path, look: Look) -> None:
    source = "import os, sys; os.write(1, b'noise'); os.write(2, b'noise'); raise ImportError('x')"
    assert look(shadow(standin("rtx4090"), tmp_path, source)).report.status == "BindingMissing"


def test_the_compiler_from_the_package_index_serves_where_there_is_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    sources = [str(Path(__file__).parents[1] / "native" / name) for name in ("cuda_standin.c", "profile.c")]
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wl,-soname,libcuda.so.1", "-o", str(tmp_path / "libcuda.so.1")]
    subprocess.run([sys.executable, "-m", "ziglang", "cc", *flags, *sources], check=True, capture_output=True)
    program = "import ctypes; v = ctypes.c_int(); print(ctypes.CDLL('libcuda.so.1').cuDriverGetVersion(ctypes.byref(v)), v.value)"
    profile = str(Path(__file__).parents[1] / "profiles" / "a10_535.ini")
    env = {"LD_LIBRARY_PATH": str(tmp_path), "ENVCHECK_NVML_PROFILE": profile}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "0 12020\n"
