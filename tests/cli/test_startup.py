"""What a start must not load, told by the modules that are there afterwards, never by a stopwatch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("requests", "urllib3", "rich", "distro", "pynvml", "importlib.metadata", "asyncio", "email", "http", "ssl", "pydantic", "attr")
SCRIPT = """
import json, os, sys
from envcheck.cli.main import main
sys.stdout = open(os.devnull, "w")
status = main(sys.argv[1:])
sys.stderr.write(json.dumps([status, sorted(sys.modules)]))
"""


def loaded(*words: str) -> set[str]:
    """The modules a command line leaves loaded."""
    # Without `site`, so that what the tester's environment loads at start does not count.
    search = [str(Path(__file__).parents[2]), *(path for path in sys.path if path.endswith("-packages"))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search)}
    done = subprocess.run([sys.executable, "-S", "-c", SCRIPT, *words], capture_output=True, text=True, env=environment, check=True)
    status, modules = json.loads(done.stderr)
    assert status in (0, 1, 3)
    return set(modules)


def slow_ones(modules: set[str]) -> set[str]:
    return {module for module in modules if any(module == slow or module.startswith(slow + ".") for slow in SLOW)}


def test_version_needs_neither_click_nor_the_facts(processes: None) -> None:
    modules = loaded("--version")
    assert not slow_ones(modules)
    assert not modules & {"click", "ctypes", "packaging.specifiers", "envcheck.matrix.load", "envcheck.rules.check"}


def test_help_needs_click_alone(processes: None) -> None:
    modules = loaded("--help")
    assert not slow_ones(modules)
    assert not modules & {"msgspec", "packaging", "ctypes", "envcheck.matrix.load", "envcheck.cli.commands.check"}


@pytest.mark.parametrize("words", [[], ["check", "--json"], ["-v"]])
def test_a_bare_check_needs_no_parser(processes: None, words: list[str]) -> None:
    modules = loaded(*words)
    assert "envcheck.rules.check" in modules
    assert not modules & {"click", "pathlib", "subprocess"}
    assert not slow_ones(modules)


def test_check_of_a_report_loads_nothing_slow(processes: None, a10: str) -> None:
    modules = loaded("--host", a10)
    assert not slow_ones(modules)
    assert not modules & {
        "ctypes",
        "envcheck.system.real",
        "envcheck.probes.collect",
        "envcheck.render.jsonmodel",
        "envcheck.sizing.request",
    }


def test_batch_of_checks_loads_nothing_slow(processes: None, tmp_path: Path) -> None:
    path = tmp_path / "in"
    path.write_text('{"id": 1, "host": {}}\n')
    modules = loaded("batch", str(path))
    assert not slow_ones(modules)
    assert not modules & {"ctypes", "envcheck.planning.plan", "envcheck.sizing.request"}


def test_a_table_is_what_rich_is_loaded_for(processes: None, a10: str) -> None:
    assert "rich.table" in loaded("probe", "--host", a10)


@pytest.mark.parametrize("command", ["plan", "size", "explain", "matrix", "probe"])
def test_help_of_a_command_loads_no_machinery(processes: None, command: str) -> None:
    modules = loaded(command, "--help")
    assert not slow_ones(modules)
    assert not modules & {"packaging.specifiers", "envcheck.matrix.load", "envcheck.rules.check", "envcheck.sizing.request"}
