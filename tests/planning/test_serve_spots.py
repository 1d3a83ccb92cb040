"""What is to be known of serving so on a release: the default of VLLM_USE_DEEP_GEMM as the releases' envs.py has it, and its GPUs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.request import Request
from envcheck.planning.serving.engine import engine_notes
from envcheck.render.catalogue import Catalogue, Lang
from envcheck.rules.check import judge

MATRIX = Matrix(Path(__file__).parents[2] / "matrices")
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}


def spots(vllm: str, capability: str, *, fp8: bool = True, lang: Lang = "en") -> list[str]:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **({"quantization_config": FP8} if fp8 else {})}
    gpus = [{"name": "GPU", "compute_capability": capability, "memory_mib": 97871}]
    host = msgspec.convert({"gpus": gpus, "driver": {"version": "580.95.05"}}, HostReport)
    release = MATRIX.release(vllm)
    assert release is not None
    situation = judge(host, MATRIX, Request(model="a/b", model_config=config)).situation
    found = engine_notes(situation, MATRIX, release, ModelSpec("a/b", config, ModelSource("catalogue", "-")), {})
    return [Catalogue(lang).text(note) for note in found if note.key == "serve.note.spot-deepgemm"]


@pytest.mark.parametrize(
    ("vllm", "capability", "said"),
    [("0.10.2", "9.0", False), ("0.11.2", "9.0", True), ("0.33.0", "10.0", True), ("0.33.0", "8.9", False), ("0.33.0", "8.0", False)],
)
def test_deepgemm_is_told_of_where_it_is_on_by_itself(vllm: str, capability: str, said: bool) -> None:
    assert bool(spots(vllm, capability)) is said
    assert spots(vllm, capability, fp8=False) == []


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_ways_round_it_are_named(lang: Lang) -> None:
    sentence = spots("0.33.0", "9.0", lang=lang)[0]
    assert "VLLM_DEEP_GEMM_WARMUP=skip" in sentence
    assert "VLLM_USE_DEEP_GEMM=0" in sentence
