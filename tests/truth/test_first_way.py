"""Every kind of host against the first way that a plan names: it leads to something that runs, and nothing less intrusive would have.

Two halves. The closed loop puts what a way changes and asks for back as a question. The brute force knows nothing of planning: it tries
every release, wheel, interpreter, image and driver against the raw facts of the artefacts. Where those do not settle whether something
runs it is left out, so that what the brute force calls working works; whatever the plan finds besides is for the closed loop to prove.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Verdict
from envcheck.model.host import HostReport
from envcheck.model.plan import Plan
from envcheck.model.request import Request
from envcheck.model.ways import INTRUSION, Way
from envcheck.planning.plan import make_plan
from envcheck.rules.check import judge

HERE = Path(__file__).parent


def _beside(name: str) -> Any:
    """A test module beside this one, for the expectation of one wheel on one GPU and driver."""
    spec = importlib.util.spec_from_file_location(f"beside_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = _beside("test_truth_table")
RAW: dict[str, Any] = json.loads((HERE / "raw_way_facts.json").read_text(encoding="utf-8"))
CAPABILITIES, DRIVERS, ARCHES = TABLE.CAPABILITIES, TABLE.DRIVERS, TABLE.ARCHES
PYTHONS = ("3.6", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
LIBCS = ("2.17", "2.28", "2.31", "2.35", "2.39")
PLACES = tuple(product(PYTHONS, LIBCS))
ASKED = (None, "0.33.0", "0.20.0", "0.19.1", "0.11.0", "0.9.2", "0.8.5")
# The policy: what is planned unasked, and into which interpreters.
OLDEST_RELEASE, OLDEST_PYTHON = Version("0.6.3"), (3, 10)
# The platform tag of the release page's wheels, by release (layout of the page: first release, glibc).
LABEL_TAGS = (("0.22", "2.28"), ("0.21", "2.24"), ("0.20", "2.35"), ("0.12", "2.31"), ("0", "2.5"))
# The first release whose image is known to exist, by machine.
FIRST_IMAGE = {"x86_64": Version("0.6.5"), "aarch64": Version("0.14.0")}
ONE = os.environ.get("ENVCHECK_WAYS_OF", "")
RUNS = (Verdict.READY, Verdict.READY_WITH_WARNINGS)
numbers = TABLE.numbers

Host = tuple[str, str, str, str, str]  # machine, compute capability, driver, Python, glibc


# --- the brute force


@cache
def wheels(arch: str) -> tuple[tuple[str, str], ...]:
    """Version and label of every wheel for a machine that may be planned: those of the index, and of the release page."""
    page = {(version, label) for version, machine, label in TABLE.labelled() if machine == arch and _has_torch(version, arch, label)}
    index = {(release["version"], "") for release in TABLE.RELEASES if arch in release.get("archs", ()) and not release.get("yanked")}
    return tuple(sorted(pair for pair in index | page if pair[0] not in TABLE.NOT_KNOWN and not Version(pair[0]).is_prerelease))


def _has_torch(version: str, arch: str, label: str) -> bool:
    return label in {word.split()[0] for word in TABLE.pinned(TABLE.BY_VERSION[version])["offered"][arch]}


@cache
def serves(version: str, label: str, arch: str, gpu: str, driver: str) -> bool:
    """Whether a wheel has code for a GPU and a driver takes it; without one of its own, torch is that of the label."""
    return bool(TABLE.expected(version, arch, label, numbers(gpu), numbers(driver), label or None) != "blocked")


@cache
def libc_of(version: str, label: str, arch: str) -> tuple[int, ...]:
    """The glibc that a wheel, what is in it and its torch need, all told."""
    facts = RAW["releases"][version]
    tag = next(tag for first, tag in LABEL_TAGS if Version(version) >= Version(first)) if label else facts["tag"][arch]
    torch = RAW["torch"][TABLE.pinned(TABLE.BY_VERSION[version])["version"]].get(arch, "2.17")
    found: tuple[int, ...] = max(map(numbers, (tag, torch, facts["needs"].get(arch, "0"))))
    return found


def takes(version: str, python: str) -> bool:
    return python in TABLE.BY_VERSION[version].get("pythons", ())


@cache
def image_runs(version: str, arch: str, gpu: str, driver: str) -> bool:
    """Whether a release's own image runs: the driver is one of its CUDA release, so that no gate needs an exception."""
    cuda, first = RAW["releases"][version]["image"], FIRST_IMAGE[arch]
    if cuda is None or Version(version) < first or arch not in TABLE.BY_VERSION[version].get("archs", ()):
        return False
    shown = numbers(TABLE.RAW["shows"][driver.partition(".")[0]])
    torch = "cu" + "".join(cuda.split(".")[:2])  # an image holds the torch of its own CUDA release
    runs = TABLE.expected(version, arch, "", numbers(gpu), numbers(driver), torch) != "blocked"
    return shown >= numbers(cuda)[:2] and runs


@cache
def ways_of(version: str, arch: str, gpu: str, driver: str, python: str, glibc: str) -> frozenset[str]:
    """The kinds of way by which a release runs with this driver."""
    found = set()
    for _, label in (pair for pair in wheels(arch) if pair[0] == version):
        if not serves(version, label, arch, gpu, driver) or numbers(glibc) < libc_of(version, label, arch):
            continue
        if label:
            found.add("wheel")
        elif takes(version, python) and numbers(python) >= OLDEST_PYTHON:
            found.add("environment")
        elif TABLE.BY_VERSION[version].get("pythons"):
            found.add("interpreter")
    if image_runs(version, arch, gpu, driver):
        found.add("image")
    return frozenset(found)


@cache
def planned(arch: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(version for version, _ in wheels(arch) if Version(version) >= OLDEST_RELEASE))


@cache
def brute(arch: str, gpu: str, driver: str, python: str, glibc: str, asked: str | None) -> frozenset[str]:
    """The kinds of way to a release, or to any that is planned; a newer driver is tried as a way of its own."""
    versions = planned(arch) if asked is None else (asked,)
    found = {kind for version in versions for kind in ways_of(version, arch, gpu, driver, python, glibc)}
    for newer in () if numbers(gpu) in TABLE.ON_A_CHIP else DRIVERS:  # a board's driver comes with its system
        if numbers(newer) > numbers(driver) and any(ways_of(version, arch, gpu, newer, python, glibc) for version in versions):
            found.add("driver")
            break
    return frozenset(found)


def least(kinds: frozenset[str]) -> int:
    """The place of the least intrusive of some kinds; behind all where there is none."""
    return min((place for place, kind in enumerate(INTRUSION) if kind in kinds), default=len(INTRUSION))


def not_before(host: Host, asked: str | None) -> int:
    """The last place in the order of intrusion that the first way may have."""
    own = brute(*host[:3], *host[3:], asked)
    if asked is None or own:
        return least(own)
    others = brute(*host[:3], *host[3:], None)
    # Whatever wheel another release is, it is another release.
    return least(frozenset("release" if kind in ("environment", "interpreter", "wheel") else kind for kind in others))


# --- the closed loop


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(HERE.parents[1] / "matrices")


def document(host: Host) -> dict[str, Any]:
    arch, gpu, driver, python, glibc = host
    return {
        "os": {"name": "some Linux", "arch": arch, "glibc": glibc, "wsl": False},
        "python": {"version": f"{python}.3"},
        "driver": {"version": driver},
        "gpus": [{"index": 0, "compute_capability": gpu}],
        "torch": None,
        "packages": {},
        "container": None,
    }


def put_back(facts: dict[str, Any], way: Way) -> dict[str, Any]:
    """The host as a way leaves it."""
    changed: dict[str, Any] = deepcopy(facts)
    for path, value in way.after.items():
        *folders, name = path.split(".")
        place = changed
        for folder in folders:
            if not isinstance(place.get(folder), dict):
                place[folder] = {}
            place = place[folder]
        place[name] = value
    return changed


_PLANS: dict[tuple[Host, str | None], Plan] = {}


def plan_of(matrix: Matrix, host: Host, asked: str | None) -> Plan:
    key = (host, asked)
    if key not in _PLANS:
        request = Request(vllm=asked)
        _PLANS[key] = make_plan(judge(msgspec.convert(document(host), HostReport), matrix, request), matrix, request)
    return _PLANS[key]


def hosts() -> Iterator[tuple[Host, str | None]]:
    """Every machine, GPU, driver and request, each with a place of its own among interpreters and glibcs.

    The places go round in steps that let every machine, GPU, driver and request meet all of them. With `ENVCHECK_WAYS_OF="x86_64 8.6"` all
    of them of that machine and GPU, which the gate asks for one after the other.
    """
    if ONE:
        arch, gpu = ONE.split()
        for driver, (python, glibc), asked in product(DRIVERS, PLACES, ASKED):
            yield (arch, gpu, driver, python, glibc), asked
        return
    for number, (arch, gpu, driver) in enumerate(product(ARCHES, CAPABILITIES, DRIVERS)):
        for turn, asked in enumerate(ASKED):
            python, glibc = PLACES[(number * 34 + turn * 29) % len(PLACES)]
            yield (arch, gpu, driver, python, glibc), asked


def named(host: Host, asked: str | None, way: Way | None) -> str:
    what = "no way"
    if way is not None:
        stack = way.stack
        leads = f"{stack.vllm}+{stack.variant} Python {stack.python}" if stack else way.image.reference if way.image else ""
        what = f"{way.kind} {leads} asks {way.asks} after {way.after} breaks {way.breaks}"
    return f"{' '.join(host)} asked {asked}: {what}"


def test_the_sample_meets_everything() -> None:
    sampled = list(hosts())
    if ONE:
        assert len(sampled) == len(DRIVERS) * len(PLACES) * len(ASKED)
        return
    assert len(sampled) == len(ARCHES) * len(CAPABILITIES) * len(DRIVERS) * len(ASKED)
    for part, there in ((0, ARCHES), (1, CAPABILITIES), (2, DRIVERS)):
        met = {(host[part], host[3], host[4]) for host, _ in sampled}
        assert len(met) == len(there) * len(PLACES)
    assert len({(asked, host[3], host[4]) for host, asked in sampled}) == len(ASKED) * len(PLACES)


def test_the_first_way_is_judged_to_run(matrix: Matrix) -> None:
    wrong = set()
    for host, asked in hosts():
        ways = plan_of(matrix, host, asked).ways
        if not ways or ways[0].kind == "hardware":
            continue  # whether that is right the other half says
        first = ways[0]
        if not first.after and first.asks is None:
            wrong.add(f"{named(host, asked, first)}: nothing to ask")
            continue
        told = judge(msgspec.convert(put_back(document(host), first), HostReport), matrix, Request(vllm=first.asks)).verdict
        if told not in RUNS or first.proof not in RUNS:
            wrong.add(f"{named(host, asked, first)}: {told.value}, proof {first.proof}")
    assert wrong == set(), len(wrong)


def test_nothing_less_intrusive_runs(matrix: Matrix) -> None:
    wrong = set()
    for host, asked in hosts():
        ways = plan_of(matrix, host, asked).ways
        first = ways[0] if ways else None
        place = INTRUSION.index(first.kind) if first else len(INTRUSION)
        kept = first is not None and "vllm" not in first.breaks
        keeps = brute(*host, asked) if asked else frozenset[str]()
        if keeps and not kept:
            wrong.add(f"{named(host, asked, first)}: {sorted(keeps)} keep the release")
        elif (not asked or kept or not keeps) and place > not_before(host, asked) and not (asked and kept and not keeps):
            wrong.add(f"{named(host, asked, first)}: could be {INTRUSION[not_before(host, asked)]}")
    assert wrong == set(), len(wrong)


def test_there_is_always_a_way_and_other_hardware_is_the_last(matrix: Matrix) -> None:
    wrong = set()
    for host, asked in hosts():
        ways = plan_of(matrix, host, asked).ways
        if not ways or (ways[0].kind == "hardware" and brute(*host, None)):
            wrong.add(named(host, asked, ways[0] if ways else None))
    assert wrong == set(), len(wrong)


def test_ways_stand_in_order_and_none_is_known_to_fail(matrix: Matrix) -> None:
    wrong = set()
    for host, asked in hosts():
        ways = plan_of(matrix, host, asked).ways
        places = [(bool(way.breaks), INTRUSION.index(way.kind)) for way in ways]
        if places != sorted(places):
            wrong.add(f"{' '.join(host)} asked {asked}: {places}")
        if any(way.proof is Verdict.BLOCKED for way in ways):
            wrong.add(f"{' '.join(host)} asked {asked}: a way that is blocked")
    assert wrong == set(), len(wrong)


def test_the_stack_of_the_plan_is_that_of_the_first_way(matrix: Matrix) -> None:
    wrong = set()
    for host, asked in hosts():
        plan = plan_of(matrix, host, asked)
        if plan.stack is not None and (not plan.ways or plan.ways[0].stack != plan.stack):
            wrong.add(f"{named(host, asked, plan.ways[0] if plan.ways else None)}: the stack is {plan.stack.vllm}+{plan.stack.variant}")
    assert wrong == set(), len(wrong)


# Hosts that people ask about most, as the kind of the least intrusive way: an anchor for the brute force itself.
@pytest.mark.parametrize(
    ("host", "asked", "kind"),
    [
        (("x86_64", "8.0", "580.95.05", "3.12", "2.39"), None, "environment"),
        (("x86_64", "8.0", "535.161.08", "3.12", "2.39"), None, "environment"),  # 0.19.1 of CUDA 12 is on the index
        (("x86_64", "8.0", "535.161.08", "3.12", "2.39"), "0.20.0", "wheel"),  # +cu129
        (("x86_64", "8.0", "535.161.08", "3.12", "2.31"), "0.20.0", "driver"),  # whose wheel needs glibc 2.34: an image of a newer driver
        (("x86_64", "8.0", "535.161.08", "3.12", "2.39"), "0.33.0", "driver"),  # CUDA 13 alone
        (("x86_64", "8.6", "550.144.03", "3.9", "2.35"), None, "interpreter"),
        (("x86_64", "8.6", "550.144.03", "3.14", "2.35"), "0.19.1", "interpreter"),
        (("x86_64", "7.5", "470.161.03", "3.12", "2.31"), None, "wheel"),  # +cu118
        (("x86_64", "7.0", "580.95.05", "3.12", "2.35"), "0.20.0", None),  # no code for Volta, in no image either
        (("x86_64", "7.0", "580.95.05", "3.12", "2.17"), "0.19.1", "image"),  # the wheel needs glibc 2.31
        (("x86_64", "6.1", "550.144.03", "3.12", "2.39"), None, None),
    ],
)
def test_rows_of_the_reference(host: Host, asked: str | None, kind: str | None) -> None:
    place = least(brute(*host, asked))
    assert (INTRUSION[place] if place < len(INTRUSION) else None) == kind


if __name__ == "__main__":
    print("\n".join(" ".join(pair) for pair in product(ARCHES, CAPABILITIES)))
