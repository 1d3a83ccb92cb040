"""A plan's commands carried out, by the real pip and the real uv, on indexes of tiny wheels that this machine serves to itself."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from uv import find_uv_bin

from envcheck.matrix.load import Matrix
from envcheck.model.plan import InstallRecipe, MirrorChoice
from envcheck.model.stack import Stack
from envcheck.model.text import Text
from envcheck.planning.install import recipes

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
TORCH = ("torch", "torchvision", "torchaudio")


def write_wheel(folder: Path, name: str, version: str, requires: list[str], source: str = "") -> None:
    """A wheel with nothing but metadata and one module."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {wanted}\n" for wanted in requires)
    files = {
        f"{name}.py": source,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    target = folder / name / f"{name}-{version}-py3-none-any.whl"
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            lines.append(f"{path},sha256={digest},{len(text.encode())}\n")
        wheel.writestr(f"{info}/RECORD", "".join(lines) + f"{info}/RECORD,,\n")


def write_pages(folder: Path) -> None:
    """The simple index over the wheels of a folder."""
    for project in (path for path in folder.iterdir() if path.is_dir()):
        links = "".join(f'<a href="{wheel.name.replace("+", "%2B")}">{wheel.name}</a>' for wheel in sorted(project.glob("*.whl")))
        (project / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>", encoding="utf-8")


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def release(matrix: Matrix) -> Any:
    return matrix.release("0.19.1")


@pytest.fixture(scope="module")
def indexes(release: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`main/` is a package index, `cu128/` torch's own; both as bare as the question allows. The address they stand under."""
    folder = tmp_path_factory.mktemp("indexes")
    requires = {name: bound for name, bound in release.record.requires.items() if name in (*TORCH, "transformers")}
    says = "__version__ = {!r}\nclass cuda:\n    is_available = staticmethod(lambda: False)\n"
    write_wheel(folder / "main", "vllm", "0.19.1", [f"{name}{bound}" for name, bound in requires.items()], "__version__ = '0.19.1'\n")
    write_wheel(folder / "main", "vllm", "0.33.0", [])
    for version in ("4.40.0", "4.57.6", "5.4.0", "5.16.1", "5.17.0"):
        write_wheel(folder / "main", "transformers", version, [])
    write_wheel(folder / "cu128", "transformers", "4.40.0", [])  # torch's index has old releases of other projects
    for name in TORCH:
        version = requires[name].removeprefix("==")
        write_wheel(folder / "main", name, version, [], says.format(version))
        write_wheel(folder / "main", name, "99.0", [], says.format("99.0"))
        write_wheel(folder / "cu128", name, f"{version}+cu128", [], says.format(f"{version}+cu128"))
    for index in ("main", "cu128"):
        write_pages(folder / index)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def recipe_for(tool: str, matrix: Matrix, indexes: str, directory: Path) -> InstallRecipe:
    """The plan for an Arm host, where the index's torch is a CPU build, behind two mirrors."""
    stack = Stack("0.19.1", "", "aarch64", "12.9", 12, "2.10.0", "cu128", HERE, False, "v1")
    chosen = (
        MirrorChoice("python-index", "here", f"{indexes}/main", Text("-")),
        MirrorChoice("torch-wheels", "nju-torch", f"{indexes}/cu128", Text("-")),
    )
    return next(recipe for recipe in recipes(stack, matrix, chosen, str(directory), sys.executable) if recipe.tool == tool)


def environment(folder: Path) -> dict[str, str]:
    """This process's, less what would let another index in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "VIRTUAL_ENV"))}
    own = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**kept, **own, "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(folder / "cache"), "UV_PYTHON_DOWNLOADS": "never"}


def carry_out(recipe: InstallRecipe, folder: Path) -> str:
    """Run every step but pip's upgrade of itself; what the last one printed."""
    printed = ""
    for step in recipe.steps:
        if "--upgrade" in step.argv:
            assert step.argv[-1] == "pip"
            continue
        here = {"uv": find_uv_bin(), HERE: sys.executable}  # which interpreters lie on PATH is another question
        argv = [here.get(argument, argument) for argument in step.argv]
        done = subprocess.run(argv, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{argv}: {done.stderr[-2000:]}"
        printed = done.stdout
    return printed


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("tool", ["uv", "pip"])
def test_the_commands_install_the_build_that_the_plan_names(tool: str, matrix: Matrix, indexes: str, tmp_path: Path) -> None:
    recipe = recipe_for(tool, matrix, indexes, tmp_path / "env")
    # the last step prints what was installed: torch from its own index, though the other one has the same release and a later one
    assert carry_out(recipe, tmp_path) == "0.19.1 2.10.0+cu128 False\n"
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    installed = {path.name.removesuffix(".dist-info") for path in site.glob("*.dist-info")}
    # 5.17 is kept out by the plan, 5.0 to 5.5.0 by the metadata; torch's index alone would have given 4.40
    assert {"torch-2.10.0+cu128", "torchvision-0.25.0+cu128", "torchaudio-2.10.0+cu128", "transformers-5.16.1"} <= installed
