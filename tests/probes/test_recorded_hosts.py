from pathlib import Path

import pytest

from envcheck.model.host import HostReport
from envcheck.model.maker import MakerSigns
from envcheck.probes.assemble import document_paths
from envcheck.probes.collect import collect
from envcheck.system.rooted import RootedSystem

FOLDERS = sorted(path.parent for path in (Path(__file__).parents[1] / "hosts").glob("*/expected.json"))


@pytest.fixture(params=FOLDERS, ids=lambda path: path.name)
def report(request: pytest.FixtureRequest, makers: tuple[MakerSigns, ...]) -> HostReport:
    return collect(RootedSystem(request.param), makers=makers)


def test_there_are_recorded_hosts():
    assert len(FOLDERS) >= 20


def test_no_probe_fails_and_every_field_is_accounted_for(report):
    assert [entry.why for entry in report.provenance.values() if (entry.why or "").startswith("internal")] == []
    assert set(document_paths()) <= set(report.provenance)


def test_no_secret_of_the_environment_is_in_the_report(report):
    import msgspec

    text = msgspec.json.encode(report).decode()
    assert "hf_notarealtoken" not in text
    assert "s3cret" not in text


def test_the_recorded_hosts_hold_the_secrets_looked_for():
    assert sum("hf_notarealtoken" in (folder / "env.json").read_text() for folder in FOLDERS) == 2
