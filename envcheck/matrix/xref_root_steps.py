"""Cross-references of root_steps.json: families and branches that exist, versions named once, placeholders that something fills in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from envcheck.matrix.problem import Loaded, Problem
from envcheck.matrix.records import CudaFile
from envcheck.matrix.root_steps import PLACEHOLDERS, RootStepsFile, StepFamily, SystemSteps
from envcheck.model.versions import numbers

Found = Iterator[tuple[str, str]]


def root_step_problems(loaded: Loaded) -> Iterator[Problem]:
    """Every fault of the steps that root does."""
    file: RootStepsFile = loaded.value("root_steps.json")
    cuda: CudaFile = loaded.value("cuda.json")
    found = (*_of_order(file), *_of_systems(file), *_of_lines(file), *_of_compat(file, {entry.branch for entry in cuda.branches}))
    yield from (loaded.problem("root_steps.json", path, what) for path, what in found)


def _of_order(file: RootStepsFile) -> Found:
    for kind, keys in (("origins", [entry.id for entry in file.origins]), ("families", [entry.id for entry in file.families])):
        yield from ((f"$.{kind}[{place}]", "out of order") for place, (before, after) in enumerate(pairwise(keys), 1) if not before < after)
    names = [entry.distribution for entry in file.systems]
    yield from ((f"$.systems[{place}]", "out of order") for place, (before, after) in enumerate(pairwise(names), 1) if before > after)
    systems = set(names)
    yield from (
        (f"$.names[{place}]", f"there is no `{entry.distribution}`")
        for place, entry in enumerate(file.names)
        if entry.distribution not in systems
    )
    releases = [numbers(entry.cuda) or () for entry in file.compat]
    yield from ((f"$.compat[{place}]", "out of order") for place, (before, after) in enumerate(pairwise(releases), 1) if not before < after)


def _of_systems(file: RootStepsFile) -> Found:
    families = {entry.id: entry for entry in file.families}
    seen: set[tuple[str, str]] = set()
    for place, entry in enumerate(file.systems):
        at, family = f"$.systems[{place}]", families.get(entry.family)
        if family is None:
            yield f"{at}.family", f"there is no family `{entry.family}`"
            continue
        if not re.fullmatch(r"https://[\w./:%-]+", entry.page):
            yield f"{at}.page", f"`{entry.page}` is no plain URL"
        for version in entry.versions or [""]:
            if (entry.distribution, version) in seen or (entry.distribution, "") in seen:
                yield f"{at}.versions", f"{entry.distribution} {version} stands here already"
            seen.add((entry.distribution, version))
        yield from ((at, what) for what in _of_driver(entry, family))


def _of_driver(entry: SystemSteps, family: StepFamily) -> Iterator[str]:
    """A folder goes with machines and with a family that knows what to do with it; own packages with their names."""
    if (entry.folder is None) != (not entry.machines):
        yield "a folder and the machines it is for go together"
    if entry.folder is not None and not (family.repository and family.open_driver):
        yield f"family `{family.id}` does not use NVIDIA's repository"
    if entry.own_branches and not (family.own_open and family.own_proprietary):
        yield f"family `{family.id}` has no packages of its own"


def _of_lines(file: RootStepsFile) -> Found:
    known = PLACEHOLDERS | {entry.id for entry in file.origins}
    for kind in ("families", "systems"):
        for place, entry in enumerate(getattr(file, kind)):
            for field in entry.__struct_fields__:
                for line in _lines(getattr(entry, field)):
                    yield from ((f"$.{kind}[{place}].{field}", what) for what in _of_line(line, known))


def _lines(value: object) -> Iterator[str]:
    """The texts of a list, or of a mapping of lists."""
    parts = value.values() if isinstance(value, dict) else [value] if isinstance(value, list) else []
    yield from (str(line) for part in parts for line in part)


def _of_line(line: str, known: frozenset[str]) -> Iterator[str]:
    yield from (f"nothing fills in `{{{name}}}`" for name in re.findall(r"\{([a-z_]+)\}", line) if name not in known)
    if "\n" in line:
        yield "more than one line"


def _of_compat(file: RootStepsFile, branches: set[int]) -> Found:
    """A libcuda runs only on drivers older than itself."""
    for place, entry in enumerate(file.compat):
        wrong = [branch for branch in (entry.branch, *entry.serves) if branch not in branches]
        yield from ((f"$.compat[{place}]", f"there is no branch {branch}") for branch in wrong)
        if any(branch >= entry.branch for branch in entry.serves):
            yield f"$.compat[{place}].serves", "a branch that is not older"
