"""How each figure is arrived at: every term of an account has a formula, its parts add up, and what is read says where."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from envcheck.matrix.load import Matrix
from envcheck.model.budget import SizeResult
from envcheck.model.host import Gpu, HostReport
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.request import Request
from envcheck.sizing.request import Sizer

MODELS = ("Qwen/Qwen3-8B", "deepseek-ai/DeepSeek-V3", "openai/gpt-oss-120b", "Qwen/Qwen2.5-VL-7B-Instruct", "google/gemma-3-27b-it")


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(Path(__file__).parents[2] / "matrices")


def explained(matrix: Matrix, model: str, release: str, *, explain: bool = True, **arguments: int) -> SizeResult:
    card = matrix.model(model)
    assert card is not None
    sizer = Sizer(matrix.memory, matrix.gpu, matrix.capability_trait("bfloat16-min-capability"))
    host = HostReport(gpus=[Gpu(index=place, name="NVIDIA H20", compute_capability="9.0", memory_mib=97871) for place in range(8)])
    request = Request(vllm=release, model=model, serve_args={"tensor_parallel_size": 8, **arguments})
    spec = ModelSpec(model, card.config, ModelSource("catalogue", model))
    return sizer.size_request(host, request, spec, Version(release), None, explain=explain)


@pytest.mark.parametrize("release", ["0.8.5", "0.11.0", "0.19.1", "0.33.0"])
@pytest.mark.parametrize("model", MODELS)
def test_every_term_of_the_account_has_its_formula(matrix: Matrix, model: str, release: str) -> None:
    found = explained(matrix, model, release)
    assert found.account
    assert {line.term for line in found.account} <= found.derivations.keys()
    assert "bytes_per_token" in found.derivations
    assert all(made.sources for term, made in found.derivations.items() if term in ("kv_cache", "sampler", "cuda_graphs"))


@pytest.mark.parametrize("model", MODELS)
def test_the_parts_of_the_weights_are_the_weights(matrix: Matrix, model: str) -> None:
    found = explained(matrix, model, "0.19.1")
    parts = found.derivations["weights"].parts
    assert sum(parts.values()) == pytest.approx(found.per_gpu_gib.weights, abs=0.001 * len(parts))


def test_eight_billion_parameters_by_hand(matrix: Matrix) -> None:
    # 36 layers, 32 heads and 8 key-value heads of 128: of eight ranks each has 4 and 1; keys and values of 2 bytes
    found = explained(matrix, "Qwen/Qwen3-8B", "0.19.1")
    assert found.derivations["bytes_per_token"].inputs["sum"] == 36 * 1 * (128 + 128) * 2
    # three matrices of 4096 x 12288 / 8 in each layer
    assert found.derivations["weights"].parts["feed_forward"] == pytest.approx(36 * 3 * 4096 * 12288 / 8 * 2 / 2**30, rel=0.01)


def test_nothing_is_derived_unasked(matrix: Matrix) -> None:
    assert explained(matrix, "Qwen/Qwen3-8B", "0.19.1", explain=False).derivations == {}
