from pathlib import Path

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.probes.assemble import document_paths
from envcheck.probes.collect import collect
from envcheck.system.rooted import RootedSystem

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[1] / "hosts").glob("*/expected.json"))
# Another command measures these; only torch itself, imported, tells its list; and a bridge above the cards takes links to folders, which a
# source distribution cannot hold.
NEVER_FOUND = {"observed", "network", "torch.arch_list", "pci.acs_redirect"}


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(Path(__file__).parents[2] / "matrices")


def visited(folder: Path, matrix: Matrix, full: bool) -> HostReport:
    return collect(RootedSystem(folder), matrix.cloud_matchers(), matrix.maker_signs(), full=full)


@pytest.fixture(scope="module")
def reports(matrix: Matrix) -> list[HostReport]:
    return [visited(folder, matrix, full=True) for folder in FOLDERS]


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(params=[False, True], ids=["brief", "full"])
def report(folder: Path, matrix: Matrix, request: pytest.FixtureRequest) -> HostReport:
    return visited(folder, matrix, full=request.param)


def test_there_are_recorded_hosts() -> None:
    assert len(FOLDERS) >= 60


def test_no_probe_fails_and_every_field_is_accounted_for(report: HostReport) -> None:
    assert [entry.why for entry in report.provenance.values() if (entry.why or "").startswith("internal")] == []
    assert set(document_paths()) <= set(report.provenance)


def test_the_document_reads_back(report: HostReport) -> None:
    assert msgspec.json.decode(msgspec.json.encode(report), type=HostReport) == report


def test_a_brief_visit_says_nothing_else_than_a_full_one(folder: Path, matrix: Matrix) -> None:
    """What it leaves out is not known; what it found stays."""
    brief, full = visited(folder, matrix, full=False), visited(folder, matrix, full=True)
    for path, entry in brief.provenance.items():
        if entry.state != "unreadable":
            assert full.provenance[path].state == entry.state, path


def test_every_fact_is_found_on_some_host(reports: list[HostReport]) -> None:
    found = {path for report in reports for path, entry in report.provenance.items() if entry.state == "found"}
    assert set(document_paths()) - found == NEVER_FOUND


def test_no_secret_of_the_environment_is_in_the_report(report: HostReport) -> None:
    text = msgspec.json.encode(report).decode()
    assert "hf_notarealtoken" not in text
    assert "s3cret" not in text


def test_the_recorded_hosts_hold_the_secrets_looked_for() -> None:
    assert sum("hf_notarealtoken" in (folder / "env.json").read_text() for folder in FOLDERS) == 2
