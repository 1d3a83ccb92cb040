"""What check says of a deciding fact that is not known: the command of the text finds it out, its `--set` states it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.render.catalogue import LANGUAGES, Catalogue

Run = Callable[..., tuple[int, str, str]]
KNOWN: dict[str, Any] = {
    "schema": "envcheck.host/1",
    "os": {"name": "Ubuntu 22.04.5 LTS", "glibc": "2.35", "arch": "x86_64"},
    "python": {"version": "3.12.3"},
    "driver": {"version": "580.95.05"},
    "gpus": [{"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}],
}
FACTS = ["driver.version", "gpus.compute_capability", "os.arch", "os.glibc"]


def without(fact: str, folder: Path) -> str:
    host = json.loads(json.dumps(KNOWN))
    first, second = fact.split(".")
    if first in ("gpus", "driver"):
        del host[first]
    else:
        del host[first][second]
    path = folder / "host.json"
    path.write_text(json.dumps(host), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("fact", FACTS)
def test_the_fact_is_asked_for_and_what_the_text_says_states_it(envcheck: Run, tmp_path: Path, fact: str) -> None:
    host = without(fact, tmp_path)
    status, out, _ = envcheck("--host", host, "--json")
    assert status == 3
    (said,) = json.loads(out)["undecided"]
    assert said.startswith(Catalogue("en").say(f"undecided.{fact}"))
    words = shlex.split(re.findall(r"`(--set [^`]+)`", said)[0])
    status, out, _ = envcheck("--host", host, "--json", *words)
    assert status == 0
    assert json.loads(out)["undecided"] == []


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_text_shows_the_command_and_the_option_on_lines_of_their_own(envcheck: Run, tmp_path: Path, lang: str) -> None:
    _, out, _ = envcheck("--host", without("os.glibc", tmp_path), "--lang", lang)
    lines = [line.strip() for line in out.splitlines()]
    assert any("`ldd --version`" in line for line in lines)
    assert any(line.endswith("`--set os.glibc=2.35`") for line in lines)


def test_an_installation_without_a_release_is_asked_for(envcheck: Run, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({**KNOWN, "packages": {"vllm": "of my own"}}), encoding="utf-8")
    status, out, _ = envcheck("--host", str(path), "--json")
    assert status == 3
    assert "`--set packages.vllm=" in json.loads(out)["undecided"][0]


def test_every_deciding_fact_has_its_three_sentences() -> None:
    for lang in LANGUAGES:
        catalogue = Catalogue(lang)
        for fact in (*FACTS, "packages.vllm"):
            for key in ("undecided", "undecided-how", "undecided-set"):
                said = catalogue.say(f"{key}.{fact}")
                assert said != f"{key}.{fact}"
                assert ("`" in said) is (key != "undecided")
