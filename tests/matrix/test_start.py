"""The short reading of the memory facts says the same as the whole one."""

from __future__ import annotations

from pathlib import Path

from envcheck.matrix.load import Matrix

FACTS = Path(__file__).parents[2] / "matrices"


def test_the_fields_that_rules_read_are_those_of_the_whole_records() -> None:
    matrix = Matrix(FACTS)
    whole = matrix.memory
    assert [(one.releases, one.gpu_memory_utilization) for one in matrix.start.defaults] == [
        (one.releases, one.gpu_memory_utilization) for one in whole.defaults
    ]
    assert [(one.releases, one.free_memory_check) for one in matrix.start.accounting] == [
        (one.releases, one.free_memory_check) for one in whole.accounting
    ]
    assert any(one.free_memory_check for one in matrix.start.accounting)


def test_a_release_may_be_avoided_where_a_whole_record_says_so() -> None:
    matrix = Matrix(FACTS)
    for release in matrix.releases:
        avoided = any(one.severity == "avoid" for one in matrix.regressions.of(release.version))
        assert matrix.may_be_avoided(release.version) is avoided, release.raw
    assert any(matrix.may_be_avoided(release.version) for release in matrix.releases)
