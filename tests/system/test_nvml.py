"""The facade against a compiled library, through the real nvidia-ml-py, always in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import NvmlGpu, NvmlMigDevice, NvmlProcess, NvmlReport

pytestmark = pytest.mark.native

MIB = 1 << 20
Standin = Callable[[str], dict[str, str]]

PROGRAM = """
import sys, time, msgspec
from envcheck.system.real import RealSystem
system = RealSystem()
report, libcuda = system.nvml(), system.libcuda_version()
heavy = {"pynvml", "ctypes"} & set(sys.modules)
assert not heavy, heavy
sys.stdout.buffer.write(msgspec.json.encode({"report": report, "libcuda_version": libcuda}))
"""


def look(env: dict[str, str], timeout: float = 30) -> NvmlVisit:
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return msgspec.json.decode(done.stdout, type=NvmlVisit)


def changed(env: dict[str, str], folder: Path, *lines: str, section: str = "system") -> dict[str, str]:
    """The same host with more lines in its profile."""
    profile = folder / "changed.ini"
    profile.write_text(Path(env["ENVCHECK_NVML_PROFILE"]).read_text() + f"\n[{section}]\n" + "\n".join(lines) + "\n")
    return {**env, "ENVCHECK_NVML_PROFILE": str(profile)}


def only_gpu(report: NvmlReport) -> NvmlGpu:
    assert report.status == "ok"
    assert report.gpu_count == len(report.gpus) == 1
    return report.gpus[0]


def test_a_consumer_board(standin: Standin) -> None:
    seen = look(standin("rtx4090"))
    assert seen.report.driver_version == "550.54.15"
    assert seen.report.nvml_version == "12.550.54.15"
    assert seen.report.cuda_version == 12040
    assert seen.report.errors == {}
    gpu = only_gpu(seen.report)
    assert gpu == NvmlGpu(
        index=0,
        name="NVIDIA GeForce RTX 4090",
        uuid="GPU-00000000-0000-0000-0000-000000004090",
        pci_bus_id="00000000:01:00.0",
        compute_capability=(8, 9),
        memory_total_bytes=24564 * MIB,
        memory_free_bytes=(24564 - 450 - 1200) * MIB,
        memory_reserved_bytes=450 * MIB,
        virtualization="none",
        # A process that both computes and draws is one process, and one of the two lists may not know its memory.
        processes=[NvmlProcess(4321, 1000 * MIB), NvmlProcess(1500, 200 * MIB)],
        errors={"mig": "NotSupported", "fabric": "NotSupported", "nvlink": "NotSupported"},
    )


def test_the_files_that_the_loader_took_are_named(standin: Standin) -> None:
    env = standin("rtx4090")
    folder = env["LD_LIBRARY_PATH"]
    seen = look(env)
    assert seen.report.library_path == f"{folder}/libnvidia-ml.so.1"
    assert seen.libcuda_version == Found(12040, f"{folder}/libcuda.so.1")


def test_a_library_behind_a_link_is_named_with_its_version(standin: Standin, tmp_path: Path) -> None:
    env = standin("rtx4090")
    for name in ("libnvidia-ml.so", "libcuda.so"):
        shutil.copy(f"{env['LD_LIBRARY_PATH']}/{name}.1", tmp_path / f"{name}.550.54.15")
        (tmp_path / f"{name}.1").symlink_to(f"{name}.550.54.15")
    seen = look({**env, "LD_LIBRARY_PATH": str(tmp_path)})
    assert seen.report.library_path == f"{tmp_path}/libnvidia-ml.so.550.54.15"
    assert seen.libcuda_version == Found(12040, f"{tmp_path}/libcuda.so.550.54.15")


def test_a_driver_470_lacks_the_newer_calls(standin: Standin) -> None:
    seen = look(standin("t4_470"))
    gpu = only_gpu(seen.report)
    assert (seen.report.driver_version, seen.report.cuda_version) == ("470.161.03", 11040)
    assert (gpu.memory_total_bytes, gpu.memory_free_bytes) == (15360 * MIB, (15360 - 251) * MIB)
    assert gpu.memory_reserved_bytes is None
    assert gpu.processes == [NvmlProcess(77, 512 * MIB)]
    assert gpu.errors == {"mig": "NotSupported", "fabric": "FunctionNotFound", "nvlink": "NotSupported"}


def test_eight_gpus_behind_switches(standin: Standin) -> None:
    report = look(standin("h20x8")).report
    assert [gpu.index for gpu in report.gpus] == list(range(8))
    assert len({gpu.uuid for gpu in report.gpus}) == len({gpu.pci_bus_id for gpu in report.gpus}) == 8
    for gpu in report.gpus:
        assert gpu.nvlink_peers == ["switch"] * 18
        assert (gpu.fabric_state, gpu.fabric_status) == ("completed", "ok")
        assert (gpu.mig_current, gpu.mig_pending, gpu.mig_devices) == (False, False, [])
        assert gpu.errors == {}
    assert report.gpus[3].processes == [NvmlProcess(9001, 71680 * MIB), NvmlProcess(9002, None)]
    assert report.gpus[0].processes == []
    assert report.gpus[3].memory_free_bytes == (97871 - 552 - 71684) * MIB


def test_a_fabric_that_was_not_started(standin: Standin) -> None:
    report = look(standin("h20x8_fabric_stopped")).report
    assert {(gpu.fabric_state, gpu.fabric_status) for gpu in report.gpus} == {("not-started", None)}


def test_a_fabric_that_was_set_up_with_an_error(standin: Standin, tmp_path: Path) -> None:
    gpu = only_gpu(look(changed(standin("h200_580"), tmp_path, "fabric = 3 999", section="gpu")).report)
    assert (gpu.fabric_state, gpu.fabric_status) == ("completed", "Unknown")


def test_the_first_version_of_the_fabric_call_serves_too(standin: Standin, tmp_path: Path) -> None:
    gpu = only_gpu(look(changed(standin("h200_580"), tmp_path, "absent = nvmlDeviceGetGpuFabricInfoV")).report)
    assert (gpu.fabric_state, gpu.fabric_status, gpu.errors) == ("completed", "ok", {})


def test_links_that_are_down_are_no_peers(standin: Standin, tmp_path: Path) -> None:
    gpu = only_gpu(look(changed(standin("h200_580"), tmp_path, "nvlinks = 0/18", section="gpu")).report)
    assert gpu.nvlink_peers == []
    assert "nvlink" not in gpu.errors


def test_links_whose_other_end_is_not_told(standin: Standin, tmp_path: Path) -> None:
    env = changed(standin("h200_580"), tmp_path, "absent = nvmlDeviceGetNvLinkRemoteDeviceType")
    gpu = only_gpu(look(env).report)
    assert gpu.nvlink_peers == ["other"] * 18
    assert gpu.errors == {"nvlink_remote": "FunctionNotFound"}


def test_mig_devices_with_a_hole_between_them(standin: Standin) -> None:
    gpu = only_gpu(look(standin("mig")).report)
    assert (gpu.mig_current, gpu.mig_pending) == (True, False)
    assert gpu.mig_devices == [
        NvmlMigDevice("MIG-00000000-0000-0000-0000-000000000000", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", 40448 * MIB, (40448 - 48) * MIB),
        NvmlMigDevice("MIG-00000000-0000-0000-0000-000000000002", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", errors={"memory": "NoPermission"}),
    ]
    assert "mig_devices" not in gpu.errors


def test_unified_memory_is_told_by_no_memory_call(standin: Standin) -> None:
    gpu = only_gpu(look(standin("gb10")).report)
    assert (gpu.memory_total_bytes, gpu.memory_free_bytes) == (None, None)
    assert gpu.errors["memory"] == "NotSupported"
    assert gpu.compute_capability == (12, 1)


def test_a_lost_gpu_does_not_take_the_others_along(standin: Standin) -> None:
    report = look(standin("lost")).report
    assert report.status == "ok"
    assert report.gpus[6] == NvmlGpu(index=6, lost="GpuIsLost")
    assert (report.gpus[2].name, report.gpus[2].errors["name"]) == (None, "Unknown")
    good = [gpu for gpu in report.gpus if gpu.index not in {2, 6}]
    assert [gpu.name for gpu in good] == ["NVIDIA A100-SXM4-80GB"] * 6
    assert all(gpu.memory_total_bytes == 81920 * MIB for gpu in [*good, report.gpus[2]])


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (4, "NoPermission"),
        (9, "DriverNotLoaded"),
        (12, "LibraryNotFound"),
        (15, "GpuIsLost"),
        (17, "OperatingSystem"),
        (18, "LibRmVersionMismatch"),
        (999, "Unknown"),
        (777, "Error777"),
    ],
)
def test_nvml_that_does_not_start_says_why(standin: Standin, tmp_path: Path, code: int, status: str) -> None:
    seen = look(changed(standin("rtx4090"), tmp_path, f"error.nvmlInitWithFlags = {code}"))
    assert (seen.report.status, seen.report.gpus, seen.report.gpu_count) == (status, [], None)
    assert seen.report.detail
    assert seen.libcuda_version.value == 12040 if isinstance(seen.libcuda_version, Found) else False


def test_a_count_that_cannot_be_had_is_not_a_count_of_zero(standin: Standin, tmp_path: Path) -> None:
    report = look(changed(standin("rtx4090"), tmp_path, "error.nvmlDeviceGetCount_v2 = 999")).report
    assert (report.status, report.detail, report.gpu_count) == ("Unknown", "nvmlDeviceGetCount", None)
    assert report.driver_version == "550.54.15"


def test_a_driver_without_a_gpu(standin: Standin, tmp_path: Path) -> None:
    report = look(changed(standin("rtx4090"), tmp_path, "gpus = 0")).report
    assert (report.status, report.gpu_count, report.gpus) == ("ok", 0, [])


def test_system_reads_are_guarded_one_by_one(standin: Standin, tmp_path: Path) -> None:
    lines = ("error.nvmlSystemGetDriverVersion = 999", "error.nvmlSystemGetCudaDriverVersion_v2 = 12")
    report = look(changed(standin("rtx4090"), tmp_path, *lines)).report
    assert (report.status, report.driver_version, report.errors) == ("ok", None, {"driver_version": "Unknown"})
    assert report.cuda_version == 12040  # the unversioned call knows a number without libcuda


def test_a_hung_driver_is_left_in_time_and_libcuda_still_told(standin: Standin) -> None:
    start = time.monotonic()
    seen = look(standin("hang"))
    assert time.monotonic() - start < 5
    assert (seen.report.status, seen.report.detail) == ("Timeout", "no answer for 2 s (nvmlInit)")
    assert isinstance(seen.libcuda_version, Found)


def test_a_driver_that_hangs_later_loses_only_what_comes_later(standin: Standin) -> None:
    start = time.monotonic()
    report = look(standin("hang_later")).report
    assert time.monotonic() - start < 5
    assert (report.status, report.detail, report.gpu_count) == ("Timeout", "no answer for 2 s (1 of 2 GPUs read)", 2)
    assert [gpu.name for gpu in report.gpus] == ["NVIDIA L40S"]
    assert report.driver_version == "550.54.15"


def test_a_slow_driver_that_goes_on_answering_is_waited_for(standin: Standin, tmp_path: Path) -> None:
    env = changed(standin("lost"), tmp_path, "sleep.nvmlDeviceGetUUID = 350")
    report = look(env).report  # seven GPUs of 0.35 s each: 2.45 s, more than the first deadline
    assert (report.status, len(report.gpus)) == ("ok", 8)


def test_a_library_that_crashes_does_not_crash_us(standin: Standin) -> None:
    report = look(standin("crash")).report
    assert (report.status, report.detail) == ("Crashed", "signal 11 (nvmlInit)")


def test_the_folder_of_wsl_is_looked_at_where_the_loader_does_not(standin: Standin) -> None:
    env = standin("rtx4090")
    folder = env.pop("LD_LIBRARY_PATH")
    program = PROGRAM.replace("system =", f"import envcheck.system.nvml_child as child; child._WSL = {folder + '/'!r}; system =")
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, timeout=30, check=True)
    seen = msgspec.json.decode(done.stdout, type=NvmlVisit)
    assert (seen.report.status, seen.report.library_path) == ("ok", f"{folder}/libnvidia-ml.so.1")
    assert seen.libcuda_version == Found(12040, f"{folder}/libcuda.so.1")


def test_no_library_is_told_in_the_loaders_words(tmp_path: Path) -> None:
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    seen = look(env)
    assert seen.report.status == "LibraryNotFound"
    assert "libnvidia-ml.so.1" in (seen.report.detail or "")
    assert isinstance(seen.libcuda_version, Absent)


def test_a_library_that_is_none_is_unreadable_and_not_absent(standin: Standin, tmp_path: Path) -> None:
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        (tmp_path / name).write_text("not an ELF file")
    seen = look({**standin("rtx4090"), "LD_LIBRARY_PATH": str(tmp_path)})
    assert seen.report.status == "LibraryNotFound"
    assert isinstance(seen.libcuda_version, Unreadable)


@pytest.mark.parametrize(("line", "code"), [("error.cuDriverGetVersion = 34", 34), ("libcuda = 0", 0)])
def test_libcuda_that_does_not_tell(standin: Standin, tmp_path: Path, line: str, code: int) -> None:
    seen = look(changed(standin("rtx4090"), tmp_path, line))
    assert seen.libcuda_version == Unreadable(f"cuDriverGetVersion returned error {code}")


def test_a_newer_libcuda_is_told_apart_from_nvml(standin: Standin, tmp_path: Path) -> None:
    seen = look(changed(standin("a10_535"), tmp_path, "libcuda = 12090"))
    assert (seen.report.cuda_version, fact_value(seen.libcuda_version)) == (12020, 12090)


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


def test_an_old_module_in_the_way_lacks_names_and_is_borne(standin: Standin, tmp_path: Path) -> None:
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


def test_a_module_that_lays_out_the_fabric_wrongly_does_not_mislead(standin: Standin, tmp_path: Path) -> None:
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
def test_a_module_that_is_of_no_use(standin: Standin, tmp_path: Path, source: str, status: str) -> None:
    seen = look(shadow(standin("rtx4090"), tmp_path, source))
    assert seen.report.status == status
    assert fact_value(seen.libcuda_version) == 12040


def test_what_a_module_prints_goes_nowhere(standin: Standin, tmp_path: Path) -> None:
    source = "import os, sys; os.write(1, b'noise'); os.write(2, b'noise'); raise ImportError('x')"
    assert look(shadow(standin("rtx4090"), tmp_path, source)).report.status == "BindingMissing"


def test_a_hung_driver_does_not_keep_our_output_open(standin: Standin) -> None:
    start = time.monotonic()
    program = "from envcheck.system.nvml import collect; print(collect(0.5, 0.5).status, flush=True)"
    done = subprocess.run([sys.executable, "-c", program], env=standin("hang"), capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "Timeout\n"
    assert time.monotonic() - start < 5


def test_the_compiler_from_the_package_index_serves_where_there_is_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    source = Path(__file__).parents[1] / "native" / "cuda_standin.c"
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wl,-soname,libcuda.so.1", "-o", str(tmp_path / "libcuda.so.1")]
    subprocess.run([sys.executable, "-m", "ziglang", "cc", *flags, str(source)], check=True, capture_output=True)
    program = "import ctypes; v = ctypes.c_int(); print(ctypes.CDLL('libcuda.so.1').cuDriverGetVersion(ctypes.byref(v)), v.value)"
    profile = str(Path(__file__).parents[1] / "profiles" / "a10_535.ini")
    env = {"LD_LIBRARY_PATH": str(tmp_path), "ENVCHECK_NVML_PROFILE": profile}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "0 12020\n"
