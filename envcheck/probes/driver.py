"""The NVIDIA driver: kernel module, user-space library, CUDA level, NVML's state. Files first, NVML next, `nvidia-smi` last."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envcheck.model.fact import Absent, Fact, Found, Unreadable
from envcheck.probes.facts import Facts, all_of, first_found, why
from envcheck.probes.libraries import copies, driver_name_version, is_compat, is_stub
from envcheck.probes.look import Look, nvml
from envcheck.system.port import NvmlReport

if TYPE_CHECKING:
    from envcheck.probes.nvidia_smi import Banner

FIELDS = ("driver.version", "driver.cuda", "driver.flavour", "driver.library_version", "driver.nvml")
NO_DRIVER = ("LibraryNotFound", "DriverNotLoaded")
PROC = "/proc/driver/nvidia/version"


def probe(look: Look) -> Facts:
    """All facts under `driver`; all absent on a host without any part of the driver."""
    kernel, library, report = look.once(kernel_version), look.once(library_version), look.once(nvml)
    bare = not isinstance(kernel, Found) and not isinstance(library, Found) and report.status == "LibraryNotFound"
    smi = Absent("not needed") if isinstance(kernel, Found) or report.status == "ok" else _banner(look)
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
    return first_found(_kernel_versions(look))


def _kernel_versions(look: Look) -> Iterator[Fact[str]]:
    module = look.line("/sys/module/nvidia/version")
    if isinstance(module, Found) and not is_release(module.value):
        module = Unreadable(f"{module.source} names no release")
    yield module
    proc = look.once(_proc)
    yield Found(proc.value[0], proc.source) if isinstance(proc, Found) else proc


def is_release(text: str) -> bool:
    """Whether it is written like a driver's release."""
    return re.fullmatch(r"\d{2,4}(\.\d{1,4}){1,3}", text) is not None


def flavour(look: Look) -> Fact[str]:
    """Which of the two kernel modules is loaded; WSL has neither."""
    return first_found(_flavours(look))


def _flavours(look: Look) -> Iterator[Fact[str]]:
    proc = look.once(_proc)
    yield Found(proc.value[1], proc.source) if isinstance(proc, Found) else proc
    # The kernel marks itself with P for a module under a licence that is not free, which the open one's is.
    taint = look.line("/sys/module/nvidia/taint")
    yield Found("proprietary" if "P" in taint.value else "open", taint.source) if isinstance(taint, Found) else taint


def library_version(look: Look) -> Fact[str]:
    """The user-space driver's release: from the real name of libnvidia-ml or libcuda, else as NVML counts itself (`12.535.161.08`)."""
    return first_found(_library_versions(look))


def _library_versions(look: Look) -> Iterator[Fact[str]]:
    report = look.once(nvml)
    if report.library_path and (version := driver_name_version(report.library_path)):
        yield Found(version, report.library_path)
    for name in ("libnvidia-ml.so.1", "libcuda.so.1"):
        yield from _named(look, name)
    own = (report.nvml_version or "").partition(".")[2]
    if is_release(own):
        yield Found(own, "NVML")


def _named(look: Look, name: str) -> Iterator[Fact[str]]:
    """A forward-compatibility package's copy is not the driver's, a toolkit's stub nobody's."""
    for copy in copies(look, name):
        real = look.system.resolve(copy.value) if isinstance(copy, Found) else copy
        if not isinstance(real, Found):
            yield real
        elif isinstance(copy, Found) and not any(is_compat(path) or is_stub(path) for path in (copy.value, real.value)):
            version = driver_name_version(real.value)
            yield Found(version, real.value) if version else Unreadable(f"{real.value} does not name its release")


def cuda_level(look: Look) -> Fact[str]:
    """The newest CUDA release the driver offers: NVML, else libcuda, else the banner of `nvidia-smi`."""
    return first_found(_cuda_levels(look))


def _banner(look: Look) -> Fact[Banner]:
    from envcheck.probes.nvidia_smi import banner  # noqa: PLC0415  # NVML tells more, where it answers

    return look.once(banner)


def _cuda_levels(look: Look) -> Iterator[Fact[str]]:
    report, libcuda = look.once(nvml), look.system.libcuda_version()
    told = level_text(report.cuda_version) if report.cuda_version else None
    yield Found(told, "NVML") if told else Absent(f"NVML: {report.status}")
    level = level_text(libcuda.value) if isinstance(libcuda, Found) else None
    yield Found(level, why(libcuda)) if level else Absent(f"libcuda.so.1: {why(libcuda)}")
    # With a kernel module there is a level, whoever tells it; without one, only the banner may know.
    smi: Fact[Banner] = Absent("not needed") if isinstance(look.once(kernel_version), Found) else _banner(look)
    if not isinstance(smi, Found):
        yield Unreadable(f"NVML: {report.status}")
    else:
        yield Found(smi.value.cuda, smi.source) if smi.value.cuda else Absent(f"{smi.source}: its banner shows no CUDA release")


def level_text(number: int) -> str | None:
    """12040 → `12.4`; None for what cannot be a CUDA release."""
    return f"{number // 1000}.{number % 1000 // 10}" if 1000 < number < 1_000_000 else None
