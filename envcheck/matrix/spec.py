"""Which releases a person means by `0.19`, `>=0.8,<0.10`, `latest`, `0.19.1+cu129` or a development build's version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

import msgspec
from packaging.version import InvalidVersion, Version

from envcheck.errors import UsageError
from envcheck.matrix.release import Release
from envcheck.model.version_range import version_range

_LONGEST = 100  # characters; a longer one is not a release


class Resolved(msgspec.Struct, frozen=True):
    """The release that a version found in the wild stands for.

    `exact` False = a development build, a foreign build or a version between releases: `release` is then the one it grew from.
    `variant` "" or `cu129` from the local version label.
    """

    release: Release
    exact: bool
    variant: str
    raw: str


def resolve(text: str, releases: Sequence[Release]) -> Resolved | None:
    """The release a version stands for; None where `text` is no version, or older than all. `releases` newest first."""
    version = _version(text)
    if version is None:
        return None
    label = (version.local or "").rpartition(".")[2]  # nightlies say it behind the commit: `+g5497ffbf7.cu129`
    variant = label if re.fullmatch(r"cu\d{3}", label) else ""
    public, base = Version(version.public), Version(version.base_version)
    same = next((release for release in releases if release.version == public), None)
    if same is not None:
        return Resolved(same, version.local is None or version.local == variant, variant, text)
    # 0.11.1rc2.dev5 grew towards 0.11.1; 0.6.3.post2.dev386 grew from 0.6.3.post1, and 0.21.1rc1.dev751 from 0.21.0.
    towards = next((release for release in releases if release.version == base and base > public), None)
    grown = towards or next((release for release in releases if release.version < public), None)
    return Resolved(grown, False, variant, text) if grown else None


def matching(text: str, releases: Sequence[Release]) -> tuple[Release, ...]:
    """The releases meant, newest first, never empty.

    Raises UsageError `error.no-such-release` (asked, nearest) or `error.release-spec-invalid` (asked).
    """
    text = text.strip()
    if text.lower() == "latest":
        return tuple(releases[:1])
    if not text or len(text) > _LONGEST:
        raise UsageError("error.release-spec-invalid", asked=text[:_LONGEST])
    version = _version(text)
    found = _by_version(text, version, releases) if version else _by_specifier(text, releases)
    if not found:
        raise UsageError("error.no-such-release", asked=text, nearest=", ".join(_nearest(version, releases)))
    return found


def later_posts(release: Release, releases: Sequence[Release]) -> tuple[Release, ...]:
    """Post releases that replace this one (0.8.5.post1 for 0.8.5), newest first."""
    base, own = release.version.base_version, release.version
    newer = takewhile(lambda other: other.version > own, releases)  # those before the release itself: older ones need not be read
    return tuple(other for other in newer if other.version.base_version == base)


def _version(text: str) -> Version | None:
    text = text.strip()
    try:
        return Version(text) if len(text) <= _LONGEST else None
    except InvalidVersion:
        return None


def _by_version(text: str, version: Version, releases: Sequence[Release]) -> tuple[Release, ...]:
    if re.fullmatch(r"v?\d+\.\d+(\.\*)?", text):  # a minor series, not its .0
        return tuple(release for release in releases if release.version.release[:2] == version.release[:2])
    if version.is_prerelease or version.is_devrelease or version.local:
        found = resolve(text, releases)
        wanted_exact = not (version.is_prerelease or version.is_devrelease) and found is not None
        return () if found is None or (wanted_exact and found.release.version != Version(version.public)) else (found.release,)
    return tuple(release for release in releases if release.version == version)


def _by_specifier(text: str, releases: Sequence[Release]) -> tuple[Release, ...]:
    series = re.fullmatch(r"v?(\d+(?:\.\d+)+)\.\*", text)
    try:
        wanted = version_range(f"=={series[1]}.*" if series else text)
    except ValueError:
        raise UsageError("error.release-spec-invalid", asked=text) from None
    return tuple(release for release in releases if wanted.contains(release.version))


def _nearest(version: Version | None, releases: Sequence[Release]) -> list[str]:
    """Up to four names: the neighbours of a version, else the newest."""
    if version is None:
        return [release.raw for release in releases[:3]]
    newer = [release.raw for release in releases if release.version > version][-2:]
    older = [release.raw for release in releases if release.version < version][:2]
    return [*newer, *older]
