"""The NVIDIA driver: kernel module, user-space library, CUDA level, NVML's state. Files first, NVML next, `nvidia-smi` last."""

from __future__ import annotations

import re

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of, first_found
from envcheck.probes.libraries import driver_name_version, find_library, loader_folders
from envcheck.probes.look import Look, nvml
from envcheck.probes.nvidia_smi import banner
from envcheck.system.port import NvmlReport

FIELDS = ("driver.version", "driver.cuda", "driver.flavour", "driver.library_version", "driver.nvml")
NO_DRIVER = ("LibraryNotFound", "DriverNotLoaded")
PROC = "/proc/driver/nvidia/version"


def probe(look: Look) -> Facts:
    """All facts under `driver`; all absent on a host without any part of the driver."""
    kernel, library, report = look.once(kernel_version), look.once(library_version), look.once(nvml)
    bare = not isinstance(kernel, Found) and not isinstance(library, Found) and report.status == "LibraryNotFound"
    smi = Absent("not needed") if isinstance(kernel, Found) or report.status == "ok" else look.once(banner)
    if bare and isinstance(kernel, Absent) and not isinstance(smi, Found):
        return all_of(FIELDS, Absent("no kernel module, no driver library"))
    told = Found(smi.value.driver, smi.source) if isinstance(smi, Found) else smi
    return {
        "driver.version": first_found((kernel, _by_nvml(report), told)),
        "driver.cuda": cuda_level(look),
        "driver.flavour": flavour(look),
        "driver.library_version": library,
        "driver.nvml": Found(report.status, "NVML"),
    }


def _by_nvml(report: NvmlReport) -> Fact[str]:
    """NVML's word on the release, all there is under WSL. A library that was loaded and failed leaves open whether a driver runs."""
    if report.driver_version:
        return Found(report.driver_version, "NVML")
    return Absent(f"NVML: {report.status}") if report.status in NO_DRIVER else Unreadable(f"NVML: {report.status}")


def parse_proc_version(text: str) -> tuple[str, str] | None:
    """(release, `open` | `proprietary`) from `/proc/driver/nvidia/version`, whose two kinds order their words differently.

    NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  …
    NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.144  Release Build  …
    """
    line = next((line for line in text.splitlines()[:10] if "Kernel Module" in line), "")
    version = re.search(r"\s(\d{3,4}\.\d{1,4}(?:\.\d{1,4})?)(?:\s|$)", line)
    return (version[1], "open" if "Open Kernel Module" in line else "proprietary") if version else None


def _proc(look: Look) -> Fact[tuple[str, str]]:
    fact = look.text(PROC, 4096)
    if not isinstance(fact, Found):
        return fact
    parsed = parse_proc_version(fact.value)
    return Found(parsed, PROC) if parsed else Unreadable(f"{PROC} names no release")


def kernel_version(look: Look) -> Fact[str]:
    """The loaded module's release."""
    module = look.line("/sys/module/nvidia/version")
    if isinstance(module, Found) and re.fullmatch(r"\d{2,4}(\.\d{1,4}){1,3}", module.value):
        return module
    proc = look.once(_proc)
    return Found(proc.value[0], proc.source) if isinstance(proc, Found) else proc


def flavour(look: Look) -> Fact[str]:
    """Which of the two kernel modules is loaded; WSL has neither."""
    proc = look.once(_proc)
    return Found(proc.value[1], proc.source) if isinstance(proc, Found) else proc


def library_version(look: Look) -> Fact[str]:
    """The user-space driver's release: from the real name of libnvidia-ml or libcuda, else as NVML counts itself (`12.535.161.08`)."""
    report = look.once(nvml)
    if report.library_path and (version := driver_name_version(report.library_path)):
        return Found(version, report.library_path)
    named = first_found(_named(look, name) for name in ("libnvidia-ml.so.1", "libcuda.so.1"))
    if isinstance(named, Found):
        return named
    own = (report.nvml_version or "").partition(".")[2]
    return Found(own, "NVML") if re.fullmatch(r"\d{3,4}(\.\d{1,4}){1,3}", own) else named


def _named(look: Look, name: str) -> Fact[str]:
    """A copy in a `compat` folder comes from a forward-compatibility package, not from the driver."""
    folders = tuple(folder for folder in look.once(loader_folders) if "/compat" not in folder)
    path = find_library(look, name, folders)
    real = look.system.resolve(path.value) if isinstance(path, Found) else path
    if not isinstance(real, Found):
        return real
    version = driver_name_version(real.value)
    return Found(version, real.value) if version else Unreadable(f"{real.value} does not name its release")


def cuda_level(look: Look) -> Fact[str]:
    """The newest CUDA release the driver offers: NVML, else libcuda, else the banner of `nvidia-smi`."""
    report = look.once(nvml)
    if report.cuda_version and (level := level_text(report.cuda_version)):
        return Found(level, "NVML")
    libcuda = look.system.libcuda_version()
    if isinstance(libcuda, Found) and (level := level_text(libcuda.value)):
        return Found(level, libcuda.source)
    if isinstance(look.once(kernel_version), Found):
        return Unreadable(f"NVML: {report.status}")
    smi = look.once(banner)
    if isinstance(smi, Found):
        return Found(smi.value.cuda, smi.source) if smi.value.cuda else Absent("the banner shows no CUDA release")
    return Unreadable(f"NVML: {report.status}")


def level_text(number: int) -> str | None:
    """12040 → `12.4`; None for what cannot be a CUDA release."""
    return f"{number // 1000}.{number % 1000 // 10}" if 1000 < number < 1_000_000 else None
