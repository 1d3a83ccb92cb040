"""All that clashes between releases and hosts, by hand from what the wheels hold."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from envcheck.errors import UsageError
from envcheck.matrix.load import Matrix
from envcheck.model.finding import Severity, Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.why_not import ReleaseReasons, WhyNot, why_not


def host(gpu: str, capability: str, driver: str, python: str = "3.12.3", **more: Any) -> dict[str, Any]:
    return {
        "os": {"name": "Ubuntu 22.04", "glibc": "2.35", "arch": "x86_64"},
        "python": {"version": python},
        "driver": {"version": driver},
        "gpus": [{"name": gpu, "compute_capability": capability, "memory_mib": 46068}],
        "torch": None,
        "packages": {},
        **more,
    }


V100 = host("Tesla V100-SXM2-32GB", "7.0", "580.95.05")
A10_535 = host("NVIDIA A10", "8.6", "535.183.01")
A10 = host("NVIDIA A10", "8.6", "580.95.05")


def asked(matrix: Matrix, document: dict[str, Any], vllm: str | None, most: int | None = None) -> WhyNot:
    return why_not(msgspec.convert(document, HostReport), matrix, Request(vllm=vllm), most)


def only(found: WhyNot) -> ReleaseReasons:
    assert len(found.releases) == 1
    return found.releases[0]


def clashes(one: ReleaseReasons, place: int = 0) -> dict[str, tuple[str, str]]:
    return {clash.code: (clash.needed, clash.present) for clash in one.wheels[place].clashes}


def test_a_v100_has_no_code_in_0_33_0_and_none_in_its_torch(matrix: Matrix) -> None:
    found = asked(matrix, V100, "0.33.0")
    assert found.verdict is Verdict.BLOCKED
    assert clashes(only(found)) == {
        "gpu-too-old": ("7.5", "7.0"),
        "gpu-arch-not-in-torch-build": ("7.5, 8.0, 8.6, 9.0, 10.0, 12.0", "7.0"),
    }


def test_an_old_driver_keeps_0_33_0_away_and_the_two_versions_are_named(matrix: Matrix) -> None:
    found = asked(matrix, A10_535, "0.33.0")
    assert clashes(only(found)) == {"driver-too-old-for-cuda": ("580", "535.183.01")}
    assert [wheel.runs for wheel in only(found).wheels] == ["no"]


def test_another_wheel_of_the_release_page_stands_beside_the_index_wheel(matrix: Matrix) -> None:
    one = only(asked(matrix, A10_535, "0.32.0"))
    assert [(wheel.name, wheel.runs) for wheel in one.wheels] == [("0.32.0", "no"), ("0.32.0+cu129", "yes")]


def test_a_label_means_its_wheel_alone(matrix: Matrix) -> None:
    found = asked(matrix, A10_535, "0.32.0+cu129")
    assert found.verdict is Verdict.READY
    assert [wheel.name for wheel in only(found).wheels] == ["0.32.0+cu129"]


def test_all_that_clashes_is_named_not_only_the_first(matrix: Matrix) -> None:
    worst = host("Tesla V100-SXM2-32GB", "7.0", "470.161.03", "3.8.10", os={"name": "CentOS 7", "glibc": "2.17", "arch": "x86_64"})
    found = clashes(only(asked(matrix, worst, "0.33.0")))
    assert found["driver-too-old-for-cuda"] == ("580", "470.161.03")
    assert found["glibc-too-old"] == ("2.28", "2.17")
    assert found["python-unsupported"] == ("3.11–3.14", "3.8")
    assert {"gpu-too-old", "gpu-arch-not-in-torch-build"} <= set(found)


def test_another_interpreter_is_no_obstacle_of_the_wheel(matrix: Matrix) -> None:
    one = only(asked(matrix, host("NVIDIA A10", "8.6", "580.95.05", "3.10.12"), "0.33.0"))
    assert (one.wheels[0].runs, one.wheels[0].python) == ("other-python", "3.12")


def test_a_machine_without_any_wheel_is_told_which_there_are(matrix: Matrix) -> None:
    power = host("Tesla V100-SXM2-32GB", "7.0", "580.95.05", os={"name": "RHEL 8", "glibc": "2.28", "arch": "ppc64le"})
    one = only(asked(matrix, power, "0.33.0"))
    assert one.wheels[0].build is None
    assert clashes(one) == {"no-wheel-for-platform": ("x86_64, aarch64", "ppc64le")}


def test_what_is_not_known_is_neither_a_clash_nor_fine(matrix: Matrix) -> None:
    blind = {"os": {"arch": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12.3"}, "gpus": [{"name": "Some GPU of tomorrow"}]}
    one = only(asked(matrix, blind, "0.33.0"))
    assert one.wheels[0].runs == "unknown"
    assert {"gpus.compute_capability", "driver.version"} <= set(one.wheels[0].undecided)


def test_a_range_is_shown_newest_first_and_bounded(matrix: Matrix) -> None:
    found = asked(matrix, A10, ">=0.28,<0.33", 2)
    assert [one.release.raw for one in found.releases] == ["0.32.0", "0.31.0"]
    assert found.more == 3  # 0.30.0, 0.29.0, 0.28.0


def test_nothing_asked_means_the_newest(matrix: Matrix) -> None:
    assert only(asked(matrix, A10, None)).release is matrix.releases[0]


def test_a_release_that_does_not_exist_is_said(matrix: Matrix) -> None:
    with pytest.raises(UsageError):
        asked(matrix, A10, "0.99.0")


def test_what_a_fresh_environment_does_not_mend_remains(matrix: Matrix) -> None:
    gpus = [{"name": "NVIDIA H20", "compute_capability": "9.0", "memory_mib": 97871}] * 8
    h20 = host("NVIDIA H20", "9.0", "580.95.05", gpus=gpus, fabric={"nvswitch": True, "manager": "stopped"})
    found = asked(matrix, h20, "0.33.0")
    assert only(found).wheels[0].runs == "yes"
    assert [f.code for f in found.remaining if f.severity is Severity.ERROR] == ["fabric-manager-not-ready"]
    assert found.verdict is Verdict.BLOCKED


def test_what_is_wrong_with_the_packages_at_hand_does_not_remain(matrix: Matrix) -> None:
    broken = host(
        "NVIDIA A10", "8.6", "580.95.05", torch={"version": "2.14.0+cpu", "cuda": None}, packages={"torch": "2.14.0+cpu", "vllm": "0.33.0"}
    )
    found = asked(matrix, broken, "0.33.0")
    assert found.verdict is Verdict.BLOCKED  # of the installation
    assert not [f for f in found.remaining if f.severity is Severity.ERROR]


def test_a_clash_of_the_wheel_is_not_said_again_as_what_remains(matrix: Matrix) -> None:
    found = asked(matrix, A10_535, "0.33.0")
    assert "driver-too-old-for-cuda" not in {finding.code for finding in found.remaining}


def test_the_regressions_that_matter_stand_with_the_release(matrix: Matrix) -> None:
    assert [one.regression.id for one in only(asked(matrix, A10, "0.25.0")).concerns if one.avoided] == ["torchcodec-at-import"]
    assert [one.regression.id for one in only(asked(matrix, A10, "0.25.1")).concerns if one.avoided] == []
