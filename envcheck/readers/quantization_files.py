"""How a checkpoint is quantized where its `config.json` does not say: older tools wrote a file of their own beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

QUANTIZATION_FILES = ("quantize_config.json", "quant_config.json", "hf_quant_config.json")
_FIELD = "quantization_config"


def with_quantization(config: dict[str, Any], stated: Callable[[], list[dict[str, Any]]]) -> dict[str, Any]:
    """The configuration, with what other files state where it states nothing itself; `stated` is asked only then."""
    if any(config.get(key) for key in (_FIELD, "compression_config")):
        return config
    for found in stated():
        quantization = quantization_of(found)
        if quantization:
            return {**config, _FIELD: quantization}
    return config


def quantization_of(found: dict[str, Any]) -> dict[str, Any] | None:
    """Another tool's file in the words of `quantization_config`; None where it is none.

    `quantize_config.json` and `quant_config.json` have `bits`, or `w_bit` and `q_group_size`; `hf_quant_config.json` has a `producer` and a
    `quantization` object with `quant_algo`.
    """
    inner = found.get("quantization")
    if isinstance(inner, dict) and isinstance(inner.get("quant_algo"), str):
        return {"quant_method": "modelopt", **inner}
    bits = found.get("bits", found.get("w_bit"))
    if not isinstance(bits, int) or isinstance(bits, bool) or not 0 < bits <= 16:
        return None
    method = found.get("quant_method")
    guess = "awq" if "w_bit" in found or "zero_point" in found else "gptq"
    group = found.get("group_size", found.get("q_group_size"))
    return {**found, "quant_method": method if isinstance(method, str) else guess, "bits": bits, "group_size": group}
