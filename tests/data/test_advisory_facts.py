"""What is known of security advisories from their texts: which releases each concerns, and how many are open in a release."""

from __future__ import annotations

import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix

# First and last affected release, by name, as the advisories state them; None = from the first or to the last release.
RANGES: list[tuple[str, str | None, str | None]] = [
    ("GHSA-w2r7-9579-27hf", None, "0.5.4"),  # before 0.5.5
    ("GHSA-5vqr-wprc-cpp7", None, "0.6.2"),  # up to 0.6.2
    ("GHSA-hj4w-hm2g-p6w5", "0.6.5", "0.8.4"),  # Mooncake, fixed in 0.8.5
    ("GHSA-4qjh-9fv9-r85r", None, "0.8.5.post1"),  # before 0.9.0: the post release of 0.8.5 too
    ("GHSA-79j6-g2m3-jgfw", "0.10.0", "0.10.1"),  # fixed in 0.10.1.1
    ("GHSA-mrw7-hf4f-83pf", "0.10.2", "0.11.0"),  # fixed in 0.11.1
    ("GHSA-4r2x-xpjr-7cvv", "0.8.3", "0.14.0"),  # CVE-2026-22778, fixed in 0.14.1
    ("GHSA-v359-jj2v-j536", "0.15.1", "0.16.0"),  # fixed in 0.17.0
    ("GHSA-94f4-hr76-p5j6", "0.3.0", "0.21.0"),  # the API key, fixed in 0.22.0
    ("CVE-2026-54232", None, "0.22.0"),  # fixed in 0.22.1
    ("GHSA-qff2-492f-9fm4", "0.22.0", "0.23.0"),
    ("GHSA-x6mc-67gf-chw4", "0.24.0", "0.29.0"),  # fixed in 0.30.0
    ("GHSA-h3rc-6mm3-gc2m", "0.7.3", "0.30.0"),  # fixed in 0.31.0
    ("GHSA-98f3-hwg4-4rf7", None, None),  # left open-ended
]
# Open entries by published range, counted by those who collected the advisories.
COUNTS = {
    "0.33.0": 1, "0.32.0": 1, "0.31.0": 2, "0.30.0": 7, "0.29.0": 25, "0.28.0": 32, "0.27.1": 38, "0.26.0": 39, "0.24.0": 43,
    "0.22.1": 52, "0.20.2": 53, "0.18.1": 59, "0.14.1": 58, "0.11.2": 62, "0.9.2": 66, "0.8.5.post1": 73, "0.6.6.post1": 74,
}  # fmt: skip


def published(matrix: Matrix, package: str, version: str) -> set[str]:
    return {entry.advisory.id for entry in matrix.advisories.open_in(package, Version(version)) if not entry.disputed}


def disputed(matrix: Matrix, version: str) -> set[str]:
    return {entry.advisory.id for entry in matrix.advisories.open_in("vllm", Version(version)) if entry.disputed}


@pytest.mark.parametrize(("name", "first", "last"), RANGES)
def test_an_advisory_concerns_the_releases_between_its_bounds(matrix: Matrix, name: str, first: str | None, last: str | None) -> None:
    oldest_first = [release.raw for release in reversed(matrix.releases)]
    begin = oldest_first.index(first) if first else 0
    end = oldest_first.index(last) + 1 if last else len(oldest_first)
    assert {raw for raw in oldest_first if name in published(matrix, "vllm", raw)} == set(oldest_first[begin:end])


@pytest.mark.parametrize(("release", "count"), COUNTS.items())
def test_as_many_are_open_as_were_counted(matrix: Matrix, release: str, count: int) -> None:
    assert len(published(matrix, "vllm", release)) == count


def test_seven_of_0_30_0_are_these(matrix: Matrix) -> None:
    assert published(matrix, "vllm", "0.30.0") == {
        "GHSA-98f3-hwg4-4rf7",
        "GHSA-h3rc-6mm3-gc2m",
        "GHSA-823j-m4cj-hmjf",
        "GHSA-p92p-rxj5-7p2x",
        "GHSA-4xqp-c3mv-qff7",
        "GHSA-6cxc-2vcg-w5qc",
        "GHSA-x9pq-jx6q-p3qv",
    }


def test_disputed_fixes_stay_open_in_every_release_but_are_not_counted(matrix: Matrix) -> None:
    """The six on NIXL are published as ending with 0.29.0, and the code they name is still in 0.33.0."""
    nixl = {f"CVE-2026-{number}" for number in range(94622, 94628)}
    assert nixl <= published(matrix, "vllm", "0.29.0")
    assert disputed(matrix, "0.30.0") == nixl
    assert disputed(matrix, "0.33.0") == nixl | {"GHSA-x9pq-jx6q-p3qv"}


@pytest.mark.parametrize(
    ("name", "version", "concerned"),
    [
        ("GHSA-94f4-hr76-p5j6", "0.22.0rc1", True),  # the fix may have come after the candidate
        ("GHSA-94f4-hr76-p5j6", "0.21.1rc1.dev751+g1a2b3c4", True),
        ("GHSA-94f4-hr76-p5j6", "0.22.0", False),
        ("GHSA-94f4-hr76-p5j6", "0.22.0+cu129", False),
        ("GHSA-94f4-hr76-p5j6", "0.21.0+cu129", True),
        ("CVE-2026-94622", "0.29.0+cu129", True),  # a label is no later version
        ("GHSA-9f8f-2vmf-885j", "0.8.5.post1", False),  # fixed in 0.8.5, and in what came after it
        ("GHSA-vrq3-r879-7m65", "0.8.5.post1", True),  # fixed in 0.9.0
        ("GHSA-58v5-2m8f-94pr", "0.23.0rc1", False),  # came with 0.23.0rc2
        ("GHSA-58v5-2m8f-94pr", "0.23.0rc2", True),
    ],
)
def test_candidates_posts_and_labels(matrix: Matrix, name: str, version: str, concerned: bool) -> None:
    assert (name in published(matrix, "vllm", version)) is concerned


@pytest.mark.parametrize(
    ("package", "version", "names"),
    [
        ("torch", "2.5.1", {"CVE-2025-32434", "CVE-2026-24747", "CVE-2025-2999"}),
        ("torch", "2.9.0+cu128", {"CVE-2026-24747", "CVE-2025-2999"}),
        ("torch", "2.9.1", {"CVE-2026-24747"}),
        ("xgrammar", "0.1.23", {"CVE-2025-58446", "CVE-2026-25048"}),
        ("xgrammar", "0.1.24", {"CVE-2026-25048"}),
        ("xgrammar", "0.1.32", set()),
        ("transformers", "5.5.0", {"CVE-2026-9856"}),
        ("aiohttp", "3.14.2", set()),
        ("protobuf", "5.29.6", set()),
        ("nvidia-container-toolkit", "1.17.8", {"CVE-2026-24260"}),
        ("nvidia-container-toolkit", "1.19.1", set()),
    ],
)
def test_companions(matrix: Matrix, package: str, version: str, names: set[str]) -> None:
    found = matrix.advisories.open_in(package, Version(version))
    assert {entry.advisory.name for entry in found if entry.advisory.confidence != "documented"} == names


def test_the_gravest_comes_first(matrix: Matrix) -> None:
    """CVE-2025-32444 of Mooncake has the full ten points."""
    grades = [entry.advisory.severity for entry in matrix.advisories.open_in("vllm", Version("0.8.4"))]
    assert matrix.advisories.open_in("vllm", Version("0.8.4"))[0].advisory.name == "CVE-2025-32444"
    assert grades == sorted(grades, key=["critical", "high", "medium", "low"].index)


@pytest.mark.parametrize(
    ("branch", "fixed", "newest"),
    [
        (470, "470.256.02", False),
        (535, "535.309.01", True),
        (550, "550.163.01", False),
        (555, "555.52.04", False),
        (570, "570.211.01", False),
        (575, "575.51.02", False),
        (580, "580.159.03", True),
        (590, "590.48.01", False),
        (595, "595.71.05", True),
    ],
)
def test_the_newest_fix_of_a_driver_branch(matrix: Matrix, branch: int, fixed: str, newest: bool) -> None:
    floor = matrix.driver_security.floor(branch)
    assert floor is not None
    assert (floor.fixed.raw, floor.newest) == (fixed, newest)


def test_branches_that_no_bulletin_names(matrix: Matrix) -> None:
    assert matrix.driver_security.floor(610) is None
    assert matrix.driver_security.maintained == (535, 580, 595)


def test_what_is_newer_than_the_data(matrix: Matrix) -> None:
    cutoff = matrix.advisories.cutoffs["packages"]
    assert [release.raw for release in matrix.releases if release.record.released > cutoff] == ["0.33.0", "0.32.0"]
