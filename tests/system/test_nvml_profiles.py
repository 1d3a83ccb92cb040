"""Every board of the matrix and every profile, from the stand-in through the real nvidia-ml-py to what the visit tells."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.system.nvml import NvmlVisit
from envcheck.system.port import NvmlGpu, NvmlReport

pytestmark = pytest.mark.native

TESTS = Path(__file__).parents[1]
MIB = 1 << 20
Standin = Callable[[str], dict[str, str]]
Look = Callable[..., NvmlVisit]
Changed = Callable[..., dict[str, str]]
Generated = list[tuple[dict[str, Any], Path, NvmlReport]]

# One process visits one host after another: each visit forks, and what is imported before the fork is imported once.
PROGRAM = """
import os, sys, msgspec, ctypes, pynvml
from envcheck.system.nvml import visit
for path in sys.argv[1:]:
    os.environ["ENVCHECK_NVML_PROFILE"] = path
    sys.stdout.buffer.write(msgspec.json.encode(visit()) + b"\\n")
"""


def visits(env: dict[str, str], profiles: Sequence[Path]) -> list[NvmlVisit]:
    argv = [sys.executable, "-c", PROGRAM, *map(str, profiles)]
    done = subprocess.run(argv, env=env, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr == b""
    return [msgspec.json.decode(line, type=NvmlVisit) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def generated(native_libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Generated:
    """Every record of the matrix, its profile and what was seen of it."""
    written = runpy.run_path(str(TESTS / "native" / "make_profiles.py"))["write_all"](tmp_path_factory.mktemp("generated"))
    assert len(written) > 200
    env = {**os.environ, "LD_LIBRARY_PATH": str(native_libraries), "PYTHONPATH": str(TESTS.parent)}
    seen = visits(env, [path for _, path in written])
    return [(record, path, visit.report) for (record, path), visit in zip(written, seen, strict=True)]


def only_gpu(report: NvmlReport) -> NvmlGpu:
    assert (report.status, report.gpu_count, len(report.gpus)) == ("ok", 1, 1)
    return report.gpus[0]


def test_every_board_of_the_matrix_is_read_as_the_matrix_describes_it(generated: Generated) -> None:
    for record, _, report in generated:
        gpu = only_gpu(report)
        assert gpu.name == record["name"]
        major, _, minor = record["compute_capability"].partition(".")
        assert gpu.compute_capability == (int(major), int(minor)), gpu.name
        assert gpu.nvlink_peers == ([] if not record.get("nvlink") else ["switch" if record.get("nvswitch_board") else "gpu"] * 12), (
            gpu.name
        )
        assert (gpu.fabric_state == "completed") == bool(record.get("nvswitch_board")), gpu.name


def test_every_memory_of_the_matrix_is_read_to_the_byte(generated: Generated) -> None:
    measured = [(record, only_gpu(report)) for record, _, report in generated if record.get("memory_mib")]
    assert len(measured) > 50
    for record, gpu in measured:
        assert gpu.memory_total_bytes == record["memory_mib"] * MIB, gpu.name
        assert gpu.memory_reserved_bytes == 300 * MIB
        assert gpu.memory_free_bytes == (record["memory_mib"] - 300) * MIB
    shared = [(record, only_gpu(report)) for record, _, report in generated if record.get("unified_memory")]
    assert shared
    for _, gpu in shared:
        assert (gpu.memory_total_bytes, gpu.errors["memory"]) == (None, "NotSupported"), gpu.name


def test_every_board_runs_under_a_driver_that_knows_it(generated: Generated) -> None:
    for record, _, report in generated:
        branch = int((report.driver_version or "0").split(".")[0])
        first = [int(known) for known in record.get("first_driver", {})]
        assert not first or branch in first, record["name"]
        assert branch <= record.get("last_branch", branch), record["name"]
        assert report.cuda_version, record["name"]


def test_only_mig_boards_have_the_mode(generated: Generated) -> None:
    modes = {record["name"]: only_gpu(report).mig_current for record, _, report in generated}
    assert (modes["NVIDIA H100 80GB HBM3"], modes["NVIDIA A10"], modes["NVIDIA GeForce RTX 4090"]) == (False, None, None)


# What must be seen of each written profile, from its own header line and NVML's numbers.
EXPECTED: dict[str, tuple[str, int | None]] = {
    "a100x4_nvlink_pairs": ("ok", 4),
    "a10_535": ("ok", 1),
    "b200x8": ("ok", 8),
    "consumer_bare": ("ok", 1),
    "ecc_remap_failed": ("ok", 2),
    "ecc_remap_pending": ("ok", 2),
    "ecc_uncorrected": ("ok", 1),
    "exclusive_process": ("ok", 2),
    "gb10": ("ok", 1),
    "h200_580": ("ok", 1),
    "h20x8": ("ok", 8),
    "h20x8_fabric_stopped": ("ok", 8),
    "init_blocked": ("OperatingSystem", None),
    "init_no_permission": ("NoPermission", None),
    "init_not_loaded": ("DriverNotLoaded", None),
    "init_unknown": ("Unknown", None),
    "lost": ("ok", 8),
    "mig": ("ok", 1),
    "mismatch": ("LibRmVersionMismatch", None),
    "mixed_3090_1080ti": ("ok", 2),
    "rtx4090": ("ok", 1),
    "rtx4090x2_p2p_off": ("ok", 2),
    "rtx5090_570": ("ok", 1),
    "t4_470": ("ok", 1),
    "throttled": ("ok", 1),
    "v100_550": ("ok", 1),
    "vgpu_a10q": ("ok", 1),
}
# These hang or crash, which the tests of the states wait for.
WAITED_FOR = {"crash", "hang", "hang_later", "hang_third"}


def test_every_profile_is_seen_as_what_it_is(standin: Standin) -> None:
    folder = TESTS / "profiles"
    assert {path.stem for path in folder.glob("*.ini")} == {*EXPECTED, *WAITED_FOR}
    seen = visits(standin("a10_535"), [folder / f"{name}.ini" for name in EXPECTED])
    found = {name: (visit.report.status, visit.report.gpu_count) for name, visit in zip(EXPECTED, seen, strict=True)}
    assert found == EXPECTED


def test_no_two_boards_of_a_profile_share_a_name_of_their_own(standin: Standin) -> None:
    names = [name for name, (status, _) in EXPECTED.items() if status == "ok"]
    for name, visit in zip(names, visits(standin("a10_535"), [TESTS / "profiles" / f"{name}.ini" for name in names]), strict=True):
        gpus = [gpu for gpu in visit.report.gpus if gpu.lost is None]
        assert len({gpu.uuid for gpu in gpus}) == len({gpu.pci_bus_id for gpu in gpus}) == len(gpus), name


@pytest.mark.parametrize("code", [3, 4, 9, 12, 15, 17, 18, 999])
def test_an_nvml_that_does_not_start_is_a_status_and_no_gpu(standin: Standin, changed: Changed, look: Look, code: int) -> None:
    report = look(changed(standin("b200x8"), f"error.nvmlInitWithFlags = {code}")).report
    assert report.status not in {"ok", "Timeout", "Crashed"}
    assert (report.gpus, report.gpu_count, report.pairs) == ([], None, [])


def test_a_driver_that_hangs_at_the_third_gpu_keeps_two(standin: Standin, look: Look) -> None:
    report = look(standin("hang_third")).report
    assert (report.status, report.gpu_count, [gpu.index for gpu in report.gpus], report.pairs) == ("Timeout", 4, [0, 1], [])


def test_a_library_without_the_functions_is_seen_like_one_that_says_it_lacks_them(
    standin: Standin, native_libraries: Path, changed: Changed, look: Look
) -> None:
    script = (TESTS / "native" / "driver_470.map").read_text()
    hidden = re.findall(r"^\s+(nvml\w+);", script, re.MULTILINE)
    assert len(hidden) > 10
    told = {**changed(standin("t4_470"), "absent = " + " ".join(hidden)), "LD_LIBRARY_PATH": str(native_libraries)}
    by_code, by_symbol = look(told).report, look(standin("t4_470")).report
    assert by_symbol.gpus[0].errors["fabric"] == "FunctionNotFound"
    assert by_symbol.gpus == by_code.gpus


def test_the_old_library_lacks_symbols_and_the_new_one_has_them(native_libraries: Path) -> None:
    program = "import ctypes, sys; print(hasattr(ctypes.CDLL(sys.argv[1]), 'nvmlDeviceGetMemoryInfo_v2'))"
    for folder, has in ((native_libraries, "True"), (native_libraries / "470", "False")):
        argv = [sys.executable, "-c", program, str(folder / "libnvidia-ml.so.1")]
        assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip() == has
