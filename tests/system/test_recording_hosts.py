"""A visit that is recorded and played again gives the report of the visit, redacted: every recorded host."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from envcheck.matrix.load import Matrix
from envcheck.probes.collect import collect
from envcheck.probes.redact import redacted_report
from envcheck.system.recording import RecordingSystem
from envcheck.system.rooted import RootedSystem

ROOT = Path(__file__).parents[2]
HOSTS = sorted(path.parent for path in (ROOT / "tests" / "hosts").glob("*/expected.json"))


@pytest.fixture(scope="session")
def matrix() -> Matrix:
    return Matrix(ROOT / "matrices")


@pytest.fixture(params=HOSTS, ids=lambda path: path.name)
def host(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.mark.parametrize("full", [False, True])
def test_the_replay_is_the_visit_redacted(host: Path, tmp_path: Path, matrix: Matrix, full: bool) -> None:
    signs = (matrix.cloud_matchers(), matrix.maker_signs())
    visit = RecordingSystem(RootedSystem(host))
    seen = collect(visit, *signs, full=full)
    assert seen == collect(RootedSystem(host), *signs, full=full)
    recorded = visit.write(str(tmp_path / "copy"))
    assert recorded.left_out == ()
    again = RecordingSystem(RootedSystem(tmp_path / "copy"))
    replayed = collect(again, *signs, full=full)
    assert replayed == redacted_report(seen, recorded.redactor)
    if full:  # a look in full asks all that a short one asks
        short = collect(RootedSystem(host), *signs)
        assert collect(RootedSystem(tmp_path / "copy"), *signs) == redacted_report(short, recorded.redactor)
    again.write(str(tmp_path / "second"))
    assert contents(tmp_path / "second") == contents(tmp_path / "copy")


SOMEBODY = {
    "HOME": "/home/zebulon",
    "USER": "zebulon",
    "HOSTNAME": "quagga-17.corp",
    "MASTER_ADDR": "10.20.30.40",
    "VLLM_HOST_IP": "10.20.30.41",
    "NO_PROXY": "localhost,10.20.0.0/16,.corp",
    "HTTPS_PROXY": "http://zebulon:pass4zebulon@quagga-17.corp:3128",
    "PIP_INDEX_URL": "https://zebulon:tok3n@wheels.corp/simple?key=tok3n",
    "HF_TOKEN": "hf_notarealtokenatall",
    "HF_HOME": "/data/zebulon/hf",
    "CUDA_CACHE_PATH": "/nfs/10.20.30.42/zebulon",
    "CUDNN_VERSION": "9.1.0.70",
}


def owned(host: Path, folder: Path) -> RootedSystem:
    """The host with somebody's account on it instead of root's."""
    shutil.copytree(host, folder, symlinks=True)
    tree = folder / "rootfs"
    if (tree / "root").is_dir():
        (tree / "home").mkdir(exist_ok=True)
        (tree / "root").rename(tree / "home" / "zebulon")
    for path in folder.rglob("*"):
        if path.is_symlink():
            target = str(path.readlink())
            path.unlink()
            path.symlink_to(target.replace("/root/", "/home/zebulon/"))
        elif path.is_file():
            path.write_bytes(path.read_bytes().replace(b"/root/", b"/home/zebulon/"))
    variables = json.loads((folder / "env.json").read_text()) if (folder / "env.json").exists() else {}
    (folder / "env.json").write_text(json.dumps(variables | SOMEBODY))
    (tree / "etc").mkdir(parents=True, exist_ok=True)
    (tree / "etc" / "hostname").write_text("quagga-17\n")
    return RootedSystem(folder)


def test_somebody_s_host_replays_too_and_tells_nothing_of_them(host: Path, tmp_path: Path, matrix: Matrix) -> None:
    signs = (matrix.cloud_matchers(), matrix.maker_signs())
    visit = RecordingSystem(owned(host, tmp_path / "host"))
    seen = collect(visit, *signs, full=True)
    recorded = visit.write(str(tmp_path / "copy"))
    assert collect(RootedSystem(tmp_path / "copy"), *signs, full=True) == redacted_report(seen, recorded.redactor)
    everything = [part for name, content in contents(tmp_path / "copy").items() for part in (name, str(content))]
    for secret in ("zebulon", "quagga", "10.20.30", "tok3n", "notarealtoken", "wheels.corp"):
        assert [text for text in everything if secret in text] == []
    assert any("9.1.0.70" in text for text in everything)


def contents(folder: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
    return found
