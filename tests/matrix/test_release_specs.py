"""Which releases people mean, and which release an installed version stands for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.errors import ExitCode, UsageError
from envcheck.matrix.load import Matrix


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("0.19.1", ["0.19.1"]),
        ("v0.9.2", ["0.9.2"]),
        (" 0.33.0 ", ["0.33.0"]),
        ("latest", ["0.33.0"]),
        ("LATEST", ["0.33.0"]),
        ("0.19", ["0.19.1", "0.19.0"]),
        ("0.19.*", ["0.19.1", "0.19.0"]),
        ("==0.8.5", ["0.8.5"]),
        ("==0.8.5.*", ["0.8.5.post1", "0.8.5"]),
        (">=0.8.4,<0.9", ["0.8.5.post1", "0.8.5", "0.8.4"]),
        (">0.29,!=0.32.0", ["0.33.0", "0.31.0", "0.30.0"]),
        ("~=0.14.0", ["0.14.1", "0.14.0"]),
        ("0.19.1+cu130", ["0.19.1"]),
        ("0.21.1rc1.dev751+g1a2b", ["0.21.0"]),
    ],
)
def test_spellings_of_releases(matrix: Matrix, asked: str, found: list[str]) -> None:
    assert [release.raw for release in matrix.matching(asked)] == found


def test_0_8_5_is_itself_and_its_post_release_is_told(matrix: Matrix) -> None:
    release = matrix.release("0.8.5")
    assert release is not None
    assert release.raw == "0.8.5"
    assert [post.raw for post in matrix.later_posts(release)] == ["0.8.5.post1"]
    assert matrix.later_posts(matrix.releases[0]) == ()


def test_0_10_1_1_is_no_post_release_of_0_10_1(matrix: Matrix) -> None:
    release = matrix.release("0.10.1")
    assert release is not None
    assert matrix.later_posts(release) == ()


@pytest.mark.parametrize(
    ("asked", "near"),
    [("0.8.6", {"0.8.5.post1", "0.9.0"}), ("0.8.5.post2", {"0.8.5.post1", "0.9.0"}), ("1.0", {"0.33.0"}), ("0.34.0+cu130", {"0.33.0"})],
)
def test_a_release_that_does_not_exist_names_its_neighbours(matrix: Matrix, asked: str, near: set[str]) -> None:
    with pytest.raises(UsageError) as error:
        matrix.matching(asked)
    assert error.value.exit_code == ExitCode.USAGE
    assert error.value.text.key == "error.no-such-release"
    assert error.value.text.params["asked"] == asked
    assert near <= set(str(error.value.text.params["nearest"]).split(", "))


@pytest.mark.parametrize("asked", ["", "newest", ">=abc", "0.19.1 || 0.20", "; rm -rf /", "9" * 5000])
def test_what_is_no_version_is_said(matrix: Matrix, asked: str) -> None:
    with pytest.raises(UsageError) as error:
        matrix.matching(asked)
    assert error.value.text.key == "error.release-spec-invalid"
    assert len(str(error.value.text.params["asked"])) <= 100


@pytest.mark.parametrize(
    ("installed", "release", "exact", "variant"),
    [
        ("0.19.1", "0.19.1", True, ""),
        ("0.20.0+cu129", "0.20.0", True, "cu129"),
        ("0.19.1+cpu", "0.19.1", False, ""),
        ("0.11.1rc2.dev5+gabc", "0.11.1", False, ""),
        ("0.21.1rc1.dev751+g1a2b", "0.21.0", False, ""),
        ("0.6.3.post2.dev386+g0d4ea3fb5.cu121", "0.6.3.post1", False, "cu121"),
        ("0.7.9", "0.7.3", False, ""),
        ("0.99.0", "0.33.0", False, ""),
    ],
)
def test_an_installed_version_stands_for_a_release(matrix: Matrix, installed: str, release: str, exact: bool, variant: str) -> None:
    found = matrix.resolve(installed)
    assert found is not None
    assert (found.release.raw, found.exact, found.variant, found.raw) == (release, exact, variant, installed)
    assert (matrix.release(installed) is not None) == exact


@pytest.mark.parametrize("installed", ["", "unknown", "0.0.0", "main"])
def test_what_stands_for_no_release(matrix: Matrix, installed: str) -> None:
    assert matrix.resolve(installed) is None
    assert matrix.release(installed) is None


@given(st.text(max_size=60) | st.from_regex(r"[<>=!~v ]{0,3}[0-9]{1,3}(\.[0-9*]{1,3}){0,4}[a-z0-9.+,]{0,12}", fullmatch=True))
def test_any_text_gives_releases_or_a_usage_error(matrix: Matrix, text: str) -> None:
    found = matrix.resolve(text)
    assert found is None or found.release in matrix.releases
    try:
        releases = matrix.matching(text)
    except UsageError:
        return
    assert releases
    assert list(releases) == sorted(releases, key=lambda release: release.version, reverse=True)
