"""What a quantization scheme costs besides its values: scales, zero points, shapes; in the file, and as vLLM holds it once loaded.

Taken from files that the formats' own writers made (fixtures of the tests), and, for what is kept after loading, from the quantization
methods of vLLM's releases.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import msgspec

from envcheck.sizing.fields import flag, integer, items, mapping, word

_HALF, _BYTE = 16, 8  # bits of a scale of integer formats, and of the 4-bit floating-point formats
_SINGLE = 4  # bytes of a scale in single precision
_SHAPE = 16  # bytes in which a packed matrix keeps its shape
_BLOCK = 64  # weights that share a scale of bitsandbytes, which its configuration does not say
_NESTED = 256  # of those scales share another, and so many entries has the table that decodes them
_TABLE = 64  # bytes of the table that decodes a 4-bit value
_STATE, _NESTED_STATE = (
    80,
    170,
)  # bytes of the text that bitsandbytes keeps beside a matrix; it holds numbers, so its length varies by a few


class Scheme(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cost of quantized matrices: `bits` a value, `spread` = bits a weight of what belongs to it and is known as an average alone.

    `group` inputs of each output share `group_bits`; each `block` (outputs, inputs) has a scale of `block_bytes`; `run` weights, one after
    the other, share `run_bytes`. The rest is bytes an output, an input and a matrix.
    """

    bits: float
    spread: float = 0.0
    group: int = 0
    group_bits: float = 0.0
    block: tuple[int, int] | None = None
    block_bytes: float = _SINGLE
    run: int = 0
    run_bytes: float = 0.0
    per_output: float = 0.0
    per_input: float = 0.0
    per_matrix: float = 0.0

    @property
    def average_bits(self) -> float:
        """Bits a weight of a large matrix."""
        shared = (self.group_bits / self.group if self.group else 0.0) + (8 * self.run_bytes / self.run if self.run else 0.0)
        return self.bits + self.spread + shared + (8 * self.block_bytes / (self.block[0] * self.block[1]) if self.block else 0.0)

    def cost(self, elements: float, outputs: float, matrices: int) -> tuple[float, float]:
        """Bytes of the values, and of what belongs to them; `outputs` of all `matrices`, 0 = not known, which have the same inputs."""
        besides = elements * self.spread / 8 + matrices * self.per_matrix
        if self.run:
            besides += ceil(elements / self.run) * self.run_bytes
        if not outputs:
            return elements * self.bits / 8, besides + elements * (self.average_bits - self.bits - self.spread) / 8
        inputs = elements / outputs
        if self.group_bits:
            besides += outputs * (ceil(inputs / self.group) if self.group else 1) * self.group_bits / 8
        if self.block:
            besides += ceil(outputs / self.block[0]) * ceil(inputs / self.block[1]) * self.block_bytes
        return elements * self.bits / 8, besides + outputs * self.per_output + matrices * inputs * self.per_input


_NF4 = Scheme(4, run=_BLOCK, run_bytes=_SINGLE, per_matrix=_TABLE)


class Stated(msgspec.Struct, frozen=True):
    """A scheme as it lies in the file, and as vLLM holds it."""

    file: Scheme
    loaded: Scheme


def stated(config: Mapping[str, Any], asked: str | None) -> Stated | None:
    """The one scheme that a `quantization_config` spells out; None where it has several, or says too little.

    `asked` = `--quantization`, which decides where there is no configuration: a file that nobody quantized is, as it is loaded.
    """
    method = (word(config, "quant_method") or "").lower()
    if not config and asked == "bitsandbytes":
        return Stated(_NF4, _NF4)
    if method == "gptq":
        return _gptq(config, asked)
    if method == "bitsandbytes":
        return _bitsandbytes(config)
    found = _modelopt(config) if method.startswith("modelopt") or word(config, "quant_algo") else _plain(config, method)
    return Stated(found, found) if found else None


def _plain(config: Mapping[str, Any], method: str) -> Scheme | None:
    """The formats that vLLM holds as they lie in the file."""
    if method == "awq":
        bits, group = _grouped(config)
        return Scheme(bits, group=group, group_bits=_HALF + bits) if bits else None
    return _fp8(config) if method == "fp8" else _compressed(config)


def _gptq(config: Mapping[str, Any], asked: str | None) -> Stated | None:
    """GPTQ; its file always has zero points and each input's group.

    The kernel that is chosen unless another is asked for needs no zero points of symmetric weights, and the groups, with their order, only
    where weights were taken in the order of activations.
    """
    bits, group = _grouped(config)
    if not bits:
        return None
    file = Scheme(bits, group=group, group_bits=_HALF + bits, per_input=4)
    in_order = bool(flag(config, "desc_act"))
    if asked == "gptq" or flag(config, "sym") is False:
        return Stated(file, file)
    return Stated(file, Scheme(bits, group=group, group_bits=_HALF, per_input=8 if in_order else 0))


def _grouped(config: Mapping[str, Any]) -> tuple[int, int]:
    """Bits of a value and inputs of a group, 0 = all inputs are one."""
    bits = integer(config, "bits", "w_bit", most=16) or 0
    return bits, integer(config, "group_size", "q_group_size", most=1 << 20) or 0


def _bitsandbytes(config: Mapping[str, Any]) -> Stated | None:
    """8 bit with a scale an output; 4 bit with a scale each 64 weights, which may be quantized in the file and are not once loaded."""
    if flag(config, "load_in_8bit"):
        eight = Scheme(8, per_output=_SINGLE, per_matrix=1)
        return Stated(eight, eight)
    if not flag(config, "load_in_4bit"):
        return None
    if not flag(config, "bnb_4bit_use_double_quant"):
        return Stated(msgspec.structs.replace(_NF4, per_matrix=_TABLE + _STATE), _NF4)
    nested = _SINGLE / _NESTED
    return Stated(Scheme(4, run=_BLOCK, run_bytes=1 + nested, per_matrix=_TABLE + _SINGLE * _NESTED + _NESTED_STATE), _NF4)


def _fp8(config: Mapping[str, Any]) -> Scheme | None:
    """A scale for each block, or one for each matrix and, where activations are scaled by a fixed number, that number.

    Nothing says whether the blocks' scales are in single precision, as most publishers store them, or in half, as some do.
    """
    edges = _edges(items(config, "weight_block_size"))
    if edges:
        return Scheme(8, block=edges)
    fixed = (word(config, "activation_scheme") or "").lower() == "static"
    return Scheme(8, per_matrix=_SINGLE * (1 + fixed)) if fixed or word(config, "activation_scheme") else None


def _modelopt(config: Mapping[str, Any]) -> Scheme | None:
    """A scale of the weights and one of the activations for each matrix; of 4-bit ones a scale each group besides."""
    told = (word(config, "quant_algo") or "").upper()
    if told == "NVFP4":
        group = integer(config, "group_size", most=1 << 20) or integer(only_group(config, "weights"), "group_size", most=1 << 20) or 16
        return Scheme(4, group=group, group_bits=_BYTE, per_matrix=2 * _SINGLE)
    return Scheme(8, per_matrix=2 * _SINGLE) if told == "FP8" else None


def _compressed(config: Mapping[str, Any]) -> Scheme | None:
    """compressed-tensors with one group of layers."""
    weights = only_group(config, "weights")
    bits, group = integer(weights, "num_bits", most=16), integer(weights, "group_size", most=1 << 20)
    strategy, packed = word(weights, "strategy"), "pack" in (word(config, "format") or "")
    if not bits or not strategy:
        return None
    activations = only_group(config, "input_activations")
    if strategy == "tensor_group":
        return Scheme(bits, group=group or 1, group_bits=_BYTE, per_matrix=_SINGLE * (1 + bool(activations)))
    if strategy == "group" and group:
        small = "float" in (word(weights, "type") or "")
        zero = 0 if flag(weights, "symmetric") is not False else bits
        return Scheme(bits, group=group, group_bits=(_BYTE if small else _HALF) + zero, per_matrix=_SHAPE if packed and not small else 0)
    if strategy == "block":
        edges = _edges(items(weights, "block_structure"))
        return Scheme(bits, block=edges, block_bytes=_HALF / 8) if edges else None
    if strategy == "tensor":
        fixed = bool(activations) and flag(activations, "dynamic") is False
        return Scheme(bits, per_matrix=_HALF / 8 * (1 + fixed))
    return Scheme(bits, per_output=_HALF / 8, per_matrix=_SHAPE if packed else 0) if strategy == "channel" else None


def only_group(config: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """What a configuration says of `weights` or `input_activations`, where all its layers are quantized alike."""
    groups = [group for group in mapping(config, "config_groups").values() if isinstance(group, Mapping)]
    return mapping(groups[0], part) if len(groups) == 1 else {}


def _edges(found: list[Any]) -> tuple[int, int] | None:
    edges = [edge for edge in found if isinstance(edge, int) and not isinstance(edge, bool) and 0 < edge <= 1 << 16]
    return (edges[0], edges[1]) if len(edges) == 2 == len(found) else None
