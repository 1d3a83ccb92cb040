"""Serve arguments that the arithmetic reads must be numbers: a mistyped one must not be answered as if it had not been given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envcheck.errors import UsageError

_WHOLE = (
    "max_num_seqs",
    "max_num_batched_tokens",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "decode_context_parallel_size",
    "block_size",
    "num_gpu_blocks_override",
)
_SIZES = ("cpu_offload_gb", "swap_space", "kv_offloading_size", "kv_cache_memory_bytes")
_MOST = 1 << 50
_EXAMPLES = {
    "max_model_len": "8192",
    "max_num_seqs": "64",
    "max_num_batched_tokens": "2048",
    "block_size": "16",
    "num_gpu_blocks_override": "4096",
    "gpu_memory_utilization": "0.9",
    "cpu_offload_gb": "4",
    "swap_space": "4",
    "kv_offloading_size": "4",
    "kv_cache_memory_bytes": "4294967296",
}


def check_values(args: Mapping[str, Any]) -> None:
    """Raises UsageError for the first value that is no number where one is needed, or out of its range."""
    for name in ("max_model_len", "gpu_memory_utilization", *_WHOLE, *_SIZES):
        if args.get(name) is True:
            raise UsageError("error.serve-missing", flag=_flag(name), example=_EXAMPLES.get(name, "1"))
    length = args.get("max_model_len")
    if length is not None and str(length).strip().lower() not in ("auto", "-1"):
        length_of("--max-model-len", length)
    share = _number(args, "gpu_memory_utilization")
    if share is not None and not 0 < share <= 1:
        raise UsageError("error.serve-share", flag="--gpu-memory-utilization", value=str(args["gpu_memory_utilization"])[:40])
    for name in _WHOLE:
        value = args.get(name)
        # `--max-num-seqs 1k` is a number to newer releases.
        if value is not None and (isinstance(value, (bool, float)) or not 0 < (_short(value) or 0) < _MOST):
            raise UsageError("error.serve-whole", flag=_flag(name), value=str(value)[:40])
    for name in _SIZES:
        size = _number(args, name)
        if size is not None and not 0 <= size < _MOST:
            raise _no_number(name, args[name])


def length_of(flag: str, value: object) -> int:
    """Tokens of a length as typed: `8192`, `8k`, `8K`. Raises UsageError for what is none."""
    from envcheck.sizing.settings import context_length

    found = None if isinstance(value, bool) else context_length(value)
    if found is None:
        raise UsageError("error.serve-length", flag=flag, value=str(value)[:40])
    return found


def _short(value: object) -> int | None:
    from envcheck.sizing.settings import context_length

    return value if isinstance(value, int) else context_length(value)


def _number(args: Mapping[str, Any], name: str) -> float | None:
    value = args.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _no_number(name, value)
    return float(value)


def _no_number(name: str, value: object) -> UsageError:
    return UsageError("error.serve-number", flag=_flag(name), value=str(value)[:40], example=_EXAMPLES.get(name, "1"))


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
