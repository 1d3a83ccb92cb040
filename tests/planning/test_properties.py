"""Whatever a host document says, there is a verdict and a plan, soon; and what must not matter does not."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType

from envcheck.errors import EnvcheckError
from envcheck.matrix.load import Matrix
from envcheck.model.finding import Severity, Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.planning.plan import make_plan
from envcheck.planning.report import build_report
from envcheck.rules.check import Judgement, judge

# Two seconds would be a hang: a host takes far less than a millisecond, a cold matrix some tens of them.
SOON = settings(deadline=timedelta(seconds=5), max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
MATRIX = Matrix(Path(__file__).parents[2] / "matrices")

LIKELY = [
    *("0.19.1", "0.33.0", "0.8.5.post1", "0.32.0+cu129", "0.21.1rc1.dev751+g1a2b", "99.0", "2.10.0", "2.10.0+cu128", "2.14.0+cu130"),
    *("2.7.1+cpu", "470.161.03", "535.183.01", "570.144", "580.95.05", "620+", "12.2", "13.0", "2.35", "2.17", "musl 1.2.4", "3.12.3"),
    *("3.9", "x86_64", "aarch64", "ppc64le", "NVIDIA A100-SXM4-80GB", "Tesla T4", "NVIDIA GeForce RTX 5090", "AMD Instinct MI300X"),
    *("NVIDIA A100 MIG 3g.40gb", "Jetson Orin", "7.0", "8.0", "8.7", "12.0", "sm_90", "ok", "Timeout", "LibraryNotFound", "Unknown"),
    *(
        "LibRmVersionMismatch",
        "GpuIsLost",
        "stopped",
        "running",
        "completed",
        "in-progress",
        "docker",
        "aliyun",
        "cn-hangzhou",
        "us-east-1",
    ),
    *("vllm/vllm-openai:v0.15.0", "vllm/vllm-openai:latest-cu130", "10de", "gpu", "nouveau", "vfio-pci", "0,1", "MIG-1", "v0", "half"),
]
HOSTILE = [
    *("", " ", "\x00", "\x1b[2J\x1b]0;x\x07", "\r\n\r\n", "\u202e\u2066", "٣.٤", "²", "💥" * 50, "9" * 5000, "1." * 300),
    *("9" * 400 + "." + "9" * 400, "-1", "0", "1e999", "NaN", "+cu999", "1!2.3", "../../etc/passwd", "$(reboot)", "'; rm -rf ~ #", "{key}"),
    *("--upgrade", "%s%n", "2.10.0+" + "x" * 300, "cuda>=99", "0.19.1\n0.33.0", ">=0,<0", "https://user:secret@example.com/simple"),
]
NUMBERS = [0, 1, -1, 80, 24_564, 81_920, 10**9, -(10**18), 0.5, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")]

texts = st.one_of(st.sampled_from(LIKELY), st.sampled_from(LIKELY), st.sampled_from(HOSTILE), st.text(max_size=40))
names = st.one_of(st.sampled_from(["vllm", "torch", "VLLM_USE_V1", "CUDA_VISIBLE_DEVICES", "nvidia-nccl-cu12", "torchvision"]), texts)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    bool: st.booleans(),
    int: st.sampled_from([0, 1, 7, -1, 10**12]),
    float: st.sampled_from(NUMBERS),
    type(None): st.none(),
    UnsetType: st.just(UNSET),
}


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type, absent and not known among them."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind in SCALARS:
        return SCALARS[kind]
    if origin in (types.UnionType, typing.Union):
        return st.one_of(*(values(one) for one in inner))
    if origin is Literal:
        return st.sampled_from(inner)
    if origin is list:
        return st.lists(values(inner[0]), max_size=4)
    if origin is dict:
        return st.dictionaries(names, values(inner[1]), max_size=5)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return st.builds(kind, **{field.name: values(field.type) for field in msgspec.structs.fields(kind)})
    raise AssertionError(f"a field of a kind unknown here: {kind}")


hosts = values(HostReport)
requests = st.builds(
    Request,
    vllm=st.one_of(st.none(), texts),
    engine=st.one_of(st.none(), texts),
    serve_args=st.dictionaries(st.sampled_from(["dtype", "max_model_len"]), st.one_of(texts, st.sampled_from(NUMBERS), st.none())),
    model_config=st.one_of(st.none(), st.dictionaries(st.sampled_from(["torch_dtype", "dtype"]), st.one_of(texts, st.none()))),
)


@SOON
@given(hosts, requests)
def test_every_host_has_a_verdict_and_a_plan(host: HostReport, request: Request) -> None:
    try:
        judgement = judge(host, MATRIX, request)
    except EnvcheckError:
        return  # a release that is none
    plan = make_plan(judgement, MATRIX, request)
    report = build_report(judgement, plan, MATRIX)
    assert (report.verdict is Verdict.BLOCKED) == any(finding.severity is Severity.ERROR for finding in report.findings)
    assert (report.verdict is Verdict.UNKNOWN) == bool(report.undecided)
    assert {finding.code for finding in report.findings} <= set(MATRIX.codes)
    assert len(msgspec.json.encode((report.findings, plan.install, plan.notes, plan.mirrors))) < 200_000  # nothing hostile is carried along
    for recipe in plan.install:
        for step in recipe.steps:
            assert all(isinstance(argument, str) for argument in step.argv)


def filled(kind: Any, text: str) -> Any:
    """A value of a field's type with every text in it replaced."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return filled(inner[0], text)
    if origin is list:
        return [filled(inner[0], text)]
    if origin is dict:
        return {"vllm": filled(inner[1], text), text: filled(inner[1], text)}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind(**{field.name: filled(field.type, text) for field in msgspec.structs.fields(kind)})
    return {str: text, bool: True, int: 1, float: 1.0}.get(kind, "found")


@pytest.mark.parametrize("letter", ["A", "9", "1.", " ", "\x1b"])
def test_megabytes_of_text_in_every_field_are_neither_slow_nor_carried_along(letter: str) -> None:
    host = filled(HostReport, letter * (1_000_000 // len(letter)))
    judgement = judge(host, MATRIX, Request())
    plan = make_plan(judgement, MATRIX, Request())
    assert len(msgspec.json.encode((judgement.findings, plan.install, plan.notes))) < 200_000


@SOON
@given(hosts)
def test_a_host_without_a_request_never_raises(host: HostReport) -> None:
    assert judge(host, MATRIX, Request(), remedies=False).verdict in Verdict


DRIVERS = ["470.161.03", "525.60.13", "535.183.01", "550.54.15", "570.144", "575.57.08", "580.65.06", "590.44.01", "620.10"]
GPUS = [("Tesla V100-SXM2-32GB", "7.0"), ("Tesla T4", "7.5"), ("NVIDIA A10", "8.6"), ("NVIDIA L20", "8.9"), ("NVIDIA H20", "9.0")]
CARDS = [*GPUS, ("NVIDIA B200", "10.0"), ("NVIDIA GeForce RTX 5090", "12.0")]
RELEASES = [None, "0.6.3", "0.8.5.post1", "0.10.1.1+cu118", "0.11.2", "0.19.1", "0.26.0", "0.32.0+cu129", "0.33.0"]
HostOf = Callable[..., dict[str, Any]]


def errors(judgement: Judgement) -> set[str]:
    return {finding.code for finding in judgement.findings if finding.severity is Severity.ERROR}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("card", CARDS, ids=lambda card: card[0])
def test_a_newer_driver_is_never_the_worse_one(host_of: HostOf, card: tuple[str, str], release: str | None) -> None:
    ready = False
    for driver in DRIVERS:
        host = msgspec.convert(host_of(*card, driver), HostReport)
        judgement = judge(host, MATRIX, Request(vllm=release))
        assert not (ready and errors(judgement)), f"{driver}: {errors(judgement)}"
        ready = ready or judgement.verdict in (Verdict.READY, Verdict.READY_WITH_WARNINGS)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card[0])
def test_a_newer_driver_never_means_an_older_release(host_of: HostOf, card: tuple[str, str]) -> None:
    chosen = []
    for driver in DRIVERS:
        judgement = judge(msgspec.convert(host_of(*card, driver), HostReport), MATRIX, Request())
        stack = make_plan(judgement, MATRIX, Request()).stack
        found = MATRIX.release(stack.vllm) if stack else None
        chosen.append(MATRIX.releases[::-1].index(found) if found else -1)
    assert chosen == sorted(chosen)


UNRELATED: list[dict[str, Any]] = [
    {"toolkits": [{"version": "11.8.89", "path": "/usr/local/cuda-11.8"}]},
    {"cudnn": {"version": "8.9.7"}},
    {"disk": [{"path": "/", "free_mib": 900000}]},
    {"secure_boot": False},  # where it is on, a newer driver needs more steps
    {"processes": [{"pid": 1, "gpu": 0, "memory_mib": 100, "name": "x"}]},
    {"network": {"index": "unreachable"}},
    {"pci": {"iommu": "translated", "acs_redirect": True}},
    {"cloud": {"provider": "aws"}},
    {"environment": {"HOME": "/root"}},
    {"provenance": {"driver.version": {"state": "found", "source": "/proc"}}},
    {"packages": {"click": "8.1"}},
    {"a-key-of-the-future": [1, 2, 3]},
]


@pytest.mark.parametrize("more", UNRELATED, ids=lambda more: next(iter(more)))
@pytest.mark.parametrize("release", [None, "0.33.0"])
def test_what_has_nothing_to_do_with_it_changes_nothing(host_of: HostOf, more: dict[str, Any], release: str | None) -> None:
    plain = host_of("NVIDIA A10", "8.6", "535.161.08")
    answers = []
    for document in (plain, {**plain, **more}):
        judgement = judge(msgspec.convert(document, HostReport), MATRIX, Request(vllm=release))
        plan = make_plan(judgement, MATRIX, Request(vllm=release))
        answers.append((judgement.verdict, judgement.findings, judgement.binding, plan.stack, plan.install))
    assert answers[0] == answers[1]
