"""Releases of vLLM take the planned commands as they are meant: their own parser, and their own check of the engine's configuration."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.real.commands import WISHES, Wish, host
from tests.real.conftest import HOSTS, RELEASES, Answer
from tests.real.flags_held import differences
from tests.real.meaning import faults, misjudged
from tests.real.record import DEFAULTS

pytestmark = pytest.mark.real
Answers = dict[tuple[str, str], Answer]


@pytest.mark.parametrize("wish", WISHES, ids=" ".join)
@pytest.mark.parametrize("release", RELEASES)
def test_the_command_is_taken_as_meant(release: str, wish: Wish, answers: Answers) -> None:
    answer = answers[release, wish.host]
    said = answer.commands[wish]
    if said is not None:
        command, told = said
        assert faults(command, told, answer.options) == []
        assert misjudged(command, answer.written[wish]) is None


@pytest.mark.parametrize("release", RELEASES)
def test_most_wishes_lead_to_a_command(release: str, answers: Answers) -> None:
    said = [said for name in HOSTS for said in answers[release, name].commands.values()]
    accepted = [told for found in said if found for told in [found[1]] if told["stage"] == "accepted" and told["configuration"]]
    assert len(said) == len(WISHES)
    assert len(accepted) >= len(WISHES) // 2


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("release", RELEASES)
def test_the_release_runs_as_on_a_gpu(release: str, name: str, answers: Answers) -> None:
    answer = answers[release, name]
    assert answer.release == release
    assert answer.platform == "NvmlCudaPlatform"
    assert answer.bare["stage"] == "accepted", answer.bare["message"]


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("release", RELEASES)
def test_the_defaults_are_those_that_the_release_chooses(release: str, name: str, answers: Answers) -> None:
    real: dict[str, Any] = answers[release, name].bare["configuration"]
    card = host(name)["gpus"][0]["name"]
    argv = [sys.executable, "-m", "envcheck", "defaults", "--vllm", release, "--gpu", card, "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    ours = {default["setting"]: default["value"] for default in json.loads(done.stdout)["defaults"]}
    # A field that the release has not yet, or leaves to the engine, is none.
    told = {setting: real[setting] for setting in DEFAULTS if real[setting] not in (None, "None")}
    assert len(told) >= 7
    assert {setting: ours.get(setting) for setting in told} == told


@pytest.mark.parametrize("release", RELEASES)
def test_the_matrix_has_the_arguments_of_the_parser(release: str, answers: Answers) -> None:
    assert differences(release, answers[release, HOSTS[0]].options) == []
