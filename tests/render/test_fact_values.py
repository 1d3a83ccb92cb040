"""Facts as people read them: what is worth a line, and everything."""

from __future__ import annotations

import msgspec
import pytest

from envcheck.model.host import Disk, Gpu, HostReport, KernelLog, Limits, PackageOrigin, Process, Provenance, Toolkit
from envcheck.model.host_parts import GpuHealth, GpuPair, LibraryCopy, LoaderFolder, NetworkPort, PackageProblem, PcieLink, Xid
from envcheck.render.catalogue import Catalogue
from envcheck.render.fact_values import full_value, short_value
from envcheck.render.layout import cells
from envcheck.render.probe_text import probe_text

EN, ZH = Catalogue("en"), Catalogue("zh")
PAIRS = [GpuPair(a, b, "nvlink", "ok") for a in range(8) for b in range(a + 1, 8)]
SOUND = Gpu(
    index=0,
    name="NVIDIA A10",
    memory_mib=23028,
    memory_free_mib=22528,
    virtualization="passthrough",
    compute_mode="default",
    display=False,
    pcie=PcieLink(width=16, width_max=16, generation=1, generation_max=4),
    health=GpuHealth(uncorrected_errors=0, remap_pending=False, remap_failed=False, retirement_pending=False, throttle=[]),
)
SICK = msgspec.structs.replace(
    SOUND,
    compute_mode="exclusive-process",
    pcie=PcieLink(width=8, width_max=16),
    health=GpuHealth(uncorrected_errors=3, remap_failed=True, throttle=["power-cap", "hardware-thermal"]),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (SOUND, "NVIDIA A10 (22.5 GiB), 22 GiB free"),
        (
            SICK,
            "NVIDIA A10 (22.5 GiB), 22 GiB free; compute_mode=exclusive-process; uncorrected_errors=3; remap_failed=yes; "
            "throttle=power-cap, hardware-thermal; PCIe x8 of x16",
        ),
        (Disk("/data", 512000.0, purposes=["model-cache", "temporary"], network=True, file_system="nfs4", writable=False),
         "500 GiB free at /data; model-cache, temporary; network file system nfs4; not writable by this user"),
        (Disk("/data", 512000.0, read_only=True, writable=False), "500 GiB free at /data; read-only"),
        (Toolkit("12.1.105", "/usr/local/cuda-12.1", "system", ["PATH", "CUDA_HOME"]),
         "12.1.105 /usr/local/cuda-12.1 (system; PATH, CUDA_HOME)"),
        (Process(4711, 0, 2150.0, "python"), "python (process 4711): 2.1 GiB on GPU 0"),
        (LoaderFolder("/opt/cuda/lib64", "LD_LIBRARY_PATH", ["libcudart.so.12", "libcublas.so.12"]),
         "/opt/cuda/lib64 (LD_LIBRARY_PATH): libcudart.so.12, libcublas.so.12"),
        (LoaderFolder("/x", "LD_PRELOAD", [f"lib{n}.so" for n in range(9)]),
         "/x (LD_PRELOAD): lib0.so, lib1.so, lib2.so, lib3.so and 5 more"),
        (PackageProblem("duplicate", "torch", "/x/site-packages"), "duplicate: torch: /x/site-packages"),
        (PackageOrigin("https://github.com/vllm-project/vllm", False, "git", "0123456789abcdef"),
         "https://github.com/vllm-project/vllm, git, 0123456789ab"),
        (PackageOrigin("file:///src/vllm", True), "file:///src/vllm, editable"),
        (PAIRS, "28 x nvlink (p2p ok)"),
        ([*PAIRS[:2], GpuPair(0, 3, "node", "chipset-not-supported"), GpuPair(1, 2)],
         "2 x nvlink (p2p ok), 1 x node (p2p chipset-not-supported), 1 x ? (p2p ?)"),
        ([LibraryCopy("/a", "9.1.0", "pip", True), LibraryCopy("/b", "8.9.7", "system", False)], "9.1.0 pip (loaded), 8.9.7 system"),
        ([NetworkPort(f"mlx5_{n}", 1, "infiniband", "ACTIVE", 400.0) for n in range(8)], "8 x infiniband ACTIVE 400 Gbit/s"),
        ([Xid(79, "0000:3b:00.0", 2), Xid(13)], "2 x Xid 79 (0000:3b:00.0), 1 x Xid 13"),
        (["a", "b"], "a, b"),
        (65536.0, "65536"),
        (True, "yes"),
    ],
)  # fmt: skip
def test_what_is_worth_a_line(value: object, text: str) -> None:
    assert short_value(value, EN) == text


@pytest.mark.parametrize("value", [SICK, PAIRS[:3], [Xid(79)], {"a": None, "b": 1.5}, Disk("/x"), KernelLog(), LibraryCopy("/a"), [], {}])
def test_everything_of_a_value_is_no_python(value: object) -> None:
    for catalogue in (EN, ZH):
        text = full_value(value, catalogue)
        assert text
        assert not any(sign in text for sign in ("UNSET", "None", "True", "False", "[", "Struct"))


def host(**parts: object) -> HostReport:
    return HostReport(provenance={name: Provenance("found", source="here") for name in parts}, **parts)  # type: ignore[arg-type]


def test_eight_gpus_have_one_line_of_pairs_and_all_with_verbose() -> None:
    assert "28 x nvlink" in probe_text(host(topology=PAIRS), EN)
    verbose = probe_text(host(topology=PAIRS), EN, verbose=True)
    assert sum(line.startswith("topology.") for line in verbose.splitlines()) == 28


def test_no_limit_is_said_as_such() -> None:
    text = probe_text(host(limits=Limits(memlock_mib=None, open_files=1024)), EN)
    rows = {line.split()[0]: line.split()[1] for line in text.splitlines() if line.startswith("limits.")}
    assert rows["limits.memlock_mib"] == "unlimited"
    assert rows["limits.open_files"] == "1024"


def test_tools_are_one_line_and_one_each_with_verbose() -> None:
    tools = {"gcc": "/usr/bin/gcc", "uv": None, "nvcc": "/usr/local/cuda/bin/nvcc"}
    assert "gcc, nvcc" in probe_text(host(tools=tools), EN)
    assert "/usr/local/cuda/bin/nvcc" in "".join(probe_text(host(tools=tools), EN, verbose=True).split())


def test_hostile_and_chinese_values_stay_in_their_columns() -> None:
    nasty = "模型" * 40 + "\x1b[31m\u202e\n" + "x" * 200
    parts = host(
        loader_folders=[LoaderFolder(nasty, nasty, [nasty])],
        package_problems=[PackageProblem(nasty, nasty, nasty, nasty)],
        topology=[GpuPair(0, 1, nasty, nasty)],
        disk=[Disk(nasty, 1.0, purposes=[nasty], file_system=nasty, network=True)],
        toolkits=[Toolkit(nasty, nasty, nasty, [nasty])],
        gpus=[msgspec.structs.replace(SICK, name=nasty, compute_mode=nasty)],
        tools={nasty: nasty},
    )
    for catalogue in (EN, ZH):
        for verbose in (False, True):
            text = probe_text(parts, catalogue, verbose=verbose)
            assert [line for line in text.splitlines() if cells(line) > 80] == []
            assert not set("\x1b\u202e") & set(text)
