"""`envcheck size` says what a server takes of the host's memory, and what its ranks need of /dev/shm."""

from __future__ import annotations

import json

import msgspec
import pytest

from envcheck.render.jsonsize import SizeCommandOut

TEXT = "Qwen/Qwen2.5-7B-Instruct"
IMAGES = "Qwen/Qwen2.5-VL-7B-Instruct"


@pytest.fixture
def answer(envcheck):
    """`answer(*words)`: the JSON by its published type."""
    return lambda *words: msgspec.json.decode(envcheck("size", *words, "--offline", "--json")[1], type=SizeCommandOut)


def test_a_plain_server_takes_nothing_that_is_to_be_said(answer):
    assert answer(TEXT, "--gpu", "NVIDIA L20", "--vllm", "0.19.1").host_memory is None


@pytest.mark.parametrize(
    ("model", "words", "parts"),
    [
        (TEXT, ("--vllm", "0.6.6"), {"swap": 4.0}),  # V0: 4 GiB a rank unless asked otherwise
        (TEXT, ("--vllm", "0.6.6", "--swap-space", "16"), {"swap": 16.0}),
        (TEXT, ("--vllm", "0.10.2", "--swap-space", "16"), {}),  # V1 takes the argument and uses none of it
        (TEXT, ("--vllm", "0.19.1", "--cpu-offload-gb", "10"), {"weights": 10.0}),
        # One cache of 4 GiB for the API server, one for the engine.
        (IMAGES, ("--vllm", "0.19.1"), {"processor-cache": 8.0}),
        (IMAGES, ("--vllm", "0.19.1", "--mm-processor-cache-gb", "0"), {}),
        (IMAGES, ("--vllm", "0.19.1", "--language-model-only"), {}),
        (IMAGES, ("--vllm", "0.10.0"), {}),  # the argument came with 0.10.1
    ],
)
def test_what_is_taken_of_the_host(answer, model, words, parts):
    found = answer(model, "--gpu", "NVIDIA L20", *words).host_memory
    assert (found.parts if found else {}) == parts
    assert found is None or found.total_gib == sum(parts.values())


def test_ranks_want_shared_memory_unless_the_host_has_it(envcheck, answer, tmp_path):
    cards = [{"index": place, "name": "NVIDIA L20", "memory_mib": 46068} for place in range(2)]
    words = ("--vllm", "0.19.1", "--tensor-parallel-size", "2", "--offline", "--lang", "en")
    for shm, said in ((64, True), (16384, False)):
        path = tmp_path / f"{shm}.json"
        path.write_text(json.dumps({"gpus": cards, "memory": {"ram_mib": 131072, "shm_mib": shm}}), encoding="utf-8")
        assert ("--shm-size" in envcheck("size", TEXT, "--host", str(path), *words)[1]) is said
    found = answer(TEXT, "--gpu", "NVIDIA L20 x2", *words[:4]).host_memory
    assert found.shm_wanted_mib
    assert found.shm_mib is None
