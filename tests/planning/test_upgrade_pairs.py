"""What changes between pairs of releases; expectations written by hand from vLLM's sources, not from the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from envcheck.cli.cards import host_of_cards
from envcheck.cli.memory import known_spec, size, sizer_of
from envcheck.matrix.load import load
from envcheck.matrix.release import Release
from envcheck.model.budget import SizeResult
from envcheck.model.request import Request
from envcheck.planning.upgrade import Upgrade, upgrade
from envcheck.planning.upgrade_memory import memory_change


def _upgrade(old: str, new: str, gpu: str = "NVIDIA A10", args: dict[str, Any] | None = None) -> Upgrade:
    matrix = load()
    before, after = matrix.release(old), matrix.release(new)
    assert before is not None
    assert after is not None
    return upgrade(matrix, before, after, sizer_of(matrix).card(host_of_cards(gpu, matrix)), args or {})


# from, to, an argument gone, one added, torch of the target
PAIRS = [
    ("0.6.6", "0.8.5", "--speculative-model", "--speculative-config", "2.6.0"),
    ("0.8.5", "0.11.0", "--max-seq-len-to-capture", "--async-scheduling", "2.8.0"),
    ("0.10.2", "0.20.0", "--guided-decoding-backend", "--attention-backend", "2.11.0"),
    ("0.19.1", "0.33.0", "--calculate-kv-scales", "--log-level", "2.14.0"),
    ("0.9.2", "0.10.2", "--device", "--kv-cache-memory-bytes", "2.8.0"),
    ("0.9.2", "0.11.0", "--use-v2-block-manager", "--structured-outputs-config", "2.8.0"),
    ("0.10.2", "0.11.0", "--preemption-mode", "--mm-processor-cache-type", "2.8.0"),
    ("0.12.0", "0.14.1", "--task", "--attention-config", "2.9.1"),
    ("0.12.0", "0.17.1", "--disable-mm-preprocessor-cache", "--performance-mode", "2.10.0"),
    ("0.17.1", "0.18.1", "--swap-space", None, "2.10.0"),
    ("0.16.0", "0.17.1", "--disable-log-requests", "--moe-backend", "2.10.0"),
    ("0.27.0", "0.33.0", "--calculate-kv-scales", "--log-level", "2.14.0"),
]


@pytest.mark.parametrize(("old", "new", "gone", "added", "torch"), PAIRS)
def test_pair(old: str, new: str, gone: str, added: str | None, torch: str) -> None:
    found = _upgrade(old, new)
    assert gone in {one.flag for one in found.lost}
    assert added is None or added in found.added
    changed = {change.what: change.after for change in found.stack}
    assert changed.get("torch", torch) == torch


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
    assert found.environment == ("VLLM_LOGGING_LEVEL=DEBUG",)
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
