"""Bytes of a weight, by part of the model, from the checkpoint's quantization and the `--quantization` asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from envcheck.model.memoryfacts import QuantizationFormat
from envcheck.model.units import GIB
from envcheck.sizing.fields import flag, integer, items, mapping, word
from envcheck.sizing.schemes import Scheme, only_group, stated
from envcheck.sizing.spec import Dimensions, dtype_bytes

_HALF = 16  # bits of a scale of integer formats
_SKIPPED = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules", "llm_int8_skip_modules")
_PROJECTIONS = {"self_attn": 4, "mlp": 3}  # matrices of the part that have an exception each where not the whole part has one
_MIXED = "mixed"
_PARTS = {  # fields of the format, by the names of the matrices
    "attention": r"(?:self|linear)_attn",
    "experts": r"mlp\.experts",
    "shared": r"shared_expert\b",
    "dense": r"mlp\.(?:gate_up|gate|up|down)_proj",
    "head": r"\blm_head\b",
}


class WeightFormat(msgspec.Struct, frozen=True):
    """Bytes of one weight: `plain` where not quantized; the parts that a format may leave out; `name` None = not quantized.

    `quantized` = bytes of a weight where the format holds; a part between that and `plain` is quantized in some of its layers.
    `scheme` = what a matrix costs, `in_file` where the file has it otherwise than vLLM holds it. `known` is False when the checkpoint is
    quantized in a way that its size does not follow from.
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
    quantized: float = 0.0
    scheme: Scheme | None = None
    in_file: Scheme | None = None

    def tensors(self, elements: float, each: float, outputs: float = 0.0, matrices: int = 1) -> list[float]:
        """The tensors, in bytes, of `matrices` matrices held as one: values, then scales and zero points; `each` bytes a weight."""
        if each == self.plain or self.scheme is None:
            return [elements * each]
        values, besides = self.scheme.cost(elements, outputs, matrices)
        if each == self.quantized:
            return [values, besides]
        share = (self.plain - each) / (self.plain - self.quantized)
        return [elements * self.plain * (1 - share) + values * share, besides * share]

    def stored(self) -> WeightFormat:
        """The same as it lies in the files: nothing padded, nothing dropped."""
        return msgspec.structs.replace(self, scheme=self.in_file or self.scheme, pad_experts_to=None, pad_inputs_to=None)


def weight_format(dims: Dimensions, asked: str | None, named: str, plain: float, formats: Sequence[QuantizationFormat]) -> WeightFormat:
    """The format of every part.

    `asked` = `--quantization`; `named` = the model's name, which counts only where nothing else speaks of quantization; `plain` = bytes
    of an unquantized weight under the dtype in force.
    """
    config = _quantization_config(dims)
    name = _method(config, asked) or in_name(named)
    if name is None:
        return WeightFormat(plain, plain, plain, plain, plain, plain)
    mixed = _mixed(config, plain) if name == _MIXED else None
    if mixed is not None:
        return mixed
    found = _format(name, formats)
    scheme = stated(config, asked)
    loaded = scheme.loaded if scheme else _average(_grouped_bits(config) or (found.bits if found else 0.0))
    whole = WeightFormat(plain, plain, plain, plain, plain, plain, name, known=loaded.average_bits > 0)
    if not whole.known:
        return whole
    each = loaded.average_bits / 8
    whole = msgspec.structs.replace(whole, scheme=loaded, in_file=scheme.file if scheme else None, quantized=each)
    return _with_exceptions(config, each, dims.layer_count, whole, found)


def _mixed(config: Mapping[str, Any], plain: float) -> WeightFormat | None:
    """A file with several groups, each with its bits and the matrices it holds for; a part that none names is left as it was.

    None where a group does not say its bits. 4-bit values share a scale of 8 bits in groups. Source: configurations that modelopt wrote.
    """
    named: dict[str, list[float]] = {}
    for group in list(mapping(config, "config_groups").values())[:20]:
        weights = mapping(group, "weights") if isinstance(group, Mapping) else {}
        bits, size = integer(weights, "num_bits", most=16), integer(weights, "group_size", most=1 << 20)
        if not bits:
            return None
        targets = " ".join(str(target) for target in items(group, "targets")[:20_000])
        for part, pattern in _PARTS.items():
            named.setdefault(part, []).extend([(bits + (8 / size if size else 0.0)) / 8] * len(re.findall(pattern, targets)))
    each = {part: sum(sizes) / len(sizes) for part, sizes in named.items() if sizes}
    if not each:
        return None
    form = WeightFormat(plain, plain, plain, plain, plain, plain, _MIXED, quantized=min(each.values()))
    return msgspec.structs.replace(form, **each)


def _average(bits: float) -> Scheme:
    """A format of which no more is known than its bits a weight."""
    return Scheme(int(bits), bits - int(bits))


def _with_exceptions(
    config: Mapping[str, Any], each: float, layers: int, form: WeightFormat, found: QuantizationFormat | None
) -> WeightFormat:
    listed = [str(item) for name in _SKIPPED for item in items(config, name)[:20_000]]
    generic = " ".join(item for item in listed if not re.search(r"layers\.\d", item))
    everywhere, plain = found is None or found.scope == "linear", form.plain
    attention_skipped = not everywhere or bool(re.search(r"self_attn(?!\.\w*(norm|index))", generic))
    shared_skipped = not everywhere or "shared_expert" in generic
    dense_skipped = not everywhere or bool(re.search(r"mlp\S*(gate_up|up|down|\))\S*proj", generic))
    attention, dense = (each + (plain - each) * _skipped_share(listed, part, layers) for part in _PROJECTIONS)
    return msgspec.structs.replace(
        form,
        attention=plain if attention_skipped else attention,
        dense=plain if dense_skipped else dense,
        shared=plain if shared_skipped else each,
        experts=each,
        head=each if flag(config, "lm_head") else plain,
        pad_experts_to=found.pad_to if found else None,
        pad_inputs_to=found.pad_inputs_to if found else None,
        extra=found.extra_gib * GIB if found else 0.0,
    )


def _skipped_share(listed: Sequence[str], part: str, layers: int) -> float:
    """The share of layers whose `part` is left as it was by name and number; projections named one by one count as parts of it."""
    shares: dict[str, float] = {}
    for item in listed:
        found = re.fullmatch(rf"\S*layers\.(\d+)\.{part}(\.\w+_proj)?[*.]*", item)
        if found:
            shares[found[1]] = min(1.0, shares.get(found[1], 0.0) + (1 / _PROJECTIONS[part] if found[2] else 1.0))
    return min(1.0, sum(shares.values()) / layers) if layers else 0.0


def _quantization_config(dims: Dimensions) -> Mapping[str, Any]:
    for source in (dims.config, dims.text):
        found = mapping(source, "quantization_config", "compression_config")
        if found:
            return found
    return {}


def _method(config: Mapping[str, Any], asked: str | None) -> str | None:
    told = word(config, "quant_algo") or _compressed(config) or word(config, "quant_method")
    if told and told.lower() in ("mixed_precision", "modelopt"):
        told = _MIXED
    chosen = told or asked
    return chosen.lower() if chosen and chosen.lower() != "none" else None


def in_name(name: str) -> str | None:
    """A format that a repository's name ends in or carries between separators, as publishers of quantized models write it."""
    found = re.findall(r"(?<=[-_.])(w8a8|w4a16|awq|gptq-int8|gptq|fp8|int4|int8|nvfp4|mxfp4|4bit|8bit)(?=$|[-_.])", name.lower()[-200:])
    return str(found[0]) if found else None


def _compressed(config: Mapping[str, Any]) -> str | None:
    weights = only_group(config, "weights")
    bits, kind = integer(weights, "num_bits", most=64), word(weights, "type") or "int"
    if not bits:
        return None
    names = {("float", 8): "fp8", ("float", 4): "nvfp4", ("int", 8): "w8a8"}
    return names.get((kind, bits), f"int{bits}")


def _grouped_bits(config: Mapping[str, Any]) -> float | None:
    """Bits a weight of integer formats with groups: the value, its share of the scale and of the zero point."""
    weights = only_group(config, "weights")
    source = weights if (word(weights, "type") or "") == "int" else {} if weights else config
    bits = integer(source, "bits", "w_bit", "num_bits", "weight_bits", most=16)
    group = integer(source, "group_size", "q_group_size", most=1 << 20)
    if not bits:
        return None
    symmetric = flag(source, "symmetric") if weights else False
    return bits + (_HALF + (0 if symmetric else bits)) / group if group else float(bits)


def _format(name: str, formats: Sequence[QuantizationFormat]) -> QuantizationFormat | None:
    """The record of a method: by its exact name, else by the longest name it contains."""
    candidates = [(len(known), form) for form in formats for known in form.names if known in name]
    exact = [form for form in formats if name in form.names]
    return exact[0] if exact else max(candidates, key=lambda pair: pair[0])[1] if candidates else None


def model_dtype_bytes(dims: Dimensions, args: Mapping[str, Any]) -> int:
    """Bytes of an unquantized weight: `--dtype`, else the checkpoint's; single precision is served in half unless asked for."""
    asked = (word(args, "dtype") or "auto").lower()
    return (dtype_bytes(asked) if asked != "auto" else None) or min(dtype_bytes(dims.dtype) or 2, 2)
