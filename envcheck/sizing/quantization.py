"""Bytes of a weight, by part of the model, from the checkpoint's quantization and the `--quantization` asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from envcheck.model.memoryfacts import QuantizationFormat
from envcheck.model.units import GIB
from envcheck.sizing.fields import flag, integer, items, mapping, word
from envcheck.sizing.spec import Dimensions, dtype_bytes

_SCALE_BITS = 16  # scales of integer and 8-bit formats are half precision
_BYTE = 8  # bits of a scale of the 4-bit floating-point formats
_GLOBAL_SCALE = 4  # bytes of the scale over those scales
_SHAPE = 16  # bytes in which a packed matrix keeps its shape


class WeightFormat(msgspec.Struct, frozen=True):
    """Bytes of one weight: `plain` where not quantized; the parts that a format may leave out; `name` None = not quantized.

    `per_output` and `per_matrix` = bytes that each output and each matrix of a quantized part has besides: scales, shapes. `known` is False
    when the checkpoint is quantized in a way that its size does not follow from.
    """

    plain: float
    attention: float
    dense: float
    shared: float
    experts: float
    head: float
    name: str | None = None
    pad_experts_to: int | None = None
    pad_inputs_to: int | None = None
    extra: float = 0.0
    known: bool = True
    per_output: float = 0.0
    per_matrix: float = 0.0

    def tensors(self, elements: float, each: float, outputs: float = 0.0, matrices: int = 1) -> list[float]:
        """The tensors, in bytes, of `matrices` matrices held as one: values, then scales and zero points; `each` bytes a weight."""
        if each == self.plain:
            return [elements * each]
        values = int(each * 8) / 8
        return [elements * values, elements * (each - values) + outputs * self.per_output + matrices * self.per_matrix]


class Scales(msgspec.Struct, frozen=True):
    """What a stated scheme costs: bits a weight with its share of scales and zero points, and bytes an output and a matrix."""

    bits: float
    per_output: float = 0.0
    per_matrix: float = 0.0


def weight_format(dims: Dimensions, asked: str | None, named: str, plain: float, formats: Sequence[QuantizationFormat]) -> WeightFormat:
    """The format of every part.

    `asked` = `--quantization`; `named` = the model's name, which counts only where nothing else speaks of quantization; `plain` = bytes
    of an unquantized weight under the dtype in force.
    """
    config = _quantization_config(dims)
    name = _method(config, asked) or in_name(named)
    if name is None:
        return WeightFormat(plain, plain, plain, plain, plain, plain)
    found = _format(name, formats)
    scheme = _stated(config) or Scales(_grouped_bits(config) or (found.bits if found else 0.0))
    whole = WeightFormat(plain, plain, plain, plain, plain, plain, name, known=scheme.bits > 0)
    if not whole.known:
        return whole
    whole = msgspec.structs.replace(whole, per_output=scheme.per_output, per_matrix=scheme.per_matrix)
    return _with_exceptions(config, scheme.bits / 8, plain, whole, found)


def _with_exceptions(
    config: Mapping[str, Any], each: float, plain: float, form: WeightFormat, found: QuantizationFormat | None
) -> WeightFormat:
    skipped = " ".join(str(item) for item in items(config, "modules_to_not_convert", "ignore", "ignored_layers")[:2000])
    everywhere = found is None or found.scope == "linear"
    attention_skipped = not everywhere or bool(re.search(r"self_attn(?!\.\w*(norm|index))", _generic(skipped)))
    shared_skipped = not everywhere or "shared_expert" in _generic(skipped)
    dense_skipped = not everywhere or bool(re.search(r"mlp\S*(gate_up|up|down|\))\S*proj", _generic(skipped)))
    return msgspec.structs.replace(
        form,
        attention=plain if attention_skipped else each,
        dense=plain if dense_skipped else each,
        shared=plain if shared_skipped else each,
        experts=each,
        head=each if flag(config, "lm_head") else plain,
        pad_experts_to=found.pad_to if found else None,
        pad_inputs_to=found.pad_inputs_to if found else None,
        extra=found.extra_gib * GIB if found else 0.0,
    )


def _generic(skipped: str) -> str:
    """Only the patterns that speak of every layer: entries that number a layer name exceptions of exceptions."""
    return " ".join(item for item in skipped.split() if not re.search(r"layers\.\d", item))


def _quantization_config(dims: Dimensions) -> Mapping[str, Any]:
    for source in (dims.config, dims.text):
        found = mapping(source, "quantization_config", "compression_config")
        if found:
            return found
    return {}


def _method(config: Mapping[str, Any], asked: str | None) -> str | None:
    told = word(config, "quant_algo") or _compressed(config) or word(config, "quant_method")
    if told and told.lower() in ("mixed_precision", "modelopt"):
        told = "mixed"
    chosen = told or asked
    return chosen.lower() if chosen and chosen.lower() != "none" else None


def in_name(name: str) -> str | None:
    """A format that a repository's name ends in or carries between separators, as publishers of quantized models write it."""
    found = re.findall(r"(?<=[-_.])(w8a8|w4a16|awq|gptq-int8|gptq|fp8|int4|int8|nvfp4|mxfp4|4bit|8bit)(?=$|[-_.])", name.lower()[-200:])
    return str(found[0]) if found else None


def _weights_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    groups = [group for group in mapping(config, "config_groups").values() if isinstance(group, Mapping)]
    return mapping(groups[0], "weights") if len(groups) == 1 else {}


def _compressed(config: Mapping[str, Any]) -> str | None:
    weights = _weights_of(config)
    bits, kind = integer(weights, "num_bits", most=64), word(weights, "type") or "int"
    if not bits:
        return None
    names = {("float", 8): "fp8", ("float", 4): "nvfp4", ("int", 8): "w8a8"}
    return names.get((kind, bits), f"int{bits}")


def _stated(config: Mapping[str, Any]) -> Scales | None:
    """The cost of the one scheme that a compressed-tensors configuration spells out; None where it has several or is another format."""
    weights = _weights_of(config)
    bits, group = integer(weights, "num_bits", most=16), integer(weights, "group_size", most=1 << 20)
    strategy, packed = word(weights, "strategy"), "pack" in (word(config, "format") or "")
    if not bits or not strategy:
        return None
    zero = 0 if flag(weights, "symmetric") is not False else bits
    if strategy == "tensor_group":
        inputs = _inputs_of(config)
        return Scales(bits + _BYTE / (group or 1), per_matrix=_GLOBAL_SCALE * (1 + bool(inputs)))
    if strategy == "group" and group:
        small = "float" in (word(weights, "type") or "")
        shape = _SHAPE if packed and not small else 0
        return Scales(bits + ((_BYTE if small else _SCALE_BITS) + zero) / group, per_matrix=shape)
    if strategy == "block":
        edges = [int(edge) for edge in items(weights, "block_structure") if isinstance(edge, int) and 0 < edge <= 1 << 16]
        return Scales(bits + _SCALE_BITS / (edges[0] * edges[1])) if len(edges) == 2 else None
    return Scales(float(bits), per_output=_SCALE_BITS / 8, per_matrix=_SHAPE if packed else 0) if strategy == "channel" else None


def _inputs_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    groups = [group for group in mapping(config, "config_groups").values() if isinstance(group, Mapping)]
    return mapping(groups[0], "input_activations") if len(groups) == 1 else {}


def _grouped_bits(config: Mapping[str, Any]) -> float | None:
    """Bits a weight of integer formats with groups: the value, its share of the scale and of the zero point."""
    weights = _weights_of(config)
    source = weights if (word(weights, "type") or "") == "int" else {} if weights else config
    bits = integer(source, "bits", "w_bit", "num_bits", "weight_bits", most=16)
    group = integer(source, "group_size", "q_group_size", most=1 << 20)
    if not bits:
        return None
    symmetric = flag(source, "symmetric") if weights else False
    return bits + (_SCALE_BITS + (0 if symmetric else bits)) / group if group else float(bits)


def _format(name: str, formats: Sequence[QuantizationFormat]) -> QuantizationFormat | None:
    """The record of a method: by its exact name, else by the longest name it contains."""
    candidates = [(len(known), form) for form in formats for known in form.names if known in name]
    exact = [form for form in formats if name in form.names]
    return exact[0] if exact else max(candidates, key=lambda pair: pair[0])[1] if candidates else None


def model_dtype_bytes(dims: Dimensions, args: Mapping[str, Any]) -> int:
    """Bytes of an unquantized weight: `--dtype`, else the checkpoint's; single precision is served in half unless asked for."""
    asked = (word(args, "dtype") or "auto").lower()
    return (dtype_bytes(asked) if asked != "auto" else None) or min(dtype_bytes(dims.dtype) or 2, 2)
