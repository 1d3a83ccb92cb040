"""From a host document and a request to the question: what the host says first, then what the card's name tells."""

from __future__ import annotations

import msgspec
import pytest
from packaging.version import Version

from envcheck.model.host import HostReport
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.request import Request
from envcheck.sizing.request import Sizer


class A10(msgspec.Struct, frozen=True):
    """A catalogue entry."""

    compute_capability: str = "8.6"
    memory_mib: int | None = 23028
    unified_memory: bool = False
    kind: str = "data-center"
    nvswitch_board: bool = False


@pytest.fixture(scope="module")
def sizer(facts):
    return Sizer(facts, lambda name: A10() if "A10" in name else None)


def host(**fields):
    return msgspec.convert(fields, HostReport)


def test_a_card_known_by_its_name_alone(sizer, config):
    request = Request(model="Qwen/Qwen2.5-7B-Instruct", model_config=config("qwen2.5-7b"))
    answer = sizer.size_request(host(gpus=[{"name": "NVIDIA A10"}]), request, None, Version("0.19.1"), "v1")
    assert answer.per_gpu_gib.total == pytest.approx(22.06, abs=0.01)
    assert answer.verdict == "fits"
    assert answer.suggested.serve_args["max_model_len"] == 32768


def test_what_the_host_measures_counts_more(sizer):
    card = sizer.card(host(gpus=[{"name": "NVIDIA A10", "memory_mib": 24000, "cuda_memory_mib": 20000, "compute_capability": "9.0"}]))
    assert card.total_bytes == 20000 * 2**20
    assert card.nvml_bytes == 24000 * 2**20
    assert card.capability == (9, 0)


@pytest.mark.parametrize(
    ("name", "capability", "kind", "board", "linked"),
    [
        ("NVIDIA H100 80GB HBM3", "9.0", "data-center", True, True),
        ("NVIDIA H100 80GB", "9.0", "data-center", False, True),  # the name does not say which board
        ("NVIDIA H100 PCIe", "9.0", "data-center", False, False),
        ("NVIDIA A10", "8.6", "data-center", False, False),
        ("NVIDIA GeForce RTX 3090", "8.6", "consumer", False, False),  # a bridge is an option
    ],
)
def test_cards_that_are_linked(facts, name, capability, kind, board, linked):
    sizer = Sizer(facts, lambda _: A10(capability, None, False, kind, board))
    assert sizer.card(host(gpus=[{"name": name}])).nvlink is linked
    assert sizer.card(host(gpus=[{"name": name, "nvlink": not linked}])).nvlink is not linked


def test_the_smallest_of_the_cards_used_decides(sizer):
    card = sizer.card(host(gpus=[{"name": "big", "memory_mib": 80000}, {"name": "small", "memory_mib": 24000}, {"error": "GpuIsLost"}]), 2)
    assert (card.name, card.count) == ("small", 2)


@pytest.mark.parametrize("gpus", [None, [], [{}], [{"error": "GpuIsLost"}], [{"memory_mib": -1}], [{"memory_mib": 0}]])
def test_no_card_to_speak_of(sizer, config, gpus):
    answer = sizer.size_request(host(gpus=gpus), Request(model_config=config("qwen2.5-7b")), None, None, None)
    assert answer.verdict == "unknown"
    assert answer.kv.bytes_per_token == 57344


def test_a_model_found_elsewhere_wins(sizer, config):
    spec = ModelSpec("local", config("llama-3.1-8b"), ModelSource("folder", "/models/x"), 16_060_556_376)
    answer = sizer.size_request(host(gpus=[{"name": "NVIDIA A10"}]), Request(), spec, Version("0.19.1"), None)
    assert answer.per_gpu_gib.weights == pytest.approx(14.99, abs=0.01)


def test_a_checkpoint_that_weighs_otherwise_is_believed(sizer, config):
    spec = ModelSpec("local", config("llama-3.1-8b"), ModelSource("folder", "/models/x"), 8_030_000_000)
    answer = sizer.size_request(host(gpus=[{"name": "NVIDIA A10"}]), Request(), spec, Version("0.19.1"), None)
    assert answer.per_gpu_gib.weights == pytest.approx(7.5, abs=0.05)


@pytest.mark.parametrize("engine", ["V0", "v0", " v0 "])
def test_the_engine_in_any_spelling(sizer, config, engine):
    request = Request(model_config=config("qwen2.5-7b"), engine=engine)
    assert sizer.size_request(host(), request, None, Version("0.8.5"), None).engine == "v0"


@pytest.mark.parametrize("weights", [-1.0, 0.0, 1e30])
def test_absurd_weights_count_as_not_given(sizer, weights):
    assert sizer.inputs(host(), Request(weights_gib=weights), None, None, None).weights_gib is None


def test_a_container_s_limit_is_the_host_s_memory(sizer):
    memory = {"ram_mib": 256000, "cgroup_limit_mib": 16384}
    assert sizer.inputs(host(memory=memory), Request(), None, None, None).ram_bytes == 16384 * 2**20


def test_the_answer_is_json(sizer, config):
    request = Request(model_config=config("gpt-oss-20b"))
    answer = sizer.size_request(host(gpus=[{"name": "NVIDIA A10"}]), request, None, Version("0.19.1"), None)
    plain = msgspec.json.decode(msgspec.json.encode(answer))
    assert set(plain["per_gpu_gib"]) == {
        "total", "budget", "weights", "activation", "sampler", "encoder", "non_torch", "cuda_graphs", "kv_cache",
    }  # fmt: skip
    assert set(plain) >= {"verdict", "engine", "per_gpu_gib", "kv", "failure", "suggested", "confidence"}


def test_free_memory_where_cpu_and_gpu_share_it(facts):
    sizer = Sizer(facts, lambda name: None)
    gpu = {"name": "NVIDIA GB10", "memory_mib": 124610, "unified_memory": True}
    memory = {"ram_mib": 124610, "ram_available_mib": 103362}
    shared, apart = (
        sizer.card(msgspec.convert({"gpus": [{**gpu, "unified_memory": told}], "memory": memory}, HostReport)) for told in (True, False)
    )
    assert shared.free_bytes == 103362 * 2**20
    assert apart.free_bytes is None


@pytest.mark.parametrize(
    ("packages", "told", "found"),
    [
        ({}, None, True),
        ({"torch": "2.9.1"}, None, True),
        ({"vllm": "0.19.1"}, None, None),
        ({}, False, False),
        ({"vllm": "0.19.1"}, True, True),
    ],
)
def test_a_host_that_never_had_vllm_starts_cold(facts, packages, told, found):
    host = msgspec.convert({"gpus": [{"name": "NVIDIA A10"}], "packages": packages}, HostReport)
    request = Request(model_config={}, first_start=told)
    assert Sizer(facts, lambda name: None).inputs(host, request, None, Version("0.19.1"), None).first_start is found
    unsaid = msgspec.convert({"gpus": [{"name": "NVIDIA A10"}]}, HostReport)
    assert Sizer(facts, lambda name: None).inputs(unsaid, Request(), None, None, None).first_start is None
