"""Ranges answer as packaging's specifier sets do, whose word is the reason of every expected value here."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from envcheck.model.version_range import VersionRange, version_range

RELEASE = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
BOUND = st.builds("{}{}".format, RELEASE, st.sampled_from(("", "", "", ".post1", "rc1", ".dev3", ".*", "+cu129")))
VERSION = st.builds("{}{}".format, RELEASE, st.sampled_from(("", "", ".post1", ".post2", "rc1", "a0", ".dev3", "+cu129", ".post1+x")))
SIGN = st.sampled_from((">=", "<=", "==", "!=", "<", ">", "~=", "===", " >= ", "= ="))
RANGE = st.lists(st.builds("{}{}".format, SIGN, BOUND), max_size=3).map(",".join)


@given(RANGE, VERSION)
@settings(max_examples=2000, deadline=None)
def test_it_answers_as_packaging_does(text: str, raw: str) -> None:
    version = Version(raw)
    try:
        wanted = SpecifierSet(text, prereleases=True)
    except InvalidSpecifier:
        with pytest.raises(ValueError, match=r".*"):
            VersionRange(text)
        return
    found = VersionRange(text)
    assert found.contains(version) is wanted.contains(version, prereleases=True)
    assert (version in found) is wanted.contains(version, prereleases=True)


@pytest.mark.parametrize("text", [">=", "0.8", ">=0.8,,<0.9,x", "<0.8.", ">=.8", ">=0..8", ">= 0.8 <0.9", "latest", ">=v", ">=٣"])
def test_what_is_no_range_is_said_at_once(text: str) -> None:
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        with pytest.raises(ValueError, match=r".*"):
            version_range(text)
    else:
        assert version_range(text).contains(Version("0.8")) is SpecifierSet(text, prereleases=True).contains("0.8", prereleases=True)


def test_plain_questions_do_not_load_the_specifiers(processes: None) -> None:
    lines = (
        "import sys",
        "from packaging.version import Version",
        "from envcheck.model.version_range import version_range",
        "assert Version('0.9.1') in version_range('>=0.8.5.post1,<0.10')",
        "assert Version('0.8.5.post1') not in version_range('==0.8.5')",
        "assert 'packaging.specifiers' not in sys.modules",
        "assert Version('0.10.0rc1') not in version_range('<0.10')",
        "assert 'packaging.specifiers' in sys.modules",
    )
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, timeout=60)
