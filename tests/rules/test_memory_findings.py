"""A model that does not fit blocks what was asked, by the finding that names its shortage; one that fits changes nothing."""

from __future__ import annotations

from typing import get_args

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.budget import FailureKind, KvCache, PerGpu, SizeFailure, SizeResult, SizeVerdict, Suggestion
from envcheck.model.finding import Verdict
from envcheck.model.host import Driver, Gpu, HostReport, OperatingSystem, Process, Python
from envcheck.model.request import Request
from envcheck.render.catalogue import Catalogue
from envcheck.rules.check import Judgement, judge
from envcheck.rules.memory import CODES, with_memory

KINDS: tuple[FailureKind, ...] = get_args(FailureKind)


def sized(verdict: SizeVerdict, failure: SizeFailure | None) -> SizeResult:
    return SizeResult(verdict, "v1", PerGpu(), KvCache(), failure, Suggestion(), "derived")


def judged(matrix: Matrix, driver: str = "580.95.05") -> Judgement:
    host = HostReport(
        os=OperatingSystem(arch="x86_64", glibc="2.35"),
        python=Python(version="3.12.3"),
        driver=Driver(version=driver, nvml="ok"),
        gpus=[Gpu(index=0, name="NVIDIA H200", compute_capability="9.0")],
    )
    return judge(host, matrix, Request())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("needed", "available"), [(80.5, 22.06), (None, None)])
def test_a_shortage_blocks_and_is_named_in_both_languages(matrix: Matrix, kind: FailureKind, needed: float, available: float) -> None:
    short = with_memory(judged(matrix), sized("does-not-fit", SizeFailure(kind, needed, available)), "some/model")
    assert short.verdict is Verdict.BLOCKED
    assert short.findings[0].code == CODES[kind]
    assert short.findings[0].code in matrix.codes
    for lang in ("en", "zh"):
        sentence = Catalogue(lang).text(short.findings[0].detail)
        assert "some/model" in sentence
        assert "{" not in sentence
        assert (needed is None) or ("80.5" in sentence and "22.06" in sentence)


@pytest.mark.parametrize("verdict", ["fits", "tight", "unknown"])
def test_what_fits_or_is_not_known_changes_nothing(matrix: Matrix, verdict: SizeVerdict) -> None:
    before = judged(matrix)
    assert before.verdict is Verdict.READY
    assert with_memory(before, sized(verdict, None), "some/model") == before


def test_what_is_wrong_with_the_host_stays_first(matrix: Matrix) -> None:
    before = judged(matrix, driver="450.80.01")
    assert before.verdict is Verdict.BLOCKED
    after = with_memory(before, sized("does-not-fit", SizeFailure("weights", 80.0, 22.0)), "some/model")
    assert [finding.code for finding in after.findings[:2]] == [before.findings[0].code, "oom-weights"]
    assert after.binding == before.binding


def test_memory_that_others_hold_explains_the_share_that_is_missing(matrix: Matrix) -> None:
    host = HostReport(
        driver=Driver(version="580.95.05", nvml="ok"),
        gpus=[Gpu(index=0, name="NVIDIA H200", compute_capability="9.0", memory_mib=143771, memory_free_mib=40000)],
        processes=[Process(pid=7, gpu=0, memory_mib=100000, name="python")],
    )
    judgement = judge(host, matrix, Request(vllm="0.22.0", model="some/model"))
    short = with_memory(judgement, sized("does-not-fit", SizeFailure("free-memory", 129.2, 39.1)), "some/model")
    assert [finding.code for finding in short.findings if finding.severity == "error"] == ["gpu-memory-busy"]
    assert "gpu-memory-below-utilization" in [inner.code for inner in short.findings[0].consequences]
    assert short.verdict is Verdict.BLOCKED
