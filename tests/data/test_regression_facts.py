"""What is known of regressions from the reports: which releases show each, and that each is said in both languages."""

from __future__ import annotations

import pytest

from envcheck.matrix.load import Matrix
from envcheck.render.catalogue import Catalogue
from envcheck.rules.planned import CONDITIONS

# First and last release that show it, as the sources state them.
BOUNDS = [
    ("torchcodec-at-import", "0.25.0", "0.25.0"),  # the patch release 0.25.1 defers the import
    ("nvfp4-allreduce-fusion", "0.25.0", "0.25.0"),  # the other of its two fixes
    ("deepgemm-sm120", "0.24.0", "0.24.0"),  # 0.23.0 starts; the pair of list and pin is 0.24.0's
    ("minimax-m2-gh200", "0.25.1", "0.26.0"),  # 0.24.0 worked, 0.25.1 and 0.26.0 do not
    ("host-memory-at-start", "0.28.0", "0.29.0"),  # fine with 0.27.1, the same with 0.29.0
    ("flashinfer-turing", "0.22.0", "0.23.0"),  # FlashInfer 0.6.11 came with 0.22.0; 0.24.0 keeps the GPU from it
    ("fp8-cache-turing", "0.24.0", "0.33.0"),
    ("ray-pipeline", "0.11.1", "0.11.1"),  # mended in 0.11.2
    ("blocks-override", "0.9.1", "0.9.1"),
    ("graphs-tensor-parallel", "0.6.3", "0.6.3.post1"),  # the fix was merged a week after the post release
    ("blackwell-long-context", "0.11.0", "0.11.0"),
    ("deepseek-v4-mtp-hopper", "0.20.0", "0.20.0"),
    ("trtllm-moe", "0.17.0", "0.17.0"),
    ("cublas-torch-210", "0.17.0", "0.19.1"),  # the releases that pin torch 2.10
]


@pytest.mark.parametrize(("name", "first", "last"), BOUNDS)
def test_a_regression_is_shown_by_the_releases_between_its_bounds(matrix: Matrix, name: str, first: str, last: str) -> None:
    oldest_first = [release.raw for release in reversed(matrix.releases)]
    wanted = set(oldest_first[oldest_first.index(first) : oldest_first.index(last) + 1])
    shown = {release.raw for release in matrix.releases if name in {one.id for one in matrix.regressions.of(release.version)}}
    assert shown == wanted


def test_the_releases_with_that_torch_are_those_with_its_fault(matrix: Matrix) -> None:
    """torch 2.10 is what makes both, so the pins of the wheels' metadata must agree with the range."""
    pinned = {release.raw for release in matrix.releases if release.torch_pin == "2.10.0"}
    assert pinned == {r.raw for r in matrix.releases if "cublas-torch-210" in {one.id for one in matrix.regressions.of(r.version)}}


def test_each_is_said_in_both_languages_with_the_releases_that_show_it(matrix: Matrix) -> None:
    for record in matrix.regressions.records:
        english, chinese = (Catalogue(lang).say(f"regression.{record.id}", releases="<releases>") for lang in ("en", "zh"))
        assert english != chinese
        for sentence in (english, chinese):
            assert "regression." not in sentence
            assert "<releases>" in sentence or record.releases.startswith(">="), record.id


def test_every_planned_condition_can_be_judged(matrix: Matrix) -> None:
    named = {name.partition(":")[0] for record in matrix.regressions.records for name in record.condition.planned}
    assert named
    assert named <= CONDITIONS


def test_each_has_a_source_on_the_web(matrix: Matrix) -> None:
    assert all(any(source.startswith("https://") for source in record.sources) for record in matrix.regressions.records)


def test_there_are_enough_to_matter(matrix: Matrix) -> None:
    assert len(matrix.regressions.records) >= 25
