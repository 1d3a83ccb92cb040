import pytest

from envcheck.model.fact import Absent, Found, Unreadable
from envcheck.probes import driver
from envcheck.probes.driver import level_text, parse_proc_version
from envcheck.probes.look import Look
from envcheck.probes.nvidia_smi import Banner, banner, parse_banner
from envcheck.system.port import NvmlReport
from envcheck.system.real import RealSystem

PROPRIETARY = """NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025
GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)
"""
OPEN = """NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  555.58.02  Release Build  (dvs-builder@U16-I3-B03-4-3)  Tue Jun 25 01:26:03 UTC 2024
GCC version:  gcc version 14.2.1 20240801 (Red Hat 14.2.1-1) (GCC)
"""  # noqa: E501
OPEN_SHORT = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.144  Release Build  (dvs-builder@U22)\n"
UNNUMBERED = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  TempVersion  Release Build  (bugfix_main)\nGCC version:  13.2\n"

SMI_390 = "| NVIDIA-SMI 390.116                Driver Version: 390.116                   |"
SMI_450 = """Wed Jul 29 21:51:11 2020
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 450.57       Driver Version: 450.57       CUDA Version: 11.0     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
"""
SMI_OLDER_MODULE = "| NVIDIA-SMI 450.66       Driver Version: 418.67       CUDA Version: 10.1     |"
SMI_NO_CUDA = "| NVIDIA-SMI 535.54.03              Driver Version: 535.54.03    CUDA Version: N/A      |"
SMI_610 = """Sun Jun  7 08:16:57 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
"""
SMI_FAILED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PROPRIETARY, ("580.95.05", "proprietary")),
        (OPEN, ("555.58.02", "open")),
        (OPEN_SHORT, ("570.144", "open")),
        (UNNUMBERED, None),
        ("", None),
        ("GCC version:  gcc version 535.1 (x)\n", None),
    ],
)
def test_both_kinds_of_kernel_module_name_themselves(text, expected):
    assert parse_proc_version(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SMI_390, Banner("390.116", None)),
        (SMI_450, Banner("450.57", "11.0")),
        (SMI_OLDER_MODULE, Banner("418.67", "10.1")),
        (SMI_NO_CUDA, Banner("535.54.03", None)),
        (SMI_610, Banner("610.43.02", "13.3")),
        (SMI_FAILED, None),
        ("", None),
    ],
)
def test_banners_of_all_generations(text, expected):
    assert parse_banner(text) == expected


@pytest.mark.parametrize(("number", "text"), [(12040, "12.4"), (11040, "11.4"), (13000, "13.0"), (12090, "12.9"), (0, None), (-1, None)])
def test_cuda_levels(number, text):
    assert level_text(number) == text


def test_files_before_nvml_and_each_fact_with_its_source(look):
    visit = look(
        files={
            "/sys/module/nvidia/version": "580.95.05\n",
            "/proc/driver/nvidia/version": PROPRIETARY,
            "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.580.95.05": b"\x7fELF",
        },
        links={"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1": "libnvidia-ml.so.580.95.05"},
        nvml=NvmlReport("ok", driver_version="580.95.05", nvml_version="13.580.95.05", cuda_version=13000, gpu_count=0),
    )
    facts = driver.probe(visit)
    assert facts["driver.version"] == Found("580.95.05", "/sys/module/nvidia/version")
    assert facts["driver.flavour"] == Found("proprietary", "/proc/driver/nvidia/version")
    assert facts["driver.library_version"].value == "580.95.05"
    assert facts["driver.cuda"] == Found("13.0", "NVML")
    assert facts["driver.nvml"] == Found("ok", "NVML")
    assert visit.system.started == []


def test_a_pending_reboot_shows_both_versions(look):
    facts = driver.probe(
        look(
            files={"/proc/driver/nvidia/version": PROPRIETARY, "/usr/lib64/libnvidia-ml.so.590.44.01": b""},
            links={"/usr/lib64/libnvidia-ml.so.1": "libnvidia-ml.so.590.44.01"},
            nvml=NvmlReport("LibRmVersionMismatch", "Driver/library version mismatch"),
        )
    )
    assert facts["driver.version"].value == "580.95.05"
    assert facts["driver.library_version"].value == "590.44.01"
    assert facts["driver.nvml"].value == "LibRmVersionMismatch"
    assert isinstance(facts["driver.cuda"], Unreadable)


def test_a_bare_host_has_no_driver_at_all(look):
    facts = driver.probe(look())
    assert set(facts) == set(driver.FIELDS)
    assert all(isinstance(fact, Absent) for fact in facts.values())


@pytest.mark.parametrize("answer", [(9, SMI_FAILED), (127, "nvidia-smi: error while loading shared libraries"), Unreadable("timed out")])
def test_a_broken_nvidia_smi_changes_nothing_on_a_bare_host(look, answer):
    facts = driver.probe(look(which={"nvidia-smi": "/usr/bin/nvidia-smi"}, commands={"nvidia-smi": answer}))
    assert all(isinstance(fact, Absent) for fact in facts.values())


def test_nvidia_smi_is_the_last_resort(look):
    visit = look(which={"nvidia-smi": "/usr/bin/nvidia-smi"}, commands={"nvidia-smi": (0, SMI_610)})
    facts = driver.probe(visit)
    assert (facts["driver.version"].value, facts["driver.version"].source) == ("610.43.02", "/usr/bin/nvidia-smi")
    assert (facts["driver.cuda"].value, facts["driver.cuda"].source) == ("13.3", "/usr/bin/nvidia-smi")
    assert [source.why.partition(":")[0] for source in facts["driver.cuda"].tried] == ["NVML", "libcuda.so.1"]
    assert visit.system.started == ["nvidia-smi"]


@pytest.mark.parametrize("status", ["ok", "Timeout", "DriverNotLoaded"])
def test_nvidia_smi_is_not_started_where_nvml_was_loaded(look, status):
    visit = look(nvml=NvmlReport(status), which={"nvidia-smi": "/usr/bin/nvidia-smi"}, commands={"nvidia-smi": (0, SMI_610)})
    driver.probe(visit)
    assert visit.system.started == []


def test_under_wsl_only_nvml_knows(look):
    facts = driver.probe(
        look(
            files={"/usr/lib/wsl/lib/libnvidia-ml.so.1": b"", "/usr/lib/wsl/lib/libcuda.so.1": b""},
            nvml=NvmlReport("ok", driver_version="566.36", nvml_version="12.565.77", cuda_version=12070),
        )
    )
    assert (facts["driver.version"].value, facts["driver.version"].source) == ("566.36", "NVML")
    assert (facts["driver.library_version"].value, facts["driver.library_version"].source) == ("565.77", "NVML")
    assert "/usr/lib/wsl/lib/libcuda.so.1 does not name its release" in [one.why for one in facts["driver.library_version"].tried]
    assert isinstance(facts["driver.flavour"], Absent)


def test_the_file_the_loader_took_tells_the_library_version(look):
    report = NvmlReport("LibRmVersionMismatch", library_path="/opt/driver/libnvidia-ml.so.550.54.15")
    assert driver.library_version(look(nvml=report)) == Found("550.54.15", "/opt/driver/libnvidia-ml.so.550.54.15")


def test_a_compat_copy_is_not_the_drivers_library(look):
    visit = look(
        files={"/usr/local/cuda/compat/libcuda.so.575.57.08": b"", "/usr/lib64/libcuda.so.535.161.08": b""},
        links={"/usr/local/cuda/compat/libcuda.so.1": "libcuda.so.575.57.08", "/usr/lib64/libcuda.so.1": "libcuda.so.535.161.08"},
        env={"LD_LIBRARY_PATH": "/usr/local/cuda/compat"},
    )
    assert driver.library_version(visit).value == "535.161.08"


@pytest.mark.parametrize(("status", "kind"), [("Timeout", Unreadable), ("DriverNotLoaded", Absent)])
def test_without_kernel_files_nvmls_failure_decides_what_is_known(look, status, kind):
    assert isinstance(driver.probe(look(nvml=NvmlReport(status)))["driver.version"], kind)


def test_a_file_that_may_not_be_read_is_not_an_absent_driver(look):
    visit = look(
        files={
            "/sys/module/nvidia/version": Unreadable("permission denied"),
            "/proc/driver/nvidia/version": Unreadable("permission denied"),
        }
    )
    assert isinstance(driver.probe(visit)["driver.version"], Unreadable)


@pytest.mark.parametrize(("taint", "kind"), [("POE\n", "proprietary"), ("OE\n", "open"), ("\n", None)])
def test_the_kernels_own_mark_tells_the_kind_where_the_driver_hides_it(look, taint, kind):
    fact = driver.flavour(look(files={"/proc/driver/nvidia/version": Unreadable("permission denied"), "/sys/module/nvidia/taint": taint}))
    assert (fact.value if isinstance(fact, Found) else None) == kind


class NoLibrary(RealSystem):
    """This machine with the PATH of a test, without a driver's library."""

    def nvml(self):
        return NvmlReport("LibraryNotFound")

    def libcuda_version(self):
        return Absent("no such library")


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exec sleep 600", "timed out after 2 s"),
        ("sleep 600 & exec sleep 600", "timed out after 2 s"),
        ("echo broken >&2; exit 9", "ended with 9: broken"),
        ("kill -SEGV $$", "ended with -11: "),
        ("head -c 200000 /dev/zero | tr '\\0' x", "ended with 0: xxx"),
    ],
)
def test_a_broken_or_hanging_nvidia_smi_costs_its_limit_and_is_named(tmp_path, script, said):
    fake = tmp_path / "nvidia-smi"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    fact = banner(Look(NoLibrary({"PATH": f"{tmp_path}:/usr/bin:/bin"})))
    assert isinstance(fact, Unreadable)
    assert said in fact.why
    assert len(fact.why) < 300
