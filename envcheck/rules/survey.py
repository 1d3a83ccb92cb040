"""All wheels against one host: the newest that runs, what keeps newer ones from running, and what comes nearest where none runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import msgspec
from packaging.version import Version

from envcheck.errors import UsageError
from envcheck.matrix.lazily import Lazily
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.stack import Clash
from envcheck.model.versions import DriverVersion, driver_version, numbers
from envcheck.rules.build import Judged, Target, judge_build, name_of, python_clash

_CACHED = 4096  # distinct hosts of a batch that are remembered


class Choice(msgspec.Struct, frozen=True):
    """A wheel that runs, and the interpreter it goes into; `new_python` = not the host's own."""

    judged: Judged
    python: tuple[int, int]
    new_python: bool


class HeldBack(msgspec.Struct, frozen=True):
    """Releases newer than the choice, `newest` down to `oldest`, whose index wheels all fail for the same reason."""

    newest: Release
    oldest: Release
    clash: Clash


class Survey(msgspec.Struct, frozen=True):
    """What the wheels of the index and of the release page do on one host.

    `best` = the newest index wheel that runs; `newer` = index wheels that run with another interpreter; `variants` = wheels of the
    release page that run, newest first; `closest` = where no index wheel runs, the one nearest to it.
    """

    best: Choice | None
    newer: tuple[Choice, ...]
    variants: tuple[Choice, ...]
    held_back: tuple[HeldBack, ...]
    closest: Judged | None
    undecided: tuple[str, ...]


class Surveyor:
    """Surveys hosts against one matrix and remembers equal ones."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        policy = matrix.policy
        self._planned_python = _pair(policy.planned_python)
        self._oldest_python = _pair(policy.oldest_python)
        oldest = Version(policy.oldest_planned)
        self.planned = Lazily(r for r in takewhile(lambda r: r.version >= oldest, matrix.releases) if not r.record.yanked)
        self._known: dict[tuple[Target, str, bool], Survey] = {}

    def survey(self, target: Target, spec: str | None = None, *, variants: bool = False) -> Survey:
        """Survey the releases that `spec` means (all that are planned without one); `variants` also judges the release page's wheels."""
        key = (target, spec or "", variants)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _CACHED:
                self._known.clear()
            asked = tuple(r for r in self.matrix.matching(spec) if not r.record.yanked) if spec else self.planned
            label = asked_label(self.matrix, spec) if spec else ""
            found = self._known[key] = self._survey(target, asked or self.matrix.matching(spec or "latest"), label, variants)
        return found

    def _survey(self, target: Target, releases: Sequence[Release], label: str, with_variants: bool) -> Survey:
        index = self._index(target, releases, label)
        running = [judged for judged in index if not judged.errors]
        best = self._best(target, running)
        newer = tuple(self.choose(target, judged) for judged in running if best and best.judged.release.version < judged.release.version)
        variants = self._variants(target, releases) if with_variants else ()
        undecided = best.judged.undecided if best else (index[0].undecided if index else ())
        return Survey(best, newer, variants, self._held_back(target, index, best), None if best else _closest(index), undecided)

    def _index(self, target: Target, releases: Sequence[Release], label: str) -> list[Judged]:
        """Index wheels, or those of a label, judged without regard to Python, newest first, down to the one that will be chosen."""
        free = msgspec.structs.replace(target, python=None)
        arch = target.arch or "x86_64"
        hopeless = target.python is None or target.python < self._oldest_python
        found = []
        for release in releases:
            build = release.build(arch, label)
            if build is None:
                continue
            judged = judge_build(free, self.matrix, release, build)
            found.append(judged)
            if not judged.errors and (hopeless or self._own_python(target, release)):
                break  # older ones change nothing any more
        return found

    def _best(self, target: Target, running: list[Judged]) -> Choice | None:
        """The newest that runs with the host's own interpreter; where that serves none, the newest at all."""
        for judged in running:
            if self._own_python(target, judged.release):
                return self.choose(target, judged)
        return self.choose(target, running[0]) if running else None

    def _own_python(self, target: Target, release: Release) -> bool:
        return target.python is not None and target.python >= self._oldest_python and not python_clash(target.python, release)

    def choose(self, target: Target, judged: Judged) -> Choice:
        """A wheel with the interpreter it would go into."""
        release = judged.release
        if target.python is not None and self._own_python(target, release):
            return Choice(judged, target.python, False)
        taken = [minor for minor in release.python_minors if minor in release.built_for] or list(release.python_minors)
        python = self._planned_python if not taken or self._planned_python in taken else taken[-1]
        return Choice(judged, python, True)

    def _variants(self, target: Target, releases: Sequence[Release]) -> tuple[Choice, ...]:
        free = msgspec.structs.replace(target, python=None)
        found = []
        for release in releases:
            for build in release.builds:
                if build.variant and build.arch == (target.arch or "x86_64"):
                    judged = judge_build(free, self.matrix, release, build)
                    if not judged.errors:
                        found.append(self.choose(target, judged))
        return tuple(found)

    def _held_back(self, target: Target, index: list[Judged], best: Choice | None) -> tuple[HeldBack, ...]:
        """Runs of newer releases with the same first clash, newest first; a clash with the interpreter counts last."""
        groups: list[HeldBack] = []
        for judged in index:
            if best is None or judged.release.version <= best.judged.release.version:
                break
            clashes = judged.errors or python_clash(target.python, judged.release)
            if not clashes:
                continue
            if groups and groups[-1].clash.code == clashes[0].code and groups[-1].clash.needed == clashes[0].needed:
                groups[-1] = msgspec.structs.replace(groups[-1], oldest=judged.release)
            else:
                groups.append(HeldBack(judged.release, judged.release, clashes[0]))
        return tuple(groups)

    def opening_drivers(self, target: Target) -> tuple[tuple[DriverVersion, Choice], ...]:
        """The oldest driver of each CUDA major that would let an index wheel run here, with the newest such wheel; oldest first."""
        found = []
        for major in sorted({build.cuda_major for release in self.planned for build in release.builds if build.cuda_major}):
            floor = self.matrix.cuda_floor(major)
            if floor is None:
                continue
            shown = self.matrix.driver_max_cuda(floor)
            best = self.survey(msgspec.structs.replace(target, driver=floor, driver_cuda=shown)).best
            if best and best.judged.build.cuda_major == major:
                found.append((floor, best))
        return tuple(found)


def asked_label(matrix: Matrix, spec: str) -> str:
    """The CUDA label in a request such as `0.32.0+cu129`, "" without one. Raises UsageError where the release has no such wheel."""
    base, _, label = spec.strip().lower().partition("+")
    release = matrix.release(base) if label else None
    if release is None:
        return ""
    if not any(build.variant == label for build in release.builds):
        names = dict.fromkeys(name_of(release, build) for build in release.builds)
        raise UsageError("error.no-such-release", asked=spec[:100], nearest=", ".join(names))
    return label


def _closest(index: list[Judged]) -> Judged | None:
    """The wheel with the fewest obstacles; among equals the one that asks for the oldest driver, then the newest.

    One without code for the GPU comes last: a driver can be changed.
    """

    def distance(judged: Judged) -> tuple[bool, int, tuple[int, ...]]:
        floors = [driver_version(clash.needed) for clash in judged.errors if clash.code == "driver-too-old-for-cuda"]
        lost = any(clash.code.startswith("gpu-") for clash in judged.errors)
        return lost, len(judged.errors), max((floor.parsed for floor in floors if floor), default=())

    return min(index, key=distance) if index else None  # index is newest first and min keeps the first of equals


def _pair(text: str) -> tuple[int, int]:
    """`3.12` as (3, 12); what is no version asks for nothing: then a release's own newest interpreter is planned."""
    found = (*(numbers(text) or ()), 0, 0)
    return found[0], found[1]
