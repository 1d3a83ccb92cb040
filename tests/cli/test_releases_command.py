"""`envcheck check --why-not` and `envcheck matrix show` as commands: what they print, in which width and language, with which status."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from envcheck.render.layout import cells

Run = Callable[..., tuple[int, str, str]]


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line[:2] == "0."]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("words", [("matrix", "show"), ("check", "--why-not", "-v", "--vllm", ">=0.20"), ("check", "--why-not")])
def test_every_line_fits_eighty_cells(envcheck: Run, a10: str, words: tuple[str, ...], lang: str) -> None:
    for host in ([], ["--host", a10]) if words[0] == "matrix" else (["--host", a10],):
        _, out, err = envcheck(*words, *host, "--lang", lang)
        assert err == ""
        assert max(cells(line) for line in out.splitlines() if "://" not in line) <= 80


def test_every_release_has_one_line_with_what_it_is_made_of(envcheck: Run) -> None:
    status, out, _ = envcheck("matrix", "show")
    assert status == 0
    shown = lines_of(out)
    assert [line.split()[0].rstrip("*") for line in shown[:3]] == ["0.33.0", "0.32.0", "0.31.0"]
    assert len(shown) == 101
    assert shown[1].split()[:7] == ["0.32.0", "2026-10-18", "2.13.0", "13.0", "V1", "3.11–3.14", "0"]
    assert shown[1].split()[-1] == "cu129"


def test_a_host_adds_the_first_clash_with_its_numbers_and_the_other_wheel(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("matrix", "show", "--host", a10)
    assert status == 0  # whatever the host makes of them
    ends = {line.split()[0]: line for line in lines_of(out)}
    assert ends["0.33.0"].endswith("✗ driver 580>535")
    assert ends["0.32.0"].endswith("✗ driver 580>535 +cu129")
    assert ends["0.19.1"].endswith("✓ runs")


def test_some_releases_only(envcheck: Run) -> None:
    _, out, _ = envcheck("matrix", "show", "--vllm", ">=0.18,<0.20")
    assert [line.split()[0] for line in lines_of(out)] == ["0.19.1", "0.19.0", "0.18.1", "0.18.0"]


def test_stated_facts_are_laid_over_the_host(envcheck: Run, a10: str) -> None:
    _, out, _ = envcheck(
        "matrix", "show", "--host", a10, "--set", "driver.version=580.95.05", "--set", "driver.cuda=13.0", "--vllm", "0.31.0"
    )
    assert lines_of(out)[0].endswith("✓ runs")


def test_the_facts_as_json(envcheck: Run, a10: str) -> None:
    _, out, _ = envcheck("matrix", "show", "--vllm", "0.32.0", "--json")
    answer = json.loads(out)
    assert (answer["schema"], answer["judged"], answer["arch"]) == ("envcheck.releases/1", False, "x86_64")
    assert answer["releases"][0]["verdict"] is None
    judged = json.loads(envcheck("matrix", "show", "--vllm", "0.32.0", "--json", "--host", a10)[1])["releases"][0]
    assert (judged["verdict"], judged["other"]) == ("no", "cu129")
    assert next((clash["needed"], clash["present"]) for clash in judged["clashes"]) == ("580", "535.161.08")


def test_another_machine_has_other_wheels(envcheck: Run) -> None:
    one = json.loads(envcheck("matrix", "show", "--vllm", "0.19.1", "--arch", "aarch64", "--json")[1])["releases"][0]
    assert one["others"] == ["cu130"]


@pytest.mark.parametrize(("vllm", "status"), [("0.33.0", 1), ("0.31.0+cu129", 0)])
def test_why_not_ends_with_the_verdict_of_what_was_asked(envcheck: Run, a10: str, vllm: str, status: int) -> None:
    assert envcheck("check", "--host", a10, "--vllm", vllm, "--why-not")[0] == status


def test_why_not_names_the_two_values(envcheck: Run, a10: str) -> None:
    _, out, _ = envcheck("check", "--host", a10, "--vllm", "0.33.0", "--why-not")
    assert out.startswith("vLLM 0.33.0 does not run on this host.")
    row = next(line for line in out.splitlines() if "Driver too old" in line)
    assert row.split()[-2:] == ["580", "535.161.08"]


def test_why_not_as_json(envcheck: Run, a10: str) -> None:
    status, out, _ = envcheck("check", "--host", a10, "--vllm", ">=0.31", "--why-not", "--json")
    answer = json.loads(out)
    assert status == 1
    assert (answer["schema"], answer["verdict"], answer["more"]) == ("envcheck.why-not/1", "blocked", 0)
    assert [one["release"] for one in answer["releases"]] == ["0.33.0", "0.32.0", "0.31.0"]
    assert [wheel["wheel"] for wheel in answer["releases"][1]["wheels"]] == ["0.32.0", "0.32.0+cu129"]


def test_a_broken_host_file_is_status_four_and_no_such_release_two(envcheck: Run, tmp_path: Path) -> None:
    broken = tmp_path / "host.json"
    broken.write_text("{", encoding="utf-8")
    assert envcheck("matrix", "show", "--host", str(broken))[0] == 4
    assert envcheck("matrix", "show", "--vllm", "0.99")[0] == 2
    assert envcheck("check", "--why-not", "--vllm", "0.99", "--host", str(broken))[0] == 2


@pytest.mark.parametrize("words", [("matrix", "show"), ("check", "--why-not")])
def test_each_has_a_schema(envcheck: Run, words: tuple[str, ...]) -> None:
    status, out, _ = envcheck(*words, "--schema")
    assert status == 0
    assert json.loads(out)["title"] in ("envcheck.releases/1", "envcheck.why-not/1")
