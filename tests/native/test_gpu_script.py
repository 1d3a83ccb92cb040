"""The script for a host with a GPU, run against the stand-in and a made-up `nvidia-smi`: it agrees where they do and fails where not."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
Standin = Callable[[str], dict[str, str]]


@pytest.fixture(scope="module")
def script() -> Iterator[Any]:
    """The script's modules, which find each other in its folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(TESTS / "gpu"))
        yield {name: importlib.import_module(f"gpucheck_{name}") for name in ("smi", "compare", "runs")}


@pytest.fixture(scope="module")
def fake() -> Any:
    return runpy.run_path(str(TESTS / "native" / "fake_nvidia_smi.py"))["answer"]


def path_with_fake(folder: Path) -> str:
    tool = folder / "nvidia-smi"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(TESTS / "native" / "fake_nvidia_smi.py")])} "$@"\n')
    tool.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def run(env: dict[str, str], out: Path, *arguments: str) -> tuple[int, dict[str, Any], list[str]]:
    """The script's exit status, summary and lines."""
    argv = [sys.executable, "-m", "tests.gpu", "--out", str(out), *arguments]
    done = subprocess.run(argv, env=env, cwd=TESTS.parent, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return done.returncode, json.loads((out / "summary.json").read_text()), done.stdout.splitlines()


@pytest.mark.native
@pytest.mark.parametrize("profile", ["ecc_remap_pending", "rtx4090x2_p2p_off", "t4_470", "gb10", "mig"])
def test_where_both_see_the_same_host_nothing_fails(standin: Standin, tmp_path: Path, profile: str) -> None:
    env = {**standin(profile), "PATH": path_with_fake(tmp_path)}
    status, summary, lines = run(env, tmp_path / "out", "--no-timing")
    assert (summary["failed"], status) == ([], 0)
    assert summary["counts"]["PASS"] == sum(line.startswith("PASS ") for line in lines) > 20


@pytest.mark.native
def test_where_they_differ_the_script_fails_and_names_the_fact(standin: Standin, tmp_path: Path) -> None:
    env = standin("h20x8")
    other = tmp_path / "other.ini"
    other.write_text(Path(env["ENVCHECK_NVML_PROFILE"]).read_text() + "\n[gpu2]\nmemory_total = 81559 MiB\necc = 0 0\n")
    env = {**env, "PATH": path_with_fake(tmp_path), "FAKE_SMI_PROFILE": str(other)}
    status, summary, lines = run(env, tmp_path / "out", "--no-timing")
    failed = {result["fact"] for result in summary["failed"]}
    assert (status, failed) == (1, {"gpu2.memory_mib", "gpu2.memory_free_mib", "gpu2.health.ecc"})
    assert "FAIL gpu2.health.ecc: envcheck True, nvidia-smi False" in lines


@pytest.mark.native
def test_without_the_tool_the_script_fails_and_says_where_it_belongs(standin: Standin, tmp_path: Path) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    status, summary, lines = run({**standin("a10_535"), "PATH": str(empty)}, tmp_path / "out", "--no-timing")
    assert (status, summary["counts"]) == (1, {"PASS": 0, "FAIL": 1, "SKIP": 0})
    assert "not on PATH" in lines[0]


@pytest.fixture(scope="module")
def document(native_libraries: Path) -> dict[str, Any]:
    """What envcheck says of the profile `h20x8`."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(native_libraries), "ENVCHECK_NVML_PROFILE": str(TESTS / "profiles" / "h20x8.ini")}
    argv = [sys.executable, "-m", "envcheck", "probe", "--offline", "--json"]
    done = subprocess.run(argv, env=env, cwd=TESTS.parent, capture_output=True, text=True, timeout=60, check=True)
    return dict(json.loads(done.stdout))


# A line of the profile that the tool sees otherwise → the facts that must fail on GPU 1.
CHANGES = {
    "name = NVIDIA H200": {"name"},
    "uuid = GPU-1": {"uuid"},
    "pci = 0000:99:00.0": {"pci_bus_id"},
    "cc = 9.1": {"compute_capability"},
    "memory_total = 97873 MiB": {"memory_mib"},
    "memory_used = 300 MiB": {"memory_free_mib"},
    "mig = 1 1": {"mig"},
    "persistence = 0": {"persistence"},
    "compute_mode = 3": {"compute_mode"},
    "display = 1": {"display"},
    "power_limit = 400000": {"power_limit_w"},
    "power_default = 400000": {"power_default_w"},
    "pcie = 5 16 4 16": {"pcie.generation_max", "pcie.generation"},
    "pcie = 5 8 5 16": {"pcie.width"},
    "pcie = 5 16 5 8": {"pcie.width_max"},
    "ecc = 0 0": {"health.ecc"},
    "ecc_uncorrected = 1": {"health.uncorrected_errors"},
    "retired_pending = 1": {"health.retirement_pending"},
    "temperature = 70": {"health.temperature_c"},
    "throttle = 0x40": {"health.throttle"},
    "bar1_total = 256 MiB": {"bar1_mib"},
    "virtualization = 1": {"virtualization"},
    "remapped = 1 0 0 0": {"health.remapped_rows"},
    "remapped = 0 0 1 0": {"health.remap_pending"},
    "remapped = 0 0 0 1": {"health.remap_failed"},
    "nvlinks = 17/18": {"nvlinks"},
    "processes = 5:1MiB": {"processes"},
}
WHOLE = {
    "driver = 570.1": "driver.version",
    "cuda = 12080": "driver.cuda",
    "gpus = 7": "gpus: how many",
    "fabric = 1 0": "fabric.state",
    "p2p_read = 4": "topology.0-1.p2p",
    "p2p_nvlink = 5": "topology.0-1.link",
}


def failed(script: Any, fake: Any, document: dict[str, Any], more: str) -> set[str]:
    profile = (TESTS / "profiles" / "h20x8.ini").read_text() + more

    def ask(arguments: Sequence[str]) -> tuple[int, str]:
        answer: tuple[int, str] = fake(arguments, profile)
        return answer

    results = script["compare"].compare(document, script["smi"].everything(ask))
    return {result.fact for result in results if result.verdict == "FAIL"}


@pytest.mark.native
def test_an_unchanged_host_has_no_failure(script: Any, fake: Any, document: dict[str, Any]) -> None:
    assert failed(script, fake, document, "") == set()


@pytest.mark.native
@pytest.mark.parametrize("line", CHANGES)
def test_every_wrong_value_of_a_gpu_is_found(script: Any, fake: Any, document: dict[str, Any], line: str) -> None:
    found = failed(script, fake, document, f"\n[gpu1]\n{line}\n")
    if line.startswith("mig"):
        assert found == set()  # a divided GPU's entry is a slice, and has no mode to compare
    elif line.startswith("nvlinks"):
        assert found == {"gpu1.nvlinks"}
    else:
        assert found <= {f"gpu1.{fact}" for fact in CHANGES[line]}
        assert found


@pytest.mark.native
@pytest.mark.parametrize("line", WHOLE)
def test_every_wrong_value_of_the_host_is_found(script: Any, fake: Any, document: dict[str, Any], line: str) -> None:
    section = "gpu" if line.startswith("fabric") else "system"
    assert WHOLE[line] in failed(script, fake, document, f"\n[{section}]\n{line}\n")


@pytest.mark.native
@pytest.mark.parametrize("path", ["name", "memory_mib", "persistence", "health", "pcie", "nvlinks", "virtualization", "mig"])
def test_a_fact_that_envcheck_lacks_fails(script: Any, fake: Any, document: dict[str, Any], path: str) -> None:
    gpus = [{key: held for key, held in gpu.items() if key != path or gpu["index"] != 1} for gpu in document["gpus"]]
    found = failed(script, fake, {**document, "gpus": gpus}, "")
    assert found
    assert all(fact.startswith(f"gpu1.{path}") for fact in found)


# The tool's own forms, as its manual shows them.
TOPO = """
\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV12\tSYS\tPXB\t0-63\t0\t\tN/A
GPU1\tNV12\t X \tPIX\tSYS\t0-63\t0\t\tN/A
GPU2\tSYS\tPIX\t X \tSYS\t64-127\t1\t\tN/A
NIC0\tPXB\tSYS\tSYS\t X

Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks
"""
LINKS = """GPU 0: NVIDIA A100 80GB PCIe (UUID: GPU-1)
\t Link 0: 25 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA T4 (UUID: GPU-2)
"""


def test_tables_of_the_tool_are_read(script: Any) -> None:
    smi = script["smi"]
    assert smi.parse_matrix(TOPO) == {(0, 1): "NV12", (0, 2): "SYS", (1, 2): "PIX"}
    assert smi.parse_nvlinks(LINKS) == {0: 1, 1: 0}
    assert smi.parse_csv("0, NVIDIA A10, [N/A]\n", ["index", "name", "ecc"]) == [{"index": "0", "name": "NVIDIA A10", "ecc": None}]


@pytest.mark.parametrize("text", ["", "No devices were found\n", "\x00\xff", "<a><b></a>", "GPU0\n" * 50, "GPU 0:\n\tLink x"])
def test_an_answer_of_another_form_is_no_answer(script: Any, text: str) -> None:
    smi = script["smi"]
    assert smi.parse_xml(text) == (None, [], {})
    assert smi.parse_matrix(text) == {}
    assert smi.parse_csv(text, ["index", "name"]) == []
    assert set(smi.parse_nvlinks(text).values()) <= {0}


def test_a_field_that_the_driver_does_not_know_is_asked_by_its_older_name(script: Any, fake: Any) -> None:
    profile = (TESTS / "profiles" / "t4_470.ini").read_text() + "\n[gpu]\nthrottle = 0x4\n"
    (row,) = script["smi"].query(lambda arguments: fake(arguments, profile))
    assert (row["name"], row["clocks_event_reasons.active"]) == ("Tesla T4", "0x0000000000000004")
    assert "fabric.state" not in row


def test_documents_are_compared_without_their_sources(script: Any) -> None:
    first = {"os": {"id": "ubuntu"}, "gpus": [{"name": "A"}], "provenance": {"os.id": {"state": "found"}}}
    second = {"os": {"id": "ubuntu"}, "gpus": [{"name": "B", "mig": None}], "provenance": {}}
    assert script["runs"].differences(first, first) == []
    assert script["runs"].differences(first, second) == ["gpus.0.mig", "gpus.0.name"]


@pytest.mark.parametrize(
    ("live", "replayed", "verdict"),
    [
        ('{"os": {"id": "debian"}}', '{"os": {"id": "debian"}, "provenance": {}}', "PASS"),
        ('{"os": {"id": "debian"}}', '{"os": {}}', "FAIL"),
        (None, "{}", "FAIL"),
    ],
)
def test_a_recording_must_replay_to_the_same_facts(
    script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, live: str | None, replayed: str, verdict: str
) -> None:
    def run_fake(argv: Sequence[str], extra: object = None) -> subprocess.CompletedProcess[str]:
        if "--help" in argv:
            return subprocess.CompletedProcess(argv, 0, "  --record DIR  Write what was read.", "")
        text = live if "--record" in argv else replayed
        return subprocess.CompletedProcess(argv, 0 if text is not None else 5, text or "", "")

    folder = tmp_path / "recording"
    folder.mkdir()
    monkeypatch.setattr(script["runs"], "run", run_fake)
    assert script["runs"].recorded(folder).verdict == verdict
    assert (tmp_path / "recording.tar.gz").is_file() == (live is not None)


@pytest.mark.native
def test_costs_are_measured_with_the_children(script: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = "import time; end = time.process_time() + 0.05\nwhile time.process_time() < end: pass"
    monkeypatch.setattr(script["runs"], "ENVCHECK", (sys.executable, "-c", busy))
    cost = script["runs"].cost([], runs=3)
    for kind in ("wall_ms", "cpu_ms"):
        assert 50 <= cost[kind]["least"] <= cost[kind]["median"]
