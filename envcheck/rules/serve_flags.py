"""Rules on the arguments of `vllm serve` and on vLLM's variables: whether this release has them, and takes these values.

Argument parsers accept the beginning of a name: one that a release lacks may be taken for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from packaging.version import Version

from envcheck.matrix.flags import Flags, ServeFlag, has, within
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.matrix.v0_arguments import word_of
from envcheck.model.finding import Finding, Remedy
from envcheck.model.host import known
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.situation import Situation
from envcheck.rules.spread import release_of

_MOST, _LONGEST, _SHOWN = 64, 80, 12
_CODE = "flag-not-in-release"
_NOT_SERVED = ("model", "model_tag")  # the positional argument, which documents of requests name too


def arguments(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Arguments that the release lacks, and values that it does not take."""
    args = situation.request.serve_args
    release = release_of(situation, matrix) or situation.concluded or matrix.releases[0]
    if not args or release.version not in _covered(matrix):
        return
    flags = matrix.flags
    for key in list(args)[:_MOST]:
        if key in _NOT_SERVED:
            continue
        name = "--" + key.replace("_", "-")[:_LONGEST]
        flag = flags.flag(name)
        named = flag if flag and has(flag, release.version) else flags.of_dest(key, release.version)
        switched = flags.negated(name) if named is None else None
        if switched is not None and flags.negates(name, switched, release.version):
            continue
        if named is None:
            yield _unpaired(matrix, release, name, switched) if switched else _lacking(matrix, release, name, flag)
        else:
            yield from _value(flags, release, named, args[key])
            yield from _refused(matrix, release, named, args[key])


@lru_cache(maxsize=4)
def _covered(matrix: Matrix) -> frozenset[Version]:
    """Releases whose arguments are on record: those that have the one that all have."""
    flag = matrix.flags.flag("--tensor-parallel-size")
    return frozenset(release.version for release in matrix.releases if flag and has(flag, release.version))


def _unpaired(matrix: Matrix, release: Release, name: str, flag: ServeFlag) -> Finding:
    """`--no-x` or `--disable-x` of a release that does not take this spelling; it may have another one, or nothing to switch off."""
    having = [other for other in matrix.releases if matrix.flags.negates(name, flag, other.version)]
    other = matrix.flags.off_name(flag, release.version)
    ways = (remedy("setting", "flag-renamed", flag=name, instead=other) if other else remedy("setting", "flag-drop", flag=name),)
    first, last = having[-1], having[0]
    if release.version < first.version:
        return error(_CODE, "later", first=first.raw, remedies=ways, flag=name, vllm=release.raw)
    return error(_CODE, "gone", last=last.raw, remedies=ways, flag=name, vllm=release.raw)


def _lacking(matrix: Matrix, release: Release, name: str, flag: ServeFlag | None) -> Finding:
    vllm = release.raw
    ways = tuple(_ways(matrix, release, name, flag))
    taken = sorted(other for other in matrix.flags.names(release.version) if other.startswith(name))
    if taken:
        return error(_CODE, "prefix", taken=", ".join(taken[:3]), remedies=ways, flag=name, vllm=vllm)
    if flag is None:
        return error(_CODE, "unknown", remedies=ways, flag=name, vllm=vllm)
    first, last = _ends(matrix, flag)
    if release.version < first.version:
        return error(_CODE, "later", first=first.raw, remedies=ways, flag=name, vllm=vllm)
    return error(_CODE, "gone", last=last.raw, remedies=ways, flag=name, vllm=vllm)


def _ends(matrix: Matrix, flag: ServeFlag) -> tuple[Release, Release]:
    """The first and the last release that registers an argument."""
    having = [release for release in matrix.releases if has(flag, release.version)]
    return having[-1], having[0]


def _ways(matrix: Matrix, release: Release, name: str, flag: ServeFlag | None) -> Iterator[Remedy]:
    """What does its work, else a name that is close, else a release that has it."""
    found = matrix.flags.replacement(name, release.version)
    if found is not None:
        yield remedy("setting", f"flag-{found.why}", flag=name, instead=found.instead or "")
        return
    near = matrix.flags.nearest(name, release.version) if flag is None else []
    if near:
        yield remedy("setting", "flag-near", names=", ".join(near))
    yield remedy("setting", "flag-drop", flag=name)
    if flag is not None:
        first, last = _ends(matrix, flag)
        yield remedy("other-wheel", "release-takes-flag", vllm=(first if release.version < first.version else last).raw, flag=name)


def _value(flags: Flags, release: Release, flag: ServeFlag, value: object) -> Iterator[Finding]:
    """A value that the parser refuses; where its form in the release is not known, nothing is said."""
    form = flags.form(flag, release.version)
    vllm, name = release.raw, flag.name
    if form is None or value is None or value is False:
        return
    if value is True and not (form.switch or form.optional) and form.choices != [True, False]:
        yield error("flag-value-invalid", "missing", remedies=(remedy("setting", "flag-value"),), flag=name, vllm=vllm)
    elif form.choices and not form.several and not isinstance(value, (bool, list, dict)) and not _chosen(value, form.choices):
        listed = ", ".join(str(choice) for choice in form.choices[:_SHOWN] if choice is not None)
        yield error("flag-value-invalid", "choice", value=str(value)[:_LONGEST], choices=listed, flag=name, vllm=vllm)
    elif flag.name == "--limit-mm-per-prompt" and isinstance(value, str):
        yield from _per_prompt(flags, release, value)
    elif isinstance(value, list) and not form.several:
        words = " ".join(map(str, value))[:_LONGEST]
        yield error("flag-value-invalid", "words", value=words, flag=name, vllm=vllm)
    elif isinstance(value, (int, float, str)) and not isinstance(value, bool):
        yield from _number(flags, release, name, value)


def _refused(matrix: Matrix, release: Release, flag: ServeFlag, value: object) -> Iterator[Finding]:
    """A value that the parser takes and the engine refuses. Source: `serve_refusals.json`."""
    for record in matrix.serve_refusals:
        if record.argument != flag.dest or not record.holds(release.version, value):
            continue
        ways = [remedy("other-wheel", "release-takes-flag", vllm=record.fixed, flag=flag.name)] if record.fixed else []
        told = word_of(value)[:_LONGEST]
        yield error(
            "flag-value-invalid",
            "refused",
            remedies=(*ways, remedy("setting", "flag-drop", flag=flag.name)),
            value=told,
            flag=flag.name,
            vllm=release.raw,
        )


def _chosen(value: object, choices: list[object]) -> bool:
    return any(str(value) == str(choice) for choice in choices)


def _per_prompt(flags: Flags, release: Release, value: str) -> Iterator[Finding]:
    """`image=2` and `{"image": 2}`: each release takes one of them, three take both."""
    pairs, version = not value.lstrip().startswith("{"), release.version
    if within(flags.file.pairs if pairs else flags.file.objects, version):
        return
    variant, example = ("pairs", '{"image": 2}') if pairs else ("object", "image=2")
    yield error("flag-value-invalid", variant, value=value[:_LONGEST], vllm=release.raw, example=example)


def _number(flags: Flags, release: Release, name: str, value: float | str) -> Iterator[Finding]:
    """A value that is no number, or one that the argument does not take."""
    fault = flags.number_fault(name, release.version, value)
    if fault:
        yield error("flag-value-invalid", fault[0], bound=fault[1], value=str(value)[:_LONGEST], flag=name, vllm=release.raw)


def variables(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Variables of vLLM that have a successor in this release, which reads them no more; others it passes over as ever."""
    release = release_of(situation, matrix) or situation.concluded
    environment = known(situation.host.environment) or {}
    if release is None:
        return
    for name in sorted(environment)[:_MOST]:
        if not name.startswith("VLLM_"):
            continue
        found = matrix.flags.replacement(name, release.version)
        read = matrix.flags.variable(name)
        if found is not None and (read is None or not within(read, release.version)):
            way = remedy("setting", f"flag-{found.why}", flag=name, instead=found.instead or "")
            yield warning(_CODE, "variable", flag=name, vllm=release.raw, remedies=(way,))
