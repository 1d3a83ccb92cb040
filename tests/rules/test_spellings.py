"""States as tools print them and people copy them, and what they come to."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from envcheck.model.host import Driver, Fabric, Gpu, HostReport
from envcheck.rules.spellings import canonical, fabric_state, foreign_system, is_wsl, manager_state, module_flavour, nvml_state

# What nvidia-smi prints, what nvmlErrorString gives, and how the Python binding names its exceptions.
NVML = [
    ("ok", "ok"),
    ("OK", "ok"),
    ("NVML_SUCCESS", "NVML_SUCCESS"),
    ("Failed to initialize NVML: Unknown Error", "Unknown"),
    ("Unknown", "Unknown"),
    ("NVMLError_Unknown: Unknown Error", "Unknown"),
    ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161", "LibRmVersionMismatch"),
    ("RM has detected an NVML/RM version mismatch.", "LibRmVersionMismatch"),
    ("LibRmVersionMismatch", "LibRmVersionMismatch"),
    ("Failed to initialize NVML: Insufficient Permissions", "NoPermission"),
    ("GPU is lost", "GpuIsLost"),
    ("Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error", "GpuIsLost"),
    ("GPU requires reset", "ResetRequired"),
    ("Failed to initialize NVML: Driver Not Loaded", "DriverNotLoaded"),
    (
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
        "Make sure that the latest NVIDIA driver is installed and running.",
        "DriverNotLoaded",
    ),
    ("NVML Shared Library Not Found", "LibraryNotFound"),
    ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", "LibraryNotFound"),
    ("libnvidia-ml.so.1: cannot open shared object file: No such file or directory", "LibraryNotFound"),
    ("The operating system has blocked the request", "OperatingSystem"),
    ("Timeout", "Timeout"),
    ("No devices were found", "ok"),
    ("Crashed", "Crashed"),
    ("something nobody has seen", "something nobody has seen"),
]
NAMES = sorted({name for _, name in NVML} - {"something nobody has seen", "NVML_SUCCESS"})


@pytest.mark.parametrize(("printed", "state"), NVML)
def test_nvml(printed: str, state: str) -> None:
    assert nvml_state(printed) == state


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stays_a_name(name: str) -> None:
    assert nvml_state(name) == name


@pytest.mark.parametrize(
    ("printed", "state"),
    [
        ("In Progress", "in-progress"),
        ("in_progress", "in-progress"),
        ("Completed", "completed"),
        ("completed", "completed"),
        ("Not Started", "not-started"),
        ("Not Supported", "unsupported"),
        ("N/A", "unsupported"),
        ("failed: 0x3", "failed: 0x3"),
        ("Failed", "failed"),
        ("Failure", "failed"),
        ("", ""),
        ("odd", "odd"),
    ],
)
def test_the_fabrics_state(printed: str, state: str) -> None:
    assert fabric_state(printed) == state


@pytest.mark.parametrize(
    ("printed", "state"),
    [
        ("active (running) since Mon 2025-03-03", "running"),
        ("active", "running"),
        ("inactive (dead)", "stopped"),
        ("failed (Result: exit-code)", "stopped"),
        ("Unit nvidia-fabricmanager.service could not be found.", "absent"),
        ("not installed", "absent"),
        ("running", "running"),
        ("stopped", "stopped"),
        ("absent", "absent"),
    ],
)
def test_the_fabric_manager(printed: str, state: str) -> None:
    assert manager_state(printed) == state


@pytest.mark.parametrize(
    ("printed", "kind"),
    [
        ("open", "open"),
        ("Open Kernel Module", "open"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05", "open"),
        ("Dual MIT/GPL", "open"),
        ("NVIDIA", "proprietary"),
        ("Proprietary", "proprietary"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.144.03", "proprietary"),
        ("server", "server"),
    ],
)
def test_the_modules_kind(printed: str, kind: str) -> None:
    assert module_flavour(printed) == kind


@pytest.mark.parametrize(
    ("name", "kernel", "wsl"),
    [
        ("Ubuntu 22.04.5 LTS", "5.15.167.4-microsoft-standard-WSL2", True),
        ("Ubuntu 20.04", "4.4.0-19041-Microsoft", True),
        ("Ubuntu 22.04.5 LTS (WSL2)", "", True),
        ("Windows 11, WSL 2", "", True),
        ("Windows Subsystem for Linux", "", True),
        ("Ubuntu 22.04.5 LTS", "5.15.0-91-generic", False),
        ("Newsletter Linux", "6.1.0", False),
        ("", "", False),
    ],
)
def test_the_subsystem(name: str, kernel: str, *, wsl: bool) -> None:
    assert is_wsl(name, kernel) is wsl


@pytest.mark.parametrize(
    ("name", "foreign"),
    [
        ("Windows 11", True),
        ("Microsoft Windows 10 家庭中文版 (10.0.19045 64-bit)", True),
        ("Windows Server 2022", True),
        ("Windows-10-10.0.22631-SP0", True),
        ("macOS 15.1 (arm64)", True),
        ("Mac OS X 10.15", True),
        ("Darwin", True),
        ("Windows 11 (WSL2, Ubuntu 22.04)", False),
        ("Windows Subsystem for Linux", False),
        ("Ubuntu 22.04", False),
        ("Linux Mint 22 (before: Windows)", False),
        ("", False),
    ],
)
def test_systems_that_are_not_linux(name: str, *, foreign: bool) -> None:
    assert foreign_system(name) is foreign


def test_a_document_in_one_spelling_is_not_copied() -> None:
    host = HostReport(driver=Driver(version="580.95.05", nvml="ok", flavour="open"), fabric=Fabric(state="completed"), gpus=[Gpu(mig=True)])
    assert canonical(host) is host


def test_modes_of_a_gpu() -> None:
    gpus = [Gpu(mig="Disabled"), Gpu(mig="Enabled"), Gpu(mig="1g.10gb"), Gpu(mig="[N/A]", compute_mode="Exclusive_Process")]
    gpus.append(Gpu(virtualization="Pass-Through"))
    found = canonical(HostReport(gpus=gpus)).gpus
    assert isinstance(found, list)
    assert [gpu.mig for gpu in found] == [False, True, "1g.10gb", False, UNSET]
    assert (found[3].compute_mode, found[4].virtualization) == ("exclusive-process", "passthrough")


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_has_one_spelling(one: str, two: str) -> None:
    host = HostReport(driver=Driver(nvml=one, flavour=two), fabric=Fabric(state=one, manager=two), gpus=[Gpu(mig=one, compute_mode=two)])
    spelt = canonical(host)
    assert canonical(spelt) == spelt
    assert msgspec.json.decode(msgspec.json.encode(spelt), type=HostReport) == spelt
