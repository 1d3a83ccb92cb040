"""Whether a folder of facts is in order: types, canonical form, order, sources, and what refers to what."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import InvalidVersion

from envcheck.errors import MatrixError
from envcheck.matrix.canonical import canonical
from envcheck.matrix.decode import decode, decoder_of, read_bounded, shown
from envcheck.matrix.files import FILES, FileKind, kind_of
from envcheck.matrix.locate import SCHEMA
from envcheck.matrix.log_lines import log_line_problems
from envcheck.matrix.problem import Loaded, Problem
from envcheck.matrix.xref_advisories import advisory_problems
from envcheck.matrix.xref_hardware import hardware_problems
from envcheck.matrix.xref_packages import package_problems
from envcheck.matrix.xref_places import place_problems
from envcheck.matrix.xref_regressions import regression_problems
from envcheck.matrix.xref_releases import release_problems
from envcheck.matrix.xref_root_steps import root_step_problems
from envcheck.matrix.xref_signatures import signature_problems
from envcheck.matrix.xref_toolchain import toolchain_problems

# The hosts of the default registries in pieces: mirrors are facts, the registries themselves are the installers' own business.
_REGISTRIES = tuple(".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("deb", "debian", "org")))
_MAX_FILES = 1000


def validate(folder: Path) -> list[Problem]:
    """Every fault found, file by file, in the order of the files; empty = in order. Never raises for what is in the folder."""
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    names = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.json"))[:_MAX_FILES]}
    for name, path in names.items():
        kind = kind_of(name)
        if kind is None:
            problems.append(Problem(shown(path), "", "not a file of the matrix"))
            continue
        try:
            values[name] = decode(path, decoder_of(kind.type))
            problems += _of_file(path, kind, values[name])
        except (MatrixError, InvalidVersion) as error:
            problems.append(_unread(path, error))
    problems += [Problem(f"{folder.name}/{kind.name}", "", "no such file") for kind in FILES if kind.name not in names]
    if all(kind.name in values for kind in FILES) and any(name.startswith("vllm/") for name in values):
        problems += _references(Loaded(folder, values))  # needs every kind of file
    return problems


def _unread(path: Path, error: MatrixError | InvalidVersion) -> Problem:
    why = str(error.text.params["why"]) if isinstance(error, MatrixError) else str(error)
    place, found, what = why.partition(": ")
    return Problem(shown(path), place, what) if found and place.startswith("$") else Problem(shown(path), "", why)


def _of_file(path: Path, kind: FileKind, value: Any) -> Iterator[Problem]:
    data = read_bounded(path)
    if data != canonical(value):
        yield Problem(shown(path), "", "not in canonical form: two spaces, keys in the records' order, no defaults, one final line feed")
    yield from (Problem(shown(path), "", f"names {host}, a default registry") for host in _REGISTRIES if host.encode() in data)
    if kind.key is not None:
        keys = [kind.key(record) for record in value]
        for place, (before, after) in enumerate(pairwise(keys), start=1):
            if not before < after:
                yield Problem(shown(path), f"$[{place}]", "out of order" if after < before else "twice the same")
    yield from (Problem(shown(path), place, "no source") for place, sources in _sources(value, "$") if not _sourced(sources))


def _sourced(sources: list[str]) -> bool:
    return bool(sources) and all(source.strip() for source in sources)


def _sources(value: Any, place: str) -> Iterator[tuple[str, list[str]]]:
    """The sources of every record inside a decoded value, with its path."""
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _sources(entry, f"{place}[{index}]")
    elif isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            if field == "sources":
                yield place, getattr(value, field)
            else:
                yield from _sources(getattr(value, field), f"{place}.{field}")


def _references(loaded: Loaded) -> Iterator[Problem]:
    info = loaded.value("matrix.json")
    if info.schema != SCHEMA:
        yield loaded.problem("matrix.json", "$.schema", f"{info.schema}, this version reads {SCHEMA}")
    yield from release_problems(loaded)
    yield from regression_problems(loaded)
    yield from hardware_problems(loaded)
    yield from package_problems(loaded)
    yield from place_problems(loaded)
    yield from advisory_problems(loaded)
    yield from toolchain_problems(loaded)
    yield from root_step_problems(loaded)
    yield from log_line_problems(loaded)
    yield from signature_problems(loaded)
