"""A visit that is recorded and played again gives the report of the visit, redacted: every recorded host."""

from __future__ import annotations

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


def contents(folder: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
    return found
