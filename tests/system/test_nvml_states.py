"""NVML that does not start, hangs, crashes or is not there, and libcuda beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.system.nvml import NvmlVisit

pytestmark = pytest.mark.native

MIB = 1 << 20
Standin = Callable[[str], dict[str, str]]
Look = Callable[..., NvmlVisit]
Changed = Callable[..., dict[str, str]]


def fact_value(fact: Fact[Any]) -> Any:
    return fact.value if isinstance(fact, Found) else fact


def test_the_files_that_the_loader_took_are_named(standin: Standin, look: Look) -> None:
    env = standin("rtx4090")
    folder = env["LD_LIBRARY_PATH"]
    seen = look(env)
    assert seen.report.library_path == f"{folder}/libnvidia-ml.so.1"
    assert seen.libcuda_version == Found(12040, f"{folder}/libcuda.so.1")


def test_a_library_behind_a_link_is_named_with_its_version(standin: Standin, tmp_path: Path, look: Look) -> None:
    env = standin("rtx4090")
    for name in ("libnvidia-ml.so", "libcuda.so"):
        shutil.copy(f"{env['LD_LIBRARY_PATH']}/{name}.1", tmp_path / f"{name}.550.54.15")
        (tmp_path / f"{name}.1").symlink_to(f"{name}.550.54.15")
    seen = look({**env, "LD_LIBRARY_PATH": str(tmp_path)})
    assert seen.report.library_path == f"{tmp_path}/libnvidia-ml.so.550.54.15"
    assert seen.libcuda_version == Found(12040, f"{tmp_path}/libcuda.so.550.54.15")


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
def test_nvml_that_does_not_start_says_why(standin: Standin, code: int, status: str, look: Look, changed: Changed) -> None:
    seen = look(changed(standin("rtx4090"), f"error.nvmlInitWithFlags = {code}"))
    assert (seen.report.status, seen.report.gpus, seen.report.gpu_count) == (status, [], None)
    assert seen.report.detail
    assert fact_value(seen.libcuda_version) == 12040


def test_a_count_that_cannot_be_had_is_not_a_count_of_zero(standin: Standin, look: Look, changed: Changed) -> None:
    report = look(changed(standin("rtx4090"), "error.nvmlDeviceGetCount_v2 = 999")).report
    assert (report.status, report.detail, report.gpu_count) == ("Unknown", "nvmlDeviceGetCount", None)
    assert report.driver_version == "550.54.15"


def test_a_driver_without_a_gpu(standin: Standin, look: Look, changed: Changed) -> None:
    report = look(changed(standin("rtx4090"), "gpus = 0")).report
    assert (report.status, report.gpu_count, report.gpus) == ("ok", 0, [])


def test_system_reads_are_guarded_one_by_one(standin: Standin, look: Look, changed: Changed) -> None:
    lines = ("error.nvmlSystemGetDriverVersion = 999", "error.nvmlSystemGetCudaDriverVersion_v2 = 12")
    report = look(changed(standin("rtx4090"), *lines)).report
    assert (report.status, report.driver_version, report.errors) == ("ok", None, {"driver_version": "Unknown"})
    assert report.cuda_version == 12040  # the unversioned call knows a number without libcuda


def test_a_hung_driver_is_left_in_time_and_libcuda_still_told(standin: Standin, look: Look) -> None:
    start = time.monotonic()
    seen = look(standin("hang"))
    assert time.monotonic() - start < 5
    assert (seen.report.status, seen.report.detail) == ("Timeout", "no answer for 2 s (nvmlInit)")
    assert isinstance(seen.libcuda_version, Found)


def test_a_driver_that_hangs_later_loses_only_what_comes_later(standin: Standin, look: Look) -> None:
    start = time.monotonic()
    report = look(standin("hang_later")).report
    assert time.monotonic() - start < 5
    assert (report.status, report.detail, report.gpu_count) == ("Timeout", "no answer for 2 s (1 of 2 GPUs read)", 2)
    assert [gpu.name for gpu in report.gpus] == ["NVIDIA L40S"]
    assert report.driver_version == "550.54.15"


def test_a_slow_driver_that_goes_on_answering_is_waited_for(standin: Standin, look: Look, changed: Changed) -> None:
    env = changed(standin("lost"), "sleep.nvmlDeviceGetUUID = 350")
    report = look(env).report  # seven GPUs of 0.35 s each: 2.45 s, more than the first deadline
    assert (report.status, len(report.gpus)) == ("ok", 8)


def test_a_library_that_crashes_does_not_crash_us(standin: Standin, look: Look) -> None:
    report = look(standin("crash")).report
    assert (report.status, report.detail) == ("Crashed", "signal 11 (nvmlInit)")


def test_the_folder_of_wsl_is_looked_at_where_the_loader_does_not(standin: Standin, look: Look) -> None:
    env = standin("rtx4090")
    folder = env.pop("LD_LIBRARY_PATH")
    seen = look(env, before=f"import envcheck.system.nvml_child as child; child._WSL = {folder + '/'!r}")
    assert (seen.report.status, seen.report.library_path) == ("ok", f"{folder}/libnvidia-ml.so.1")
    assert seen.libcuda_version == Found(12040, f"{folder}/libcuda.so.1")


def test_no_library_is_told_in_the_loaders_words(tmp_path: Path, look: Look) -> None:
    env = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    seen = look(env)
    assert seen.report.status == "LibraryNotFound"
    assert "libnvidia-ml.so.1" in (seen.report.detail or "")
    assert isinstance(seen.libcuda_version, Absent)


def test_a_library_that_is_none_is_unreadable_and_not_absent(standin: Standin, tmp_path: Path, look: Look) -> None:
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        (tmp_path / name).write_text("not an ELF file")
    seen = look({**standin("rtx4090"), "LD_LIBRARY_PATH": str(tmp_path)})
    assert seen.report.status == "LibraryNotFound"
    assert isinstance(seen.libcuda_version, Unreadable)


@pytest.mark.parametrize(("line", "code"), [("error.cuDriverGetVersion = 34", 34), ("libcuda = 0", 0)])
def test_libcuda_that_does_not_tell(standin: Standin, line: str, code: int, look: Look, changed: Changed) -> None:
    seen = look(changed(standin("rtx4090"), line))
    assert seen.libcuda_version == Unreadable(f"cuDriverGetVersion returned error {code}")


def test_a_newer_libcuda_is_told_apart_from_nvml(standin: Standin, look: Look, changed: Changed) -> None:
    seen = look(changed(standin("a10_535"), "libcuda = 12090"))
    assert (seen.report.cuda_version, fact_value(seen.libcuda_version)) == (12020, 12090)


def test_a_hung_driver_does_not_keep_our_output_open(standin: Standin) -> None:
    start = time.monotonic()
    program = "from envcheck.system.nvml import collect; print(collect(0.5, 0.5).status, flush=True)"
    done = subprocess.run([sys.executable, "-c", program], env=standin("hang"), capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "Timeout\n"
    assert time.monotonic() - start < 5
