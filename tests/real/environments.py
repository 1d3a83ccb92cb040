"""Environments that hold a release of vLLM as its source distribution has it: `python tests/real/environments.py RELEASE…`.

The Python files are the release's own, nothing is built, and torch is a CPU build: enough for the argument parser and for the check of the
engine's configuration, not for a model. An environment is made once under `~/.cache/envcheck-ci/real`, takes 0.5 to 0.9 GB beside torch,
and is made anew where it is gone, incomplete, or of another recipe.
"""

from __future__ import annotations

import datetime
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

TOP = Path(__file__).resolve().parents[2]
CACHE = Path.home() / ".cache" / "envcheck-ci"
PLACE = CACHE / "real"
RECIPE = 1  # counted up where an environment made before is no longer good
PATIENCE_S = 280
# Dependencies are those of the release's own weeks: newer ones drop what it imports.
WEEKS = datetime.timedelta(days=10)
# This torch wants a setuptools that is younger than the oldest releases.
SETUPTOOLS = "setuptools=2026-02-01T00:00:00Z"
# Large, built against another torch, or for a GPU; neither the parser nor the configuration needs them.
LEFT_OUT = ("torchvision", "torchaudio", "torchcodec", "triton", "xformers", "datasets", "intel-extension-for-pytorch", "vllm-tpu")


class Unavailable(Exception):
    """What an environment is made of cannot be had here; the message says what and what to do."""


class Torch(NamedTuple):
    """A CPU build of torch: what uv is asked for, and the `X.Y` of the interpreter that it is for."""

    requirement: str
    python: str


def torch() -> Torch:
    """The newest CPU wheel where pip looks for wheels, for an interpreter that is here. Raises Unavailable."""
    places = [Path(place) for place in os.environ.get("PIP_FIND_LINKS", "").split() if "://" not in place]
    for path in sorted((path for place in places for path in place.glob("torch-*+cpu-cp3*.whl")), reverse=True):
        found = re.search(r"-cp3(\d+)-cp3\1-", path.name)
        if found and shutil.which(f"python3.{found[1]}"):
            return Torch(f"torch @ {path.as_uri()}", f"3.{found[1]}")
    raise Unavailable("no CPU wheel of torch for an interpreter of this machine: put one into a folder and name it in PIP_FIND_LINKS")


def released(release: str) -> datetime.date:
    """The day of a release, from the matrix."""
    for path in (TOP / "matrices" / "vllm").glob("*.json"):
        for record in json.loads(path.read_text(encoding="utf-8")):
            if record["version"] == release:
                return datetime.date.fromisoformat(record["released"])
    raise ValueError(f"the matrix has no vLLM {release}")


def index() -> str:
    """The package index that pip is configured for, without a last slash."""
    configured = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    url = os.environ.get("PIP_INDEX_URL") or configured.stdout.strip()
    if not url:
        from pip._internal.models.index import PyPI  # the default index's name is pip's to know

        url = PyPI.simple_url
    return str(url).rstrip("/")


def _listed(release: str) -> dict[str, Any]:
    """The index's entry of the source distribution. Raises Unavailable."""
    accept = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
    request = urllib.request.Request(f"{index()}/vllm/", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read(64 << 20).decode("utf-8")
        base = answer.url
    name = f"vllm-{release}.tar.gz"
    if text.lstrip().startswith("{"):
        files = json.loads(text)["files"]
    else:
        links = re.findall(rf'href="([^"#]*{re.escape(name)})(?:#sha256=([0-9a-f]{{64}}))?"', text)
        files = [{"filename": name, "url": url, "hashes": {"sha256": digest} if digest else {}} for url, digest in links]
    for file in files:
        if file["filename"] == name:
            return {**file, "url": urllib.parse.urljoin(base, file["url"])}
    raise Unavailable(f"the index lists no {name}")


def source(release: str, folder: Path) -> Path:
    """Download the source distribution into a folder; its digest is the index's."""
    entry = _listed(release)
    path = folder / entry["filename"]
    with urllib.request.urlopen(entry["url"], timeout=60) as answer, path.open("wb") as file:
        shutil.copyfileobj(answer, file, 1 << 20)
    wanted = entry["hashes"].get("sha256")
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    if wanted and wanted != got:
        raise Unavailable(f"{path.name} from the index has the digest {got}, not {wanted}")
    return path


def unpack(archive: Path, folder: Path) -> Path:
    """Take the package and the list of its requirements out of a source distribution; the list's path."""
    lists = ("requirements/common.txt", "requirements-common.txt")
    with tarfile.open(archive) as opened:
        for member in opened:
            inside = member.name.partition("/")[2]
            if member.isfile() and (inside.startswith("vllm/") or inside in lists) and ".." not in inside:
                target = folder / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                data = opened.extractfile(member)
                assert data is not None
                target.write_bytes(data.read())
    return next(folder / name for name in lists if (folder / name).exists())


def _uv(*arguments: str) -> None:
    """Run uv with its files beside ours, against pip's index. Raises Unavailable."""
    environment = {key: value for key, value in os.environ.items() if key not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environment.setdefault("UV_CACHE_DIR", str(CACHE / "uv"))
    environment.update(UV_NO_CONFIG="1", UV_PYTHON_DOWNLOADS="never", UV_DEFAULT_INDEX=index())
    done = subprocess.run(
        [sys.executable, "-m", "uv", "-q", *arguments], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    if done.returncode:
        raise Unavailable(f"uv {arguments[0]} failed: {done.stderr.strip()[-2000:]}")


def _make(release: str, venv: Path, build: Torch) -> None:
    shutil.rmtree(venv, ignore_errors=True)
    _uv("venv", "--python", build.python, str(venv))
    python = venv / "bin" / "python"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        requirements = unpack(source(release, folder), folder / "x")
        overrides = folder / "overrides.txt"
        never = [f'{name} ; sys_platform == "never"' for name in LEFT_OUT]
        overrides.write_text("\n".join([build.requirement, *never, ""]), encoding="utf-8")
        before = f"{released(release) + WEEKS}T00:00:00Z"
        dates = ["--exclude-newer", before, "--exclude-newer-package", SETUPTOOLS]
        wanted = ["-r", str(requirements), build.requirement, "setuptools<81", "numpy<3"]
        _uv("pip", "install", "--python", str(python), *dates, "--override", str(overrides), *wanted)
        site = next((venv / "lib").glob("python3.*/site-packages"))
        shutil.move(folder / "x" / "vllm", site / "vllm")
    entry = site / f"vllm-{release}.dist-info"
    entry.mkdir()
    (entry / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {release}\n", encoding="utf-8")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def interpreter(release: str) -> Path:
    """The Python of the release's environment, made first where it is not there. Raises Unavailable, ValueError, OSError."""
    build = torch()
    state = hashlib.sha256(f"{RECIPE} {build}".encode()).hexdigest()[:12]
    venv = PLACE / release
    with _locked(PLACE / f"{release}.lock"):
        mark, python = venv / "complete", venv / "bin" / "python"
        # A link to an interpreter that is gone does not exist.
        if not (python.exists() and mark.exists() and mark.read_text(encoding="utf-8") == state):
            _make(release, venv, build)
            mark.write_text(state, encoding="utf-8")
    return python


def main() -> int:
    """Make the environments named and print their interpreters; with no name, say what would be used. 1 = it cannot be had here."""
    try:
        if not sys.argv[1:]:
            print(torch().requirement)
        for release in sys.argv[1:]:
            print(interpreter(release), flush=True)
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
