"""The distribution as people get it: what is inside, and that it works from nowhere near a checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

pytestmark = pytest.mark.wheel

TOP = Path(__file__).parents[2]
HOST = {
    "schema": "envcheck.host/1",
    "os": {"name": "Ubuntu 22.04.5 LTS", "arch": "x86_64", "glibc": "2.35"},
    "python": {"version": "3.12.3"},
    "driver": {"version": "535.161.08", "nvml": "ok"},
    "gpus": [{"index": 0, "name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}],
    "torch": None,
    "packages": {},
}


def run(*argv: str, cwd: Path | str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """A command with this process's environment, less what would let it find a checkout or a user's own facts."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ENVCHECK", "VIRTUAL_ENV", "XDG"))}
    done = subprocess.run(argv, cwd=cwd, env={**kept, "LC_ALL": "C.UTF-8"}, capture_output=True, text=True, timeout=300, check=False)
    assert not check or done.returncode == 0, f"{argv}: {done.stdout[-1000:]}{done.stderr[-3000:]}"
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), cwd=TOP)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("vllm_envcheck-*-py3-none-any.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and its dependencies, from the configured index."""
    folder = tmp_path_factory.mktemp("installed") / "env"
    run(find_uv_bin(), "venv", "--python", sys.executable, str(folder), cwd="/")
    run(find_uv_bin(), "pip", "install", "--python", str(folder / "bin" / "python"), str(wheel), cwd="/")
    return folder


def sources(*folders: str) -> set[str]:
    """Files of the checkout, by path, and links to files; a link to a folder is no file."""
    found = (path for folder in folders for path in (TOP / folder).rglob("*") if not path.is_dir())
    return {str(path.relative_to(TOP)) for path in found if "__pycache__" not in path.parts and path.suffix != ".pyc"}


def test_the_wheel_holds_the_package_and_the_facts_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    info = {name for name in names if name.startswith("vllm_envcheck-")}
    assert names - info == sources("envcheck") | {f"envcheck/{name}" for name in sources("matrices")}
    assert {name.split("/", 1)[1] for name in info} >= {"METADATA", "entry_points.txt", "licenses/LICENSE"}


def test_the_source_distribution_holds_what_the_tests_need(built: Path) -> None:
    (found,) = built.glob("vllm_envcheck-*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = sources("envcheck", "matrices", "tests") | {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"}
    assert wanted - names == set()


def test_it_says_which_facts_it_uses(installed: Path) -> None:
    printed = run(str(installed / "bin" / "envcheck"), "--version", cwd="/").stdout
    assert printed.startswith("envcheck ")
    assert str(installed.resolve()) in printed
    assert "envcheck/matrices)" in printed


def test_its_facts_are_in_order(installed: Path) -> None:
    assert run(str(installed / "bin" / "envcheck"), "matrix", "validate", cwd="/").stderr == ""


def test_it_judges_and_plans(installed: Path, tmp_path: Path) -> None:
    host = tmp_path / "host.json"
    host.write_text(json.dumps(HOST), encoding="utf-8")
    done = run(str(installed / "bin" / "envcheck"), "check", "--host", str(host), "--json", cwd="/")
    answer = json.loads(done.stdout)
    assert done.stderr == ""
    assert answer["verdict"] == "ready-with-warnings"
    assert answer["plan"]["stack"]["vllm"] == "0.19.1"
    assert [finding["title"] for finding in answer["findings"] if finding["code"] == "driver-too-old-for-cuda"]


def test_as_a_module_too(installed: Path) -> None:
    assert run(str(installed / "bin" / "python"), "-m", "envcheck", "--version", cwd="/").stdout.startswith("envcheck ")


def test_the_command_answers_for_usage_errors(installed: Path) -> None:
    done = run(str(installed / "bin" / "envcheck"), "--no-such-option", cwd="/", check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
