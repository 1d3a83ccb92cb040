"""`envcheck probe`: recording a host, explaining its facts, and their table."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from envcheck.render.layout import cells

Run = Callable[..., tuple[int, str, str]]
HOSTS = Path(__file__).parents[1] / "hosts"
H20 = str(HOSTS / "baremetal-ubuntu2404-h20x8-ready")
A10 = str(HOSTS / "aliyun-ubuntu2204-a10-torchcuda-ready")


# ---- --record ----


def test_a_recording_is_a_host_again(envcheck: Run, tmp_path: Path) -> None:
    folder = str(tmp_path / "copy")
    status, out, err = envcheck("probe", "--host", A10, "--record", folder)
    assert status == 0
    assert out == envcheck("probe", "--host", A10)[1]
    words = " ".join(err.split())
    assert re.search(r"\(\d+ files\)", words)
    assert f"envcheck check --host {folder}" in words
    assert "look the files through before you send them" in words
    assert envcheck("check", "--host", folder)[:2] == envcheck("check", "--host", A10)[:2]
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700
    assert "s3cret" not in "".join(path.read_text() for path in (tmp_path / "copy").glob("*.json"))


def test_a_recording_of_a_chosen_interpreter_names_it_again(envcheck: Run, tmp_path: Path) -> None:
    folder = str(tmp_path / "copy")
    err = envcheck("probe", "--host", A10, "--python", "/root/vllm", "--record", folder)[2]
    assert f"`envcheck check --host {folder} --python /root/vllm`" in " ".join(err.split())
    again = envcheck("probe", "--host", folder, "--python", "/root/vllm", "--explain", "packages.torch")[1]
    assert again == envcheck("probe", "--host", A10, "--python", "/root/vllm", "--explain", "packages.torch")[1]


def test_an_earlier_recording_needs_force(envcheck: Run, tmp_path: Path) -> None:
    folder = str(tmp_path / "copy")
    assert envcheck("probe", "--host", A10, "--record", folder)[0] == 0
    status, out, err = envcheck("probe", "--host", H20, "--record", folder)
    assert (status, out) == (2, "")
    assert "--force" in err
    assert envcheck("probe", "--host", H20, "--record", folder, "--force", "-q")[0] == 0
    assert "H20" in (tmp_path / "copy" / "nvml.json").read_text()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--host", "{a10}", "--record", "{new}"), 2, "on the host itself"),
        (("--host", A10, "--record", "{full}"), 2, "Name a new folder"),
        (("--host", A10, "--record", "{full}", "--force"), 2, "Name a new folder"),
        (("--host", A10, "--record", "{a10}"), 2, "is no folder"),
        (("--host", A10, "--record", ""), 2, "--record"),
        (("--host", A10, "--record", "{a10}/deeper"), 2, "choose another place"),
        (("--host", A10, "--force"), 2, "Add --record DIR"),
        (("--host", A10, "driver"), 2, "`envcheck probe --explain driver`"),
        (("--host", A10, "--explain", "drivers"), 2, "Facts begin with: os,"),
    ],
)
def test_mistakes_are_said_with_what_to_type(
    envcheck: Run, a10: str, tmp_path: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary").write_text("x")
    places = {"a10": a10, "new": str(tmp_path / "new"), "full": str(tmp_path / "full")}
    code, out, err = envcheck("probe", *(word.format(**places) for word in words))
    assert (code, out) == (status, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "new").exists()


# ---- --explain ----


def test_each_fact_names_its_sources_in_order(envcheck: Run) -> None:
    status, out, _ = envcheck("probe", "--host", H20, "--explain", "driver.version", "libcuda.path")
    assert status == 0
    assert out == (
        "driver.version: 580.95.05\n  found: /sys/module/nvidia/version\n\n"
        "libcuda.path: /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05\n  found: loader\n"
    )


def test_json_carries_the_sources_of_the_wanted_facts(envcheck: Run) -> None:
    document = json.loads(envcheck("probe", "--host", H20, "--explain", "driver", "--json")[1])
    assert document["provenance"]["driver.version"]["tried"] == [{"state": "found", "source": "/sys/module/nvidia/version"}]
    assert {path.partition(".")[0] for path, entry in document["provenance"].items() if "tried" in entry} == {"driver"}
    plain = json.loads(envcheck("probe", "--host", H20, "--json")[1])
    for entry in document["provenance"].values():
        entry.pop("tried", None)
    assert document == plain


def test_a_stated_fact_is_shown_with_what_it_replaced(envcheck: Run) -> None:
    out = envcheck("probe", "--host", H20, "--explain", "driver.version", "--set", "driver.version=535.161.08")[1]
    assert out.splitlines() == [
        "driver.version: 535.161.08",
        "  stated: --set driver.version=535.161.08",
        "  found: /sys/module/nvidia/version",
        "  in place of: 580.95.05",
    ]


def test_a_report_that_knows_no_sources_says_so(envcheck: Run, a10: str) -> None:
    assert "does not say where this comes from" in envcheck("probe", "--host", a10, "--explain", "driver.version")[1]


def test_a_report_made_with_explain_explains_itself(envcheck: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(envcheck("probe", "--host", H20, "--explain", "--json")[1])
    assert envcheck("probe", "--host", str(report), "--explain")[1] == envcheck("probe", "--host", H20, "--explain")[1]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("words", [(), ("-v",), ("--explain",), ("--explain", "-v")])
def test_everything_fits_80_columns(envcheck: Run, words: tuple[str, ...], lang: str) -> None:
    for host in (H20, A10, str(HOSTS / "kubernetes-ubuntu2204-a100x2-ready"), str(HOSTS / "azure-ubuntu2204-h100mig-ready")):
        status, out, _ = envcheck("probe", "--host", host, "--lang", lang, *words)
        assert status == 0
        assert [line for line in out.splitlines() if cells(line) > 80 and "://" not in line] == []
        assert re.findall(r"\b(?:Struct|UNSET|None|True|False|LibraryCopy|GpuPair|Disk)\b\(?", out) == []


def test_the_schema_has_the_fields_of_every_part(envcheck: Run) -> None:
    schema = json.loads(envcheck("probe", "--schema")[1])
    definitions = schema["$defs"]
    parts = {"topology", "limits", "kernel_log", "loader_folders", "package_problems", "nccl", "cpu"}
    assert parts <= definitions["HostReport"]["properties"].keys()
    fields = (("Gpu", "health"), ("GpuPair", "p2p"), ("Disk", "purposes"), ("Provenance", "tried"), ("Xid", "count"))
    for part, field in fields:
        assert field in definitions[part]["properties"]
