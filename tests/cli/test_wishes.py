"""What a user wants kept, as options of a command line."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

GEFORCE = ("--set", "gpus.0.name=NVIDIA GeForce RTX 4090", "--set", "gpus.0.compute_capability=8.9")  # no forward compatibility
Envcheck = Callable[..., tuple[int, str, str]]


def _plan(envcheck: Envcheck, host: str, *words: str) -> dict[str, object]:
    _, out, _ = envcheck("plan", "--host", host, "--json", *words)
    made = json.loads(out)
    assert isinstance(made, dict)
    return made


def test_the_torch_that_is_wanted_is_the_torch_that_is_planned(envcheck: Envcheck, a10: str) -> None:
    stack = _plan(envcheck, a10, "--torch", "2.8.0")["stack"]
    assert isinstance(stack, dict)
    assert stack["torch"] == "2.8.0"


def test_the_interpreter_that_is_wanted_is_the_one_that_is_planned(envcheck: Envcheck, a10: str) -> None:
    stack = _plan(envcheck, a10, "--with-python", "3.12")["stack"]
    assert isinstance(stack, dict)
    assert (stack["python"], stack["new_python"]) == ("3.12", True)  # the report's own interpreter is 3.10


@pytest.mark.parametrize(
    ("option", "beside", "kept"),
    [
        ("--no-root", ("--no-container",), lambda way: not way["cost"]["root"]),
        ("--no-container", (), lambda way: way["image"] is None),
        ("--keep-driver", ("--no-container", *GEFORCE), lambda way: way["kind"] != "driver" or "driver" in way["breaks"]),
    ],
)
def test_no_way_goes_against_a_wish_unsaid(
    option: str, beside: tuple[str, ...], kept: Callable[[dict[str, object]], bool], envcheck: Envcheck, a10: str
) -> None:
    def ways(*words: str) -> list[dict[str, object]]:
        found = _plan(envcheck, a10, "--vllm", "0.33.0", *words)["ways"]
        assert isinstance(found, list)
        return found

    assert not all(map(kept, ways(*beside)))  # without the option there is such a way
    assert ways(*beside, option)
    assert all(map(kept, ways(*beside, option)))


@pytest.mark.parametrize("words", [("--torch", "nonsense"), ("--with-python", "3"), ("--with-python", "3.11.4.1"), ("--torch", "")])
@pytest.mark.parametrize("command", ["plan", "check"])
def test_what_is_no_version_is_said(command: str, words: tuple[str, str], envcheck: Envcheck, a10: str) -> None:
    status, out, error = envcheck(command, "--host", a10, *words)
    assert (status, out) == (2, "")
    assert words[0] in error


def test_a_wish_in_a_batch_line(envcheck: Envcheck, a10: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    with open(a10, encoding="utf-8") as report:
        host = json.load(report)
    asked = [{"torch": "==2.8.0"}, {"torch": "2.8.0"}, {"torch": "nonsense"}]
    file = tmp_path_factory.mktemp("lines") / "lines.ndjson"
    lines = [{"id": place, "host": host, "request": {"pins": pins}, "want": ["plan"]} for place, pins in enumerate(asked)]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    _, out, _ = envcheck("batch", str(file))
    first, second, third = map(json.loads, out.splitlines())
    assert first["plan"]["stack"]["torch"] == second["plan"]["stack"]["torch"] == "2.8.0"
    assert "nonsense" in third["error"]
