"""How a model is dealt out to GPUs: sizes that divide it, stages where ranks are not enough, and what is said of the GPUs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envcheck.cli.memory import known_spec, size_as_planned
from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.planning.serving.parallel import layout_of, parallel_notes
from envcheck.render.catalogue import Catalogue, Lang
from envcheck.rules.check import judge
from envcheck.sizing.ranks import stages, tensor_ranks
from envcheck.sizing.spec import Dimensions

TOP = Path(__file__).parents[2]
MATRIX = Matrix(TOP / "matrices")
DENSE = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "vocab_size": 152064,
    "max_position_embeddings": 8192,
}
GPTQ = {
    **DENSE,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "hidden_size": 8192,
    "intermediate_size": 29568,
    "quantization_config": {"quant_method": "gptq", "group_size": 128, "bits": 4},
}
EXPERTS = {
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "hidden_size": 4096,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "intermediate_size": 12288,
    "moe_intermediate_size": 1536,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 94,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}


def host(count: int, memory: int, **gpu: Any) -> HostReport:
    gpus = [{"index": place, "name": "NVIDIA L20", "compute_capability": "8.9", "memory_mib": memory, **gpu} for place in range(count)]
    return msgspec.convert({"os": {"arch": "x86_64", "glibc": "2.35"}, "driver": {"version": "580.95.05"}, "gpus": gpus}, HostReport)


def suggested(config: dict[str, Any], count: int, memory: int = 46068, **args: Any) -> dict[str, Any]:
    request = Request(vllm="0.19.1", model_config=config, serve_args=args)
    release, spec = MATRIX.release("0.19.1"), known_spec(request, MATRIX)
    assert release is not None
    return size_as_planned(host(count, memory), MATRIX, request, spec, release.version, "v1").suggested.serve_args


@pytest.mark.parametrize(
    ("config", "most", "found"),
    [
        (DENSE, 8, [(1, False), (2, False), (4, False)]),  # 28 heads are not to be divided by 8
        (GPTQ, 8, [(1, False)]),  # 29,568 = 231 groups of 128, an odd number
        (EXPERTS, 8, [(1, False), (2, False), (4, False), (8, True)]),  # 1,536 / 8 = 192, no multiple of 128
        ({**EXPERTS, "quantization_config": None}, 8, [(1, False), (2, False), (4, False), (8, False)]),
        ({}, 4, [(1, False), (2, False), (4, False)]),  # nothing known forbids nothing
    ],
)
def test_ranks_divide_the_model(config: dict[str, Any], most: int, found: list[tuple[int, bool]]) -> None:
    assert list(tensor_ranks(Dimensions.from_config(config), most)) == found


def test_stages_take_the_fewest_gpus_first() -> None:
    assert list(stages(Dimensions.from_config(DENSE), 6))[:4] == [(1, 2, False), (1, 3, False), (2, 2, False), (1, 4, False)]
    assert all(ranks * count <= 6 for ranks, count, _ in stages(Dimensions.from_config(DENSE), 6))
    assert list(stages(Dimensions.from_config(DENSE), 1)) == []


def test_the_fewest_ranks_that_fit_are_suggested() -> None:
    assert "tensor_parallel_size" not in suggested(DENSE, 4)
    assert suggested(DENSE, 4, memory=15360)["tensor_parallel_size"] == 2  # 14 GiB of weights


def test_experts_are_dealt_out_whole_where_their_blocks_would_be_cut() -> None:
    found = suggested(EXPERTS, 8)  # some 220 GiB of weights on 8 cards of 45
    assert (found["tensor_parallel_size"], found["enable_expert_parallel"]) == (8, True)
    assert "enable_expert_parallel" not in suggested(EXPERTS, 4, memory=97871)


def test_stages_help_where_ranks_cannot() -> None:
    """Three cards take no two ranks' worth of weights; three stages do."""
    found = suggested({**GPTQ, "num_hidden_layers": 80, "max_position_embeddings": 4096}, 3, memory=24564)
    assert found["pipeline_parallel_size"] in (2, 3)
    assert "tensor_parallel_size" not in found
    assert "pipeline_parallel_size" not in suggested(DENSE, 4, memory=15360)


def test_what_the_user_chose_is_kept() -> None:
    assert suggested(DENSE, 4, tensor_parallel_size=4)["tensor_parallel_size"] == 4
    assert layout_of({"tensor_parallel_size": 2, "pipeline_parallel_size": 3}).gpus == 6
    assert layout_of({"tensor_parallel_size": "many"}).gpus == 1


def notes(count: int, arguments: dict[str, Any], vllm: str = "0.33.0", *, asked: bool = False, **gpu: Any) -> dict[str, str]:
    release = MATRIX.release(vllm)
    assert release is not None
    situation = judge(host(count, 46068, **gpu), MATRIX, Request()).situation
    found = parallel_notes(situation, MATRIX, release, arguments, asked=asked)
    return {note.key.removeprefix("serve.note."): Catalogue("en").text(note) for note in found}


def test_cards_without_nvlink_are_told_of_stages() -> None:
    assert "--pipeline-parallel-size 4" in notes(4, {"tensor_parallel_size": 4}, nvlink=False)["pcie"]
    assert notes(4, {"tensor_parallel_size": 4}, nvlink=True) == {}
    assert notes(4, {"tensor_parallel_size": 4}) == {}  # not known is not missing


def test_free_cards_can_hold_copies_where_the_release_has_the_argument() -> None:
    assert "--data-parallel-size 4" in notes(4, {})["copies"]
    assert "0.8.2" in notes(4, {}, "0.8.2")["copies-apart"]  # the argument came with 0.8.3
    assert "2 of 6" in notes(6, {"tensor_parallel_size": 4})["free-gpus"]
    assert notes(4, {}, asked=True) == {}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_sentence_is_there(lang: Lang) -> None:
    told = json.loads((TOP / "envcheck" / "render" / "texts" / f"{lang}.json").read_text(encoding="utf-8"))
    assert {
        "serve.note.pcie",
        "serve.note.copies",
        "serve.note.copies-apart",
        "serve.note.free-gpus",
        "size.suggest.whole-experts",
        "size.suggest.pipeline-parallel",
    } <= set(told)
