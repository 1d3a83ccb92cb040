"""Whatever the host and the wishes: the ways stand in order, each proof holds when it is judged again, and no wish is broken unsaid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Verdict
from envcheck.model.host import HostReport
from envcheck.model.plan import Plan
from envcheck.model.request import Pins, Request
from envcheck.model.ways import INTRUSION, Way
from envcheck.planning.plan import make_plan
from envcheck.rules.check import Judgement, judge

MATRIX = Matrix(Path(__file__).parents[2] / "matrices")
GPUS = (
    ("NVIDIA GeForce GTX 1080 Ti", "6.1"),
    ("Tesla V100-SXM2-16GB", "7.0"),
    ("Tesla T4", "7.5"),
    ("NVIDIA A100-SXM4-80GB", "8.0"),
    ("NVIDIA A10", "8.6"),
    ("NVIDIA GeForce RTX 4090", "8.9"),
    ("NVIDIA H20", "9.0"),
    ("NVIDIA B200", "10.0"),
    ("NVIDIA GeForce RTX 5090", "12.0"),
)
DRIVERS = ("390.157", "470.161.03", "525.60.13", "535.183.01", "550.144.03", "570.144", "580.95.05", "595.58.03", None)
SYSTEMS = (("ubuntu", "22.04", "2.35"), ("ubuntu", "20.04", "2.31"), ("centos", "7", "2.17"), ("openeuler", "22.03", "2.34"))
ASKED = (None, "0.33.0", "0.19.1", "0.11.0", "0.9.2", "0.8.5", "latest")
LINUX_DRIVER = re.compile(r"\b(apt|apt-get|dnf|yum|zypper)\b.*(nvidia-driver|cuda-drivers|nvidia-open)|\breboot\b|\bmodprobe\b")


@st.composite
def hosts(draw: st.DrawFn) -> dict[str, Any]:
    """A host document; what is drawn as None is left out, so not known."""
    system, version, glibc = draw(st.sampled_from(SYSTEMS))
    cards = draw(st.lists(st.sampled_from(GPUS), min_size=1, max_size=3))
    driver = draw(st.sampled_from(DRIVERS))
    host: dict[str, Any] = {
        "os": {"id": system, "version": version, "glibc": glibc, "arch": draw(st.sampled_from(("x86_64", "aarch64")))},
        "python": {"version": draw(st.sampled_from(("3.8.18", "3.9.5", "3.10.12", "3.12.3", "3.13.1", "3.14.0")))},
        "gpus": [{"index": place, "name": name, "compute_capability": sm, "memory_mib": 24000} for place, (name, sm) in enumerate(cards)],
        "packages": {},
        "torch": None,
    }
    if driver:
        host["driver"] = {"version": driver}
    where = draw(st.sampled_from(("host", "wsl", "docker", "autodl")))
    if where == "wsl":
        host["os"]["wsl"] = True
    elif where == "docker":
        host["container"] = {"kind": "docker"}
    elif where == "autodl":
        host |= {"container": {"kind": "docker"}, "cloud": {"platform": "autodl"}}
    more: dict[str, Any] = draw(st.sampled_from(({}, {}, {"fabric": {"nvswitch": True, "manager": "stopped"}}, _INSTALLED)))
    return host | more


_INSTALLED: dict[str, Any] = {
    "packages": {"vllm": "0.11.0", "torch": "2.8.0"},
    "torch": {"version": "2.8.0+cu128", "cuda": "12.8"},
    "environment": {"CUDA_VISIBLE_DEVICES": "0"},
}
WISHES = st.builds(
    Pins,
    torch=st.sampled_from((None, None, "2.8.0", ">=2.9", "1.0")),
    python=st.sampled_from((None, None, "3.10", "3.12")),
    driver=st.booleans(),
    root=st.sampled_from((True, True, False)),
    container=st.sampled_from((True, True, False)),
)
REQUESTS = st.builds(
    Request,
    vllm=st.sampled_from(ASKED),
    pins=WISHES,
    prefer=st.sampled_from(("newest", "stable")),
    serve_args=st.sampled_from(({}, {"dtype": "bfloat16"})),
)


def changed(host: dict[str, Any], changes: dict[str, Any]) -> HostReport:
    """The document as a person would edit it: each dotted path set, names in maps of names taken whole."""
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(host))
    for path, value in changes.items():
        head, _, rest = path.partition(".")
        keys = [head, rest] if rest and head in ("environment", "packages") else path.split(".")
        place = made
        for key in keys[:-1]:
            place[key] = place.get(key) or {}
            place = place[key]
        if value is None and len(keys) > 1 and head in ("environment", "packages"):
            place.pop(keys[-1], None)
        else:
            place[keys[-1]] = value
    return msgspec.convert(made, HostReport, strict=False)


def judged_after(host: dict[str, Any], request: Request, way: Way) -> Judgement:
    """The judge's word on the host as a way says that it leaves it."""
    arguments = {path.rpartition(".")[2]: value for path, value in way.after.items() if path.startswith("request.serve_args.")}
    facts = {path: value for path, value in way.after.items() if not path.startswith("request.")}
    asked = msgspec.structs.replace(request, vllm=way.asks or request.vllm, serve_args={**request.serve_args, **arguments})
    return judge(changed(host, facts), MATRIX, asked)


def planned(host: dict[str, Any], request: Request) -> tuple[Judgement, Plan]:
    judgement = judge(msgspec.convert(host, HostReport, strict=False), MATRIX, request)
    return judgement, make_plan(judgement, MATRIX, request)


def all_commands(way: Way) -> str:
    return "\n".join([*way.commands, *(line for step in way.first for line in step.commands)])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hosts(), REQUESTS)
def test_the_ways_hold_what_they_say(host: dict[str, Any], request: Request) -> None:
    _, plan = planned(host, request)
    assert plan.ways
    places = [(bool(way.breaks), INTRUSION.index(way.kind), way.proof is None) for way in plan.ways]
    assert places == sorted(places)
    for way in plan.ways:
        assert way.proof is not Verdict.BLOCKED
        if way.proof is not None and way.title.key != "way.installed":
            assert judged_after(host, request, way).verdict is way.proof


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hosts(), REQUESTS)
def test_no_way_stands_twice_and_each_says_why(host: dict[str, Any], request: Request) -> None:
    _, plan = planned(host, request)
    seen = [
        (way.kind, way.title, way.commands, way.stack and (way.stack.vllm, way.stack.variant, way.stack.python), way.first)
        for way in plan.ways
    ]
    assert all(seen.count(one) == 1 for one in seen)
    assert all(way.why for way in plan.ways)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hosts(), REQUESTS)
def test_no_wish_is_broken_unsaid(host: dict[str, Any], request: Request) -> None:
    _, plan = planned(host, request)
    pins = request.pins
    for way in plan.ways:
        release = way.image.release if way.image else way.stack.vllm if way.stack else None
        if release is None or way.title.key == "way.installed":
            continue
        if request.vllm:
            assert "vllm" in way.breaks or MATRIX.release(release) in MATRIX.matching(request.vllm)
        if pins.torch == "2.8.0" and way.stack:
            assert "torch" in way.breaks or way.stack.torch == "2.8.0"
        if pins.python and way.stack and not way.image:
            assert "python" in way.breaks or way.stack.python == pins.python
        assert not (pins.driver and way.kind == "driver" and "driver" not in way.breaks)
        assert pins.root or not way.cost.root
        assert pins.container or way.image is None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hosts(), REQUESTS)
def test_nobody_is_told_to_change_a_driver_that_is_not_his(host: dict[str, Any], request: Request) -> None:
    if host["os"].get("wsl") or "container" in host:
        _, plan = planned(host, request)
        for way in plan.ways:
            assert not LINUX_DRIVER.search(all_commands(way)), way


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hosts(), REQUESTS)
def test_the_plan_is_its_first_way(host: dict[str, Any], request: Request) -> None:
    judgement, plan = planned(host, request)
    first = plan.ways[0]
    if plan.stack is not None:
        assert first.stack == plan.stack
    if plan.install:
        assert first.stack is not None
        wheels = " ".join(word for recipe in plan.install for step in recipe.steps for word in step.argv)
        assert f"vllm=={first.stack.vllm}" in wheels or (first.stack.url or "?") in wheels
    if judgement.verdict is Verdict.BLOCKED and first.kind == "hardware":
        assert plan.stack is None
        assert not plan.install
