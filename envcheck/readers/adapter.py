"""A LoRA adapter: how large its matrices are and which modules they stand beside, from `adapter_config.json` and its weights' header."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.errors import UsageError
from envcheck.model.fact import Found
from envcheck.model.modelspec import Adapter
from envcheck.readers.model_config import CONFIG_LIMIT, parse_config
from envcheck.readers.model_folder import file_header
from envcheck.system.port import System

_MOST_RANK = 1 << 16
_MOST_TARGETS = 256


def read_adapter(name: str, path: str, system: System) -> Adapter:
    """The adapter in a folder, under the name it is served by.

    Raises UsageError where the folder has no `adapter_config.json` or that says no rank, InputError where it is broken.
    """
    folder = path.rstrip("/")
    read = system.read(f"{folder}/adapter_config.json", CONFIG_LIMIT + 1)
    config = parse_config(read.value, f"{folder}/adapter_config.json") if isinstance(read, Found) else {}
    rank = adapter_rank(config)
    if rank is None:
        raise UsageError("error.model-adapter", path=path)
    tensors = file_header(f"{folder}/adapter_model.safetensors", system)
    return Adapter(
        name,
        folder,
        rank,
        _names(config.get("target_modules")),
        base if isinstance(base := config.get("base_model_name_or_path"), str) else None,
        sum(tensor.size_bytes for tensor in tensors) if tensors is not None else None,
        _names(config.get("modules_to_save")),
    )


def adapter_rank(config: Mapping[str, Any]) -> int | None:
    """The largest rank an adapter's configuration states; None where it states none. What vLLM's `--max-lora-rank` must reach."""
    patterns = config.get("rank_pattern")
    told = [config.get("r"), *(patterns.values() if isinstance(patterns, dict) else ())]
    ranks = [rank for rank in told if isinstance(rank, int) and not isinstance(rank, bool) and 0 < rank <= _MOST_RANK]
    return max(ranks, default=None)


def _names(value: object) -> tuple[str, ...]:
    """Modules, from a list of names or one pattern."""
    items = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(item[:400] for item in items[:_MOST_TARGETS] if isinstance(item, str))
