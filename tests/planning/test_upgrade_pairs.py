"""What changes between pairs of releases; expectations written by hand from vLLM's sources, not from the program."""

from __future__ import annotations

from typing import Any

import pytest

from envcheck.cli.cards import host_of_cards
from envcheck.cli.memory import sizer_of
from envcheck.matrix.load import load
from envcheck.planning.upgrade import Upgrade, upgrade


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


def test_command_is_rewritten() -> None:
    given = {"limit_mm_per_prompt": "image=2", "swap_space": 0, "max_model_len": 8192, "enable_prefix_caching": False}
    command = _upgrade("0.8.4", "0.20.0", args=given).command
    assert command == ("--limit-mm-per-prompt", '{"image": 2}', "--max-model-len", "8192", "--no-enable-prefix-caching")


def test_the_driver_is_named_as_nvidia_does() -> None:
    changes = {change.what: (change.before, change.after) for change in _upgrade("0.10.2", "0.20.0").stack}
    assert changes["driver-floor"] == ("525.60.13", "580")
