"""Recorded hosts through the whole command: each folder of `tests/hosts` says what must come out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.cli.main import main
from envcheck.render.jsonmodel import CheckOut
from envcheck.render.layout import cells

HOSTS = sorted(path.parent for path in (Path(__file__).parents[1] / "hosts").glob("*/expected.json"))
STANDING = {"release-vulnerable"}  # a note on nearly every host, which comes and goes with the advisories and not with the host
VERDICTS = {"ready": 0, "ready-with-warnings": 0, "blocked": 1, "unknown": 3}


@pytest.fixture(params=HOSTS, ids=lambda path: path.name)
def host(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture
def expected(host: Path) -> dict[str, Any]:
    wanted: dict[str, Any] = json.loads((host / "expected.json").read_text(encoding="utf-8"))
    return wanted


@pytest.fixture(autouse=True)
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENVCHECK_LANG", "ENVCHECK_MATRIX_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")


def run(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, bytes]:
    status = main(list(words))
    sys.stdout.flush()
    out, err = capfdbinary.readouterr()
    assert err == b""
    return status, out


def check(capfdbinary: pytest.CaptureFixture[bytes], host: Path) -> tuple[int, CheckOut]:
    status, out = run(capfdbinary, "check", "--host", str(host), "--json")
    return status, msgspec.json.decode(out, type=CheckOut)


def test_there_are_hosts_of_every_verdict() -> None:
    verdicts = {json.loads((folder / "expected.json").read_text(encoding="utf-8"))["verdict"] for folder in HOSTS}
    assert len(HOSTS) >= 60
    assert {"ready", "ready-with-warnings", "blocked"} <= verdicts <= VERDICTS.keys()


def test_the_hosts_span_distributions_places_and_machines() -> None:
    wanted = [json.loads((folder / "expected.json").read_text(encoding="utf-8"))["facts"] for folder in HOSTS]
    names = {folder.name.split("-")[0] for folder in HOSTS}
    systems = {facts["os.id"] for facts in wanted if "os.id" in facts}
    assert systems >= {"ubuntu", "debian", "centos", "rocky", "almalinux", "openEuler", "anolis", "alinux", "tencentos", "amzn"}
    assert names >= {"aliyun", "tencent", "huawei", "aws", "gcp", "azure", "autodl", "runpod", "kaggle", "colab", "vmware", "baremetal"}
    assert names >= {"docker", "kubernetes", "apptainer", "wsl", "jetson"}
    assert "aarch64" in {facts.get("os.arch") for facts in wanted}


def test_every_host_has_a_twin_with_another_answer(host: Path, expected: dict[str, Any]) -> None:
    twin = host.parent / expected["twin"]
    other = json.loads((twin / "expected.json").read_text(encoding="utf-8"))
    assert twin != host
    assert expected["differs_by"]
    contradicted = [path for path, value in expected["facts"].items() if other["facts"].get(path, value) != value]
    assert any(expected[key] != other[key] for key in ("verdict", "first_code", "vllm")) or contradicted


def test_a_twin_differs_in_few_files(host: Path, expected: dict[str, Any]) -> None:
    own, others = recorded(host), recorded(host.parent / expected["twin"])
    differing = {path for path in own.keys() | others.keys() if own.get(path) != others.get(path)}
    assert 1 <= len(differing) <= 20, sorted(differing)
    assert {path for path in own if path not in differing}, "nothing in common"


def recorded(folder: Path) -> dict[str, bytes]:
    """Contents by path of a recording, of a link its target; without what is expected of it."""
    found = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    contents = {str(path.relative_to(folder)): os.readlink(path).encode() if path.is_symlink() else path.read_bytes() for path in found}
    contents.pop("expected.json")
    return contents


def test_the_name_says_the_answer(host: Path, expected: dict[str, Any]) -> None:
    word = host.name.rsplit("-", 1)[-1]
    assert word in ("ready", "blocked", "unknown", "warnings")
    assert VERDICTS[expected["verdict"]] == expected["exit"]


def test_verdict_status_release_and_first_code(host: Path, expected: dict[str, Any], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, report = check(capfdbinary, host)
    first = next((finding.code for finding in report.findings if finding.code not in STANDING), None)
    stack = report.plan.stack if report.plan else None
    assert (report.verdict.value, status) == (expected["verdict"], expected["exit"])
    assert first == expected["first_code"]
    assert (stack.vllm if stack else None) == expected["vllm"]


def test_the_text_says_what_a_person_must_read(host: Path, expected: dict[str, Any], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, out = run(capfdbinary, "check", "--host", str(host))
    text = " ".join(out.decode().split())
    assert status == expected["exit"]
    assert [words for words in expected["says"] if words not in text] == []


def test_facts_are_probed_as_recorded(host: Path, expected: dict[str, Any], capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status, out = run(capfdbinary, "probe", "--host", str(host), "--json")
    document = json.loads(out)
    assert status == 0
    assert {path: fact(document, path) for path in expected["facts"]} == expected["facts"]


def fact(document: Any, path: str) -> Any:
    """A value by dotted path; `gpus.0.name` or `gpus[0].name`."""
    for key in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(document, list):
            document = document[int(key)] if key.isdecimal() and int(key) < len(document) else len(document) if key == "length" else None
        else:
            document = document.get(key, "(missing)") if isinstance(document, dict) else None
    return document


def test_both_languages_have_every_sentence_within_80_columns(host: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    import re

    for lang in ("en", "zh"):
        for command in ("check", "plan", "probe"):
            _, out = run(capfdbinary, command, "--host", str(host), "-v", "--lang", lang)
            text = out.decode()
            bare_keys = re.findall(r"\b(?:finding|remedy|clash|plan|check|undecided|size|probe)\.[a-z-]+\.[a-z.-]+(?: \([a-z_]+=|\n)", text)
            assert bare_keys == []
            assert re.findall(r"\{[a-z_]+\}", text) == []
            assert [line for line in text.splitlines() if cells(line) > 80 and not may_be_wide(line)] == []


def may_be_wide(line: str) -> bool:
    """Addresses and quoted words of commands are copied whole."""
    return "://" in line or line.strip().startswith(("-c ", "'", "export "))
