"""What changes between pairs of releases; expectations written by hand from vLLM's sources, not from the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest

from envcheck.cli.cards import host_of_cards
from envcheck.cli.memory import known_spec, size, sizer_of
from envcheck.matrix.load import load
from envcheck.matrix.release import Release
from envcheck.model.budget import SizeResult
from envcheck.model.request import Request
from envcheck.planning.upgrade import Upgrade, upgrade
from envcheck.planning.upgrade_memory import memory_change
from envcheck.sizing.inputs import Card


def _upgrade(old: str, new: str, gpu: str = "NVIDIA A10", args: dict[str, Any] | None = None) -> Upgrade:
    matrix = load()
    before, after = matrix.release(old), matrix.release(new)
    assert before is not None
    assert after is not None
    return upgrade(matrix, before, after, sizer_of(matrix).card(host_of_cards(gpu, matrix)), args or {})


class Pair(NamedTuple):
    """What was read in the sources of both releases; the GPU decides what defaults are."""

    old: str
    new: str
    gpu: str
    engines: tuple[str, str]
    gone: set[str]
    added: set[str]
    defaults: dict[str, tuple[str | None, str | None]]
    stack: dict[str, tuple[str, str]]
    models: set[str] = set()
    models_gone: set[str] = set()


A10, H100, A100, T4 = "NVIDIA A10", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "Tesla T4"
PAIRS = [
    Pair(
        *("0.6.6", "0.8.5", A10, ("V0", "V1")),
        {"--speculative-model", "--num-speculative-tokens", "--worker-use-ray"},
        {"--speculative-config", "--enable-reasoning", "--data-parallel-size", "--enable-expert-parallel", "--model-impl"},
        {"chunked_prefill": ("False", "True"), "prefix_caching": ("False", "True"), "images_per_prompt": ("1", "999")},
        {"torch": ("2.5.1", "2.6.0")},
        {"Qwen2_5_VLForConditionalGeneration", "Gemma3ForConditionalGeneration", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM"},
    ),
    Pair(
        *("0.8.5", "0.11.0", A100, ("V1", "V1")),
        {"--max-seq-len-to-capture", "--device", "--num-scheduler-steps", "--preemption-mode"},
        {"--async-scheduling", "--kv-cache-memory-bytes", "--structured-outputs-config", "--mm-processor-cache-gb", "--runner"},
        {
            "max_num_seqs": ("1024", "256"),  # the A100 left the upper tier in 0.9.0
            "max_num_batched_tokens": ("8192", "2048"),
            "cudagraph_mode": ("PIECEWISE", "FULL_AND_PIECEWISE"),
        },
        {"torch": ("2.6.0", "2.8.0")},
        {"Qwen3VLForConditionalGeneration", "DeepseekV32ForCausalLM", "GptOssForCausalLM", "Qwen3NextForCausalLM"},
        {"MllamaForConditionalGeneration"},
    ),
    Pair(
        *("0.10.2", "0.20.0", A10, ("V1", "V1")),
        {"--guided-decoding-backend", "--swap-space", "--task", "--disable-log-requests", "--preemption-mode"},
        {"--attention-backend", "--performance-mode", "--language-model-only", "--moe-backend", "--kv-offloading-size"},
        {"gpu_memory_utilization": ("0.9", "0.92"), "async_scheduling": ("False", "True")},
        {"torch": ("2.8.0", "2.11.0"), "cuda-major": ("12", "13"), "driver-floor": ("525.60.13", "580")},
        {"Qwen3VLForConditionalGeneration", "DeepseekV4ForCausalLM", "GlmMoeDsaForCausalLM"},
        {"MllamaForConditionalGeneration"},
    ),
    Pair(
        *("0.19.1", "0.33.0", A10, ("V1", "V1")),
        {"--calculate-kv-scales"},
        {"--log-level", "--linear-backend"},
        {"gpu_memory_utilization": ("0.9", "0.92"), "model_runner": ("V1", "V2")},
        {"torch": ("2.10.0", "2.14.0"), "cuda-major": ("12", "13")},
        {"DeepseekV4ForCausalLM"},
        {"QWenLMHeadModel", "BaichuanForCausalLM", "BambaForCausalLM", "AquilaForCausalLM"},
    ),
    Pair(
        *("0.7.3", "0.8.4", H100, ("V0", "V1")),
        {"--speculative-model"},
        {"--data-parallel-size", "--enable-expert-parallel"},
        {"max_num_seqs": ("256", "1024")},
        {"torch": ("2.5.1", "2.6.0")},
        {"Llama4ForConditionalGeneration"},
    ),
    Pair(
        *("0.9.2", "0.10.2", A10, ("V1", "V1")),
        {"--device", "--use-v2-block-manager", "--enable-reasoning"},
        {"--kv-cache-memory-bytes", "--decode-context-parallel-size", "--mm-encoder-tp-mode", "--skip-mm-profiling"},
        {"cudagraph_sizes": ("67", "67")},
        {"torch": ("2.7.0", "2.8.0")},
        {"GptOssForCausalLM", "Qwen3NextForCausalLM"},
    ),
    Pair(
        *("0.9.2", "0.11.0", T4, ("V0", "V1")),
        {"--use-v2-block-manager", "--max-seq-len-to-capture"},
        {"--structured-outputs-config", "--mm-processor-cache-type"},
        {"chunked_prefill": ("False", "True"), "prefix_caching": ("False", "True")},
        {"torch": ("2.7.0", "2.8.0")},
    ),
    Pair(
        *("0.10.2", "0.11.0", A10, ("V1", "V1")),
        {"--preemption-mode", "--max-seq-len-to-capture"},  # --guided-decoding-backend: the real parser of 0.11.2 still takes it
        {"--mm-processor-cache-type", "--structured-outputs-config"},
        {"cudagraph_mode": ("PIECEWISE", "FULL_AND_PIECEWISE")},
        {},
        {"Qwen3VLForConditionalGeneration"},
        {"MllamaForConditionalGeneration"},
    ),
    Pair(
        *("0.12.0", "0.14.1", A10, ("V1", "V1")),
        {"--task", "--disable-mm-preprocessor-cache", "--cuda-graph-sizes"},
        {"--attention-config", "--attention-backend"},
        {"async_scheduling": ("False", "True")},
        {"torch": ("2.9.0", "2.9.1")},
    ),
    Pair(
        *("0.17.1", "0.18.1", A10, ("V1", "V1")),
        {"--swap-space"},
        set(),
        {"gpu_memory_utilization": ("0.9", "0.9")},
        {"torch": ("2.10.0", "2.10.0")},
    ),
    Pair(
        *("0.16.0", "0.17.1", A10, ("V1", "V1")),
        {"--disable-log-requests"},
        {"--moe-backend", "--performance-mode", "--offload-backend", "--language-model-only"},
        {},
        {"torch": ("2.9.1", "2.10.0")},
        {"Qwen3_5ForConditionalGeneration"},
    ),
    Pair(
        *("0.27.0", "0.33.0", H100, ("V1", "V1")),
        {"--calculate-kv-scales"},
        {"--log-level"},
        {"gpu_memory_utilization": ("0.92", "0.92"), "model_runner": ("by model", "V2")},
        {"torch": ("2.13.0", "2.14.0")},
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.old}-{pair.new}")
def test_pair(pair: Pair) -> None:
    found = _upgrade(pair.old, pair.new, pair.gpu)
    assert pair.gone - {one.flag for one in found.lost} == set()
    assert pair.added - set(found.added) == set()
    assert not pair.added & {one.flag for one in found.lost}
    changed = {change.what: (change.before, change.after) for change in (*found.defaults, *found.stack)}
    wanted: dict[str, tuple[str | None, str | None]] = {**pair.defaults, **pair.stack, "engine": pair.engines}
    for what, (before, after) in wanted.items():
        assert changed.get(what) == (None if before == after else (before, after)), what
    assert pair.models - set(found.models_added) == set()
    assert pair.models_gone - set(found.models_gone) == set()


def test_v0_to_v1() -> None:
    assert _upgrade("0.6.6", "0.8.5").migration.key == "upgrade.engine-moves"
    assert _upgrade("0.8.5", "0.11.0").migration.key == "upgrade.engine-stays"
    assert _upgrade("0.9.2", "0.11.0", "Tesla T4").migration.key == "upgrade.engine-moves-for-good"


def test_utilization_rises_at_020() -> None:
    changed = {change.what: (change.before, change.after) for change in _upgrade("0.10.2", "0.20.0").defaults}
    assert changed["gpu_memory_utilization"] == ("0.9", "0.92")
    assert changed["async_scheduling"] == ("False", "True")


def test_command_is_rewritten_and_says_what_is_left_out() -> None:
    given = {"limit_mm_per_prompt": "image=2", "swap_space": 0, "max_model_len": 8192, "enable_prefix_caching": False}
    found = _upgrade("0.8.4", "0.20.0", args=given)
    assert found.command == ("--limit-mm-per-prompt", '{"image": 2}', "--max-model-len", "8192", "--no-enable-prefix-caching")
    assert [note.params["flag"] for note in found.notes] == ["--swap-space"]


def test_nothing_given_is_lost_without_a_word() -> None:
    given = {"use_deepgemm": False, "speculative_model": "a/b", "num_speculative_tokens": 3, "num_scheduler_steps": 8, "log_level": "DEBUG"}
    found = _upgrade("0.8.1", "0.20.0", args=given)
    assert sorted(found.environment) == ["VLLM_LOGGING_LEVEL=DEBUG", "VLLM_USE_DEEP_GEMM=0"]
    assert found.command == ("--speculative-config", '{"model": "a/b", "num_speculative_tokens": 3}')
    named = {str(note.params["flag"]) for note in found.notes}
    assert named >= {"--use-deepgemm", "--speculative-model", "--num-speculative-tokens", "--num-scheduler-steps", "--log-level"}


def _steps(found: Upgrade) -> list[str]:
    return [step.key.removeprefix("upgrade.step-") for step in found.steps]


def test_the_way_from_v0_to_v1() -> None:
    moved = _upgrade("0.6.6", "0.8.5", args={"swap_space": 8})
    assert _steps(moved) == ["unread", "chunked-prefill", "prefix-caching", "memory-back"]
    large = _upgrade("0.7.3", "0.8.4")  # 1024 sequences on every GPU up to 0.8.4
    assert "max-num-seqs" in _steps(large)
    assert large.steps[_steps(large).index("max-num-seqs")].params == {"before": 256, "after": 1024}
    assert "max-num-seqs" not in _steps(_upgrade("0.7.3", "0.8.4", args={"max_num_seqs": 64}))
    for_good = _steps(_upgrade("0.7.3", "0.11.0"))
    assert for_good[0] == "switch-zero-fails"
    assert {"free-memory", "memory"} <= set(for_good)


def test_v1_to_v1_only_what_changes() -> None:
    assert _steps(_upgrade("0.8.5", "0.9.2")) == ["free-memory"]
    assert _steps(_upgrade("0.8.5", "0.11.0"))[0] == "switch-zero-fails"
    assert _steps(_upgrade("0.10.2", "0.12.0")) == ["switch-ignored"]
    assert _steps(_upgrade("0.17.1", "0.18.1")) == []


@pytest.mark.parametrize(
    ("new", "gpu", "args", "kept"),
    [
        ("0.8.5", A10, {"num_scheduler_steps": 8}, True),
        ("0.8.5", A10, {"num_scheduler_steps": 1}, False),
        ("0.8.5", A10, {"kv_cache_dtype": "fp8"}, True),
        ("0.8.5", H100, {"kv_cache_dtype": "fp8"}, False),  # FlashAttention 3 on 9.0
        ("0.8.1", H100, {"kv_cache_dtype": "fp8"}, True),
        ("0.8.2", A10, {"cpu_offload_gb": 4}, True),
        ("0.8.3", A10, {"cpu_offload_gb": 4}, False),
        ("0.8.5", A10, {"task": "embed"}, True),
        ("0.9.2", A10, {"task": "embed"}, False),
        ("0.10.2", A10, {"preemption_mode": "swap"}, True),
        ("0.11.0", A10, {"preemption_mode": "swap"}, False),
        ("0.10.2", A10, {"otlp_traces_endpoint": "http://127.0.0.1:4317"}, False),
    ],
)
def test_arguments_for_which_a_release_takes_v0(new: str, gpu: str, args: dict[str, Any], kept: bool) -> None:
    found = _upgrade("0.7.3", new, gpu, args)
    assert ("kept-on-v0" in _steps(found)) == kept
    assert (found.migration.key == "upgrade.engine-stays") == kept


def test_a_card_of_unknown_memory_is_said_to_be_one() -> None:
    found = _upgrade("0.8.5", "0.11.0", "NVIDIA A100")  # of 40 or of 80 GiB
    assert found.steps[_steps(found).index("unknown")].params["settings"] == "max_num_seqs, max_num_batched_tokens"
    assert "unknown" not in _steps(_upgrade("0.8.5", "0.11.0", A100))


def test_a_card_below_80() -> None:
    assert _steps(_upgrade("0.6.6", "0.9.2", "Tesla T4"))[0] == "gpu-v0"
    assert _steps(_upgrade("0.10.2", "0.20.0", "Tesla V100-PCIE-16GB"))[0] == "gpu-refused"


def test_architectures() -> None:
    found = _upgrade("0.10.2", "0.11.0")  # Mllama's last release was 0.10.2; Qwen3-VL's first 0.11.0
    assert "MllamaForConditionalGeneration" in found.models_gone
    assert "Qwen3VLForConditionalGeneration" in found.models_added
    matrix = load()

    def model(new: str, name: str) -> tuple[str, Any]:
        old, target = matrix.release("0.8.5"), matrix.release(new)
        assert old is not None
        assert target is not None
        text = upgrade(matrix, old, target, sizer_of(matrix).card(host_of_cards("NVIDIA A10", matrix)), {}, (name,)).model
        assert text is not None
        return text.key, text.params

    assert model("0.11.0", "MllamaForConditionalGeneration")[1]["last"] == "0.10.2"
    assert model("0.10.2", "Qwen3VLForConditionalGeneration")[1]["first"] == "0.11.0"
    assert model("0.11.0", "Qwen3ForCausalLM")[0] == "upgrade.model-known"
    assert model("0.11.0", "NoSuchModel")[0] == "upgrade.model-unknown"


def test_quantization_that_left() -> None:
    gone = {"upgrade.step-quantization-gone"}
    for method, last in (("bitsandbytes", "0.27.1"), ("gguf", "0.23.0")):
        steps = _upgrade("0.19.1", "0.33.0", args={"quantization": method}).steps
        assert [step.params["last"] for step in steps if step.key in gone] == [last]
    assert not gone & {step.key for step in _upgrade("0.19.1", "0.33.0", args={"quantization": "awq"}).steps}
    assert not gone & {step.key for step in _upgrade("0.19.1", "0.23.0", args={"quantization": "gguf"}).steps}


def test_values_that_end() -> None:
    values = {one.flag: one.values for one in _upgrade("0.8.5", "0.20.0").values}
    assert "--kv-cache-dtype" not in values  # every choice of 0.8.5 is one of 0.20.0


def test_images_are_those_of_the_releases() -> None:
    changed = {change.what: (change.before, change.after) for change in _upgrade("0.9.2", "0.33.0").stack}
    before, after = changed["images"]
    assert before is not None
    assert after is not None
    assert before.startswith("vllm/vllm-openai:v0.9.2")
    assert after.startswith("vllm/vllm-openai:v0.33.0")


def test_memory_of_changed_defaults() -> None:
    matrix = load()
    host = host_of_cards("NVIDIA A10", matrix)
    old, new = matrix.release("0.19.1"), matrix.release("0.20.0")
    request = Request(model="Qwen/Qwen2.5-7B-Instruct")
    spec = known_spec(request, matrix)
    assert old is not None
    assert new is not None

    def sized(release: Release, arguments: Mapping[str, Any]) -> SizeResult:
        asked = Request(model=request.model, serve_args={"max_model_len": 8192, **arguments})
        return size(host, matrix, asked, spec, release.version, "v1")

    change = memory_change(_upgrade("0.19.1", "0.20.0"), sized, old, new, {}, {})
    effect = next(one for one in change.effects if one.setting == "gpu_memory_utilization")
    terms = {term.name: term for term in change.terms}
    assert terms["total"].after is not None
    assert effect.kv_gib == pytest.approx(0.02 * terms["total"].after, abs=0.01)  # two hundredths of the card
    assert effect.keep == "--gpu-memory-utilization 0.9"
    assert terms["weights"].before == terms["weights"].after


def test_the_driver_is_named_as_nvidia_does() -> None:
    changes = {change.what: (change.before, change.after) for change in _upgrade("0.10.2", "0.20.0").stack}
    assert changes["driver-floor"] == ("525.60.13", "580")


def test_between_a_release_and_itself_nothing_is_to_do_even_on_an_unknown_gpu() -> None:
    matrix = load()
    release = matrix.release("0.19.1")
    assert release is not None
    found = upgrade(matrix, release, release, Card(), {"max_num_seqs": 8})
    assert (found.steps, found.defaults, found.lost, found.stack) == ((), (), (), ())
    assert found.command == ("--max-num-seqs", "8")


def test_a_default_that_could_not_be_told_is_not_one_that_is_missing() -> None:
    """Without a GPU the tiers of 0.8.5 and later depend on memory that nobody knows; 0.6.3 has one number for all."""
    matrix = load()
    before, after = matrix.release("0.6.3"), matrix.release("0.33.0")
    assert before is not None
    assert after is not None
    changes = {change.what: change for change in upgrade(matrix, before, after, Card(), {}).defaults}
    assert changes["max_num_seqs"].untold == ("after",)
    assert changes["max_num_seqs"].before == "256"
    assert changes["async_scheduling"].before is None  # the release has it not
    assert changes["async_scheduling"].untold == ()


def test_the_free_memory_is_named_only_where_the_target_looks_at_it() -> None:
    assert "gpu-memory-utilization-unchecked" in _steps(_upgrade("0.33.0", "0.6.3"))
    assert "gpu-memory-utilization" in _steps(_upgrade("0.19.1", "0.33.0"))


def test_what_is_off_by_itself_is_not_said_to_stay_on() -> None:
    found = _upgrade("0.33.0", "0.6.3", args={"enable_prefix_caching": False})
    assert [note.key for note in found.notes] == ["upgrade.off-by-itself"]
    assert found.command == ()


def test_a_secret_is_in_no_command() -> None:
    found = _upgrade("0.19.1", "0.33.0", args={"api_key": "***", "hf_token": "***", "max_num_seqs": 4})
    assert found.command == ("--max-num-seqs", "4")
    assert [note.params["variable"] for note in found.notes] == ["VLLM_API_KEY", "HF_TOKEN"]
