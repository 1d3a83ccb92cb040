"""The shipped records: every release is covered, once, and agrees with what other records say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envcheck.sizing.release import final_release

MATRICES = Path(__file__).parents[2] / "matrices"
RELEASES = sorted(
    Version(record["version"]) for path in (MATRICES / "vllm").glob("*.json") for record in json.loads(path.read_text(encoding="utf-8"))
)
ENGINES = json.loads((MATRICES / "engines.json").read_text(encoding="utf-8"))


def test_there_are_releases():
    assert len(RELEASES) > 90


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_release_has_one_way_of_accounting_an_engine(table, facts, release):
    known = next(record for record in ENGINES if SpecifierSet(record["releases"]).contains(release, prereleases=True))
    holding = [r for r in facts.accounting if SpecifierSet(r.releases).contains(release, prereleases=True)]
    assert sorted(r.engine for r in holding) == sorted(known["available"])
    assert {r.default_engine for r in holding} == {known["default"]}
    assert table.rules(release, None).engine == known["default"]


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_release_has_all_it_needs(table, facts, release):
    for record in facts.accounting:
        if SpecifierSet(record.releases).contains(release, prereleases=True):
            rules = table.rules(release, record.engine)
            assert rules.graph_sizes is not None
            for kind in ("defaults", "sampler", "forward", "non_torch", "graph_memory", "kv_layout"):
                records = getattr(facts, kind)
                assert any(
                    r.engine in (None, record.engine) and SpecifierSet(r.releases).contains(release, prereleases=True) for r in records
                )


def test_every_record_names_its_sources(facts):
    for kind in facts.__struct_fields__:
        for record in getattr(facts, kind):
            assert record.sources
            assert all(len(source) > 5 for source in record.sources)


@pytest.mark.parametrize(
    ("version", "final"),
    [
        ("0.26.1rc1.dev608", "0.26.1"),
        ("0.20.0rc1", "0.20.0"),
        ("0.19.1+cu129", "0.19.1"),
        ("0.8.5.post1", "0.8.5.post1"),
        ("0.8.5", "0.8.5"),
    ],
)
def test_builds_count_as_the_release_they_lead_to(version, final):
    assert final_release(Version(version)) == Version(final)


def test_a_card_by_two_names_is_found_by_the_narrower(facts):
    # An A10G is no A10 and an L40S no L4: whichever record comes first must say the same for both.
    for record in facts.cuda_totals:
        name = " ".join(record.gpus).lower()
        for other in facts.cuda_totals:
            if all(part.lower() in name for part in other.gpus) and abs(other.nvml_mib - record.nvml_mib) <= 256:
                assert abs(other.cuda_mib - record.cuda_mib) <= 256
