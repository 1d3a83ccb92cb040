"""Releases that are asked, each in its own environment on the CUDA platform, once a session for each host.

ENVCHECK_REAL_RELEASES names other releases than the three of the gate, ENVCHECK_REAL_HOSTS profiles whose defaults are asked for as well,
ENVCHECK_REAL_RECORD a file that the answers are kept in.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

if str(Path(__file__).parents[2]) not in sys.path:  # as `python -m pytest` has it
    sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.real import environments
from tests.real.commands import WISHES, Command, Wish, model_folder, plan
from tests.real.commands import host as played
from tests.real.flags_held import differences
from tests.real.meaning import faults, misjudged

HERE = Path(__file__).parent
RELEASES = tuple(os.environ.get("ENVCHECK_REAL_RELEASES", "0.10.2 0.19.1 0.33.0").split())
HOSTS = (*dict.fromkeys(wish.host for wish in WISHES), *os.environ.get("ENVCHECK_REAL_HOSTS", "").split())
# Fits every host, and is too short for what V0 makes of a model's length: each host tells what it chooses unasked.
BARE = "Qwen/Qwen2.5-1.5B-Instruct"
BARE_TOKENS = 2048
SECONDS = 240


class Answer(NamedTuple):
    """What a release said of the commands planned for a host, and of the arguments as `written` in the wishes.

    `bare` = of a model alone, `options` = the parser's.
    """

    release: str
    platform: str
    options: dict[str, dict[str, Any]]
    bare: dict[str, Any]
    commands: dict[Wish, tuple[Command, dict[str, Any]] | None]
    written: dict[Wish, dict[str, Any]]


def _ask(python: Path, environment: dict[str, str], question: dict[str, Any]) -> dict[str, Any]:
    # Bytecode is kept in the environment: without it a second run would cost as much as the first.
    here = {key: value for key, value in environment.items() if key not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(python), str(HERE / "ask_release.py")],
        input=json.dumps(question),
        env=here,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _answers(release: str, host: str, standin: Callable[[str], dict[str, str]], folders: dict[str, str | None]) -> Answer:
    planned = {wish: plan(wish, release) for wish in WISHES if wish.host == host}
    asked = [command for command in planned.values() if command]
    questions = [
        {"argv": [BARE], "model": folders[""]},
        *({"argv": command.argv, "environment": command.environment, "model": folders[command.wish.model]} for command in asked),
        *({"argv": [wish.model, *shlex.split(wish.arguments)]} for wish in planned),
    ]
    question = {"options": True, "ram_mib": played(host)["memory"]["ram_mib"], "commands": questions}
    told = _ask(environments.interpreter(release), standin(host), question)
    bare, *rest = told["commands"]
    found = {command.wish: (command, said) for command, said in zip(asked, rest[: len(asked)], strict=True)}
    written = dict(zip(planned, rest[len(asked) :], strict=True))
    return Answer(told["release"], told["platform"], told["options"], bare, {wish: found.get(wish) for wish in planned}, written)


@pytest.fixture(scope="session")
def answers(native_libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Answer]:
    """What each release says on each host."""
    place = tmp_path_factory.mktemp("models")
    folders = {model: folder and str(folder) for model in {wish.model for wish in WISHES} for folder in [model_folder(model, place)]}

    folders[""] = str(model_folder(BARE, place / "bare", max_position_embeddings=BARE_TOKENS))

    def standin(profile: str) -> dict[str, str]:
        path = HERE.parent / "profiles" / f"{profile}.ini"
        folder = native_libraries / "470" if "\nlibrary = 470\n" in path.read_text() else native_libraries
        return {**os.environ, "LD_LIBRARY_PATH": str(folder), "ENVCHECK_NVML_PROFILE": str(path)}

    pairs = [(release, host) for release in RELEASES for host in HOSTS]
    with ThreadPoolExecutor(2) as pool:
        asked = {pair: pool.submit(_answers, *pair, standin, folders) for pair in pairs}
    found = {pair: future.result() for pair, future in asked.items()}
    if os.environ.get("ENVCHECK_REAL_RECORD"):
        _record(found, Path(os.environ["ENVCHECK_REAL_RECORD"]))
    return found


def _record(found: dict[tuple[str, str], Answer], path: Path) -> None:
    """One object a release: what each wish led to, and where the matrix differs from the parser."""
    told: dict[str, Any] = {}
    for (release, host), answer in found.items():
        entry = told.setdefault(release, {"flags": differences(release, answer.options), "wishes": [], "defaults": {}})
        entry["defaults"][host] = answer.bare["configuration"] or answer.bare["message"]
        for wish, said in answer.commands.items():
            line: dict[str, Any] = {"host": wish.host, "model": wish.model, "arguments": wish.arguments, "command": None}
            if said:
                command, reply = said
                line |= {"command": shlex.join(command.argv), "stage": reply["stage"], "configured": reply["configuration"] is not None}
                line |= {"message": reply["message"], "codes": sorted(command.codes), "faults": faults(command, reply, answer.options)}
                line["faults"] += filter(None, [misjudged(command, answer.written[wish])])
                line["written"] = answer.written[wish]["message"]
            entry["wishes"].append({key: value for key, value in line.items() if value not in (None, [])})
    path.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
