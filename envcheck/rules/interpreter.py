"""Rules on the target interpreter's folders: what is imported in place of what is installed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Severity
from envcheck.model.host import known
from envcheck.model.host_parts import PackageProblem
from envcheck.rules.build import dotted
from envcheck.rules.make import error, finding, info, remedy, warning
from envcheck.rules.situation import Situation

_DECIDING = ("vllm", "torch")
_SHOWN = 200
_NO_PATH = remedy("setting", "drop-variable", "unset PYTHONPATH", variable="PYTHONPATH")


def wrong_environment(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Other copies before the installed ones, installations that broke off, folders of another Python."""
    yield from _other_pythons(situation)
    for problem in known(situation.host.package_problems) or ():
        yield from _judged(situation, problem)


def _judged(situation: Situation, problem: PackageProblem) -> Iterator[Finding]:
    from envcheck.rules.target_environment import FRESH  # noqa: PLC0415  # few environments are wrong

    path, detail = (known(problem.path) or "?")[:_SHOWN], (known(problem.detail) or "")[:_SHOWN]
    params = {"package": problem.name[:60], "path": path, "detail": detail}
    if problem.kind == "shadowed-module" and problem.name != "nvidia-ml-py":
        if "working folder" in detail or problem.name != "vllm":
            yield warning("wrong-environment", "working-folder", remedies=(remedy("setting", "other-folder", "cd ~"),), **params)
        else:
            yield error(
                "wrong-environment",
                "shadowed",
                remedies=(_NO_PATH,),
                **params,
            )
    elif problem.kind == "half-replaced":
        left = path.rpartition("/")[2].startswith("~") and problem.name in situation.packages
        if left:
            yield info("wrong-environment", "leftover", **params)
        else:
            yield warning("wrong-environment", "half-replaced", remedies=(FRESH,), **params)
    elif problem.kind == "duplicate":
        severity = Severity.WARNING if problem.name in _DECIDING and _differ(detail) else Severity.INFO
        yield finding("wrong-environment", severity, "duplicate", remedies=(FRESH,) if severity is Severity.WARNING else (), **params)
    elif problem.kind == "no-metadata" and problem.name in _DECIDING:
        yield info("wrong-environment", "no-metadata", **params)


def _differ(listed: str) -> bool:
    """Whether copies listed as `0.9.2 in /a; 0.8.5 in /b` are of several releases."""
    return len({entry.split()[0] for entry in listed.split(";") if entry.split()}) > 1


def _other_pythons(situation: Situation) -> Iterator[Finding]:
    """`PYTHONPATH` with the packages of another Python: compiled modules there do not load, and hide those that would."""
    folders = (known(situation.host.environment) or {}).get("PYTHONPATH")
    if not folders or situation.python is None:
        return
    for minor in re.findall(r"/python3\.(\d{1,2})/(?:site|dist)-packages", folders[:4096]):
        if int(minor) != situation.python[1]:
            yield warning("wrong-environment", "other-python", other=f"3.{minor}", python=dotted(situation.python), remedies=(_NO_PATH,))
            return


def old_pynvml(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """A folder `pynvml/` before nvidia-ml-py's module. Which releases of vLLM it breaks is among the known faults; others pass it by."""
    from envcheck.rules.target_environment import removed  # noqa: PLC0415  # few environments are wrong

    for problem in known(situation.host.package_problems) or ():
        if problem.kind == "shadowed-module" and problem.name == "nvidia-ml-py":
            path = (known(problem.path) or "?")[:_SHOWN]
            yield finding("pynvml-shadowed", Severity.INFO, "passed-by", path=path, remedies=removed(situation, "pynvml"))
            return
