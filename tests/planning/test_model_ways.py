"""Ways to serve a model that is not served as asked for: each is judged and sized again. Sizes of models and cards are public figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.cli.memory import known_spec, planned_ways, size_as_planned
from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.model.ways import Way
from envcheck.render.catalogue import Catalogue, Lang
from envcheck.rules.check import judge

TOP = Path(__file__).parents[2]
MATRIX = Matrix(TOP / "matrices")
A10 = {"name": "NVIDIA A10", "compute_capability": "8.6", "memory_mib": 23028}
L20 = {"name": "NVIDIA L20", "compute_capability": "8.9", "memory_mib": 46068}
T4 = {"name": "Tesla T4", "compute_capability": "7.5", "memory_mib": 15360}
LARGE = "Qwen/Qwen2.5-14B-Instruct"  # 27.5 GiB of weights


def ways(
    model: str,
    gpus: list[dict[str, Any]],
    vllm: str = "0.19.1",
    arguments: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
) -> tuple[Way, ...]:
    system = {"os": {"arch": "x86_64", "glibc": "2.35"}, "python": {"version": "3.12.3", "headers": True, "compiler": "gcc 11.4.0"}}
    cards = [{"index": index, **gpu} for index, gpu in enumerate(gpus)]
    memory = {"ram_mib": 512000, "ram_available_mib": 500000}
    told = {**system, "driver": {"version": "580.95.05"}, "gpus": cards, "memory": memory, "environment": environment or {}}
    host = msgspec.convert(told, HostReport)
    request = Request(vllm=vllm, model=model, serve_args=arguments or {})
    spec, release = known_spec(request, MATRIX), MATRIX.release(vllm)
    assert spec is not None
    assert release is not None
    judgement = judge(host, MATRIX, msgspec.structs.replace(request, model_config=spec.config))
    size = size_as_planned(host, MATRIX, request, spec, release.version, judgement.engine)
    return planned_ways(judgement, MATRIX, request, spec, release, size)


def kinds(found: tuple[Way, ...]) -> list[str]:
    return [way.title.key.removeprefix("way.model.") for way in found]


def test_a_model_that_is_served_needs_no_way() -> None:
    assert ways("Qwen/Qwen2.5-0.5B-Instruct", [A10]) == ()


def test_more_of_the_same_card_where_nothing_on_the_host_helps() -> None:
    found = ways(LARGE, [A10])
    assert kinds(found) == ["cards"]
    assert found[0].title.params["count"] == 2  # 27.5 GiB do not fit into 22.5, and do into twice that
    assert (found[0].kind, found[0].proof) == ("hardware", "ready")


def test_gpus_that_are_hidden_come_before_other_hardware() -> None:
    found = ways(LARGE, [A10, A10], environment={"CUDA_VISIBLE_DEVICES": "0"})
    assert kinds(found) == ["gpus"]
    assert found[0].commands[0] == "unset CUDA_VISIBLE_DEVICES"
    assert found[0].after == {"environment.CUDA_VISIBLE_DEVICES": None}


def test_a_checkpoint_of_the_catalogue_in_fewer_bits() -> None:
    found = ways("Qwen/Qwen3.6-27B", [L20], "0.33.0")  # 51 GiB in 16 bits
    assert kinds(found)[0] == "variant"
    assert "NVFP4" in str(found[0].title.params["name"])
    assert "--model nvidia/Qwen3.6-27B-NVFP4" in found[0].commands[-1]


def test_no_checkpoint_is_named_whose_format_the_gpu_does_not_take() -> None:
    assert "variant" not in kinds(ways("Qwen/Qwen3.6-27B", [T4] * 2, "0.13.0"))  # its floor was 8.0 then


def test_what_was_asked_for_and_is_in_the_way_is_named() -> None:
    found = ways(LARGE, [A10, A10], arguments={"tensor_parallel_size": 1})
    assert "settings" in kinds(found)
    assert "--tensor-parallel-size 2" in str(found[0].title.params["flags"])
    found = ways("Qwen/Qwen2.5-7B-Instruct", [A10], arguments={"dtype": "float32"})  # 28 GiB instead of 14
    assert kinds(found)[0] == "dtype"
    assert "--dtype auto" in found[0].commands[-1]


def test_the_first_release_that_knows_the_architecture() -> None:
    found = ways("Qwen/Qwen3-VL-2B-Instruct", [A10], "0.8.5")
    assert kinds(found) == ["release"]
    assert found[0].title.params["vllm"] == "0.11.0"
    assert "--vllm 0.11.0" in found[0].commands[-1]


def test_a_format_that_the_release_does_not_take_here() -> None:
    found = ways("Qwen/Qwen3-235B-A22B-FP8", [T4] * 8, "0.10.2")  # FP8 from 8.0 on, and 220 GiB into 120
    assert [way.kind for way in found] == ["hardware"]
    told = found[0].title.params
    assert int(str(told["gib"])) * int(str(told["count"])) > 220
    assert found[0].proof is not None


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_way_can_be_said(lang: Lang) -> None:
    catalogue = Catalogue(lang)
    cases = (
        *ways(LARGE, [A10]),
        *ways(LARGE, [A10, A10], environment={"CUDA_VISIBLE_DEVICES": "0"}),
        *ways(LARGE, [A10, A10], arguments={"tensor_parallel_size": 1}),
        *ways("Qwen/Qwen2.5-7B-Instruct", [A10], arguments={"dtype": "float32"}),
        *ways("Qwen/Qwen3.6-27B", [L20], "0.33.0"),
        *ways("Qwen/Qwen3-VL-2B-Instruct", [A10], "0.8.5"),
    )
    told = {text.key for way in cases for text in (way.title, *way.why) if "{" not in catalogue.text(text)}
    sentences = json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    wanted = {key for key in sentences if key.startswith(("way.model.", "way.why.model-"))}
    assert wanted - told <= {"way.model.card", "way.model.cards"}
