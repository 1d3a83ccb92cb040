"""How a model can be dealt out to GPUs: tensor-parallel ranks that divide it, and pipeline stages where those are not enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from envcheck.sizing.fields import integer, mapping, word

if TYPE_CHECKING:
    from envcheck.sizing.spec import Dimensions

_GROUPED = ("awq", "gptq")  # formats whose scales belong to groups of inputs that must not be cut
_MOST = 1024


def even(heads: int, ranks: int) -> bool:
    """Whether KV heads can be dealt out: so many to a rank, or so many ranks to a head."""
    return heads % ranks == 0 if heads >= ranks else ranks % heads == 0


def cut_group(dims: Dimensions, ranks: int) -> int | None:
    """The group of inputs that share a scale (AWQ, GPTQ) where a rank's part of the width is no multiple of it, else None."""
    config = _quantization(dims)
    if dims.experts or (word(config, "quant_method") or "").lower() not in _GROUPED:
        return None
    group = integer(config, "group_size", "q_group_size", most=1 << 20)
    return group if group and dims.intermediate and dims.intermediate // ranks % group else None


def cut_block(dims: Dimensions, ranks: int) -> int | None:
    """The side of the blocks that share a scale (FP8) where a rank's part of each expert is no multiple of it, else None.

    Experts that are dealt out whole, by `--enable-expert-parallel`, are not cut. Source: vLLM, layers/quantization/fp8.py.
    """
    sides = _quantization(dims).get("weight_block_size")
    side = sides[0] if isinstance(sides, list) and sides and isinstance(sides[0], int) and 0 < sides[0] <= 1 << 16 else None
    width = dims.experts.intermediate if dims.experts else 0
    return side if side and width and ranks > 1 and (width % ranks or width // ranks % side) else None


def divides(dims: Dimensions, ranks: int) -> bool:
    """Whether vLLM can deal the model out to so many tensor-parallel ranks; blocks of experts apart. Source: vLLM, layers/linear.py."""
    dense = 0 if dims.experts else dims.intermediate
    return (
        dims.heads % ranks == 0
        and (dims.latent is not None or not dims.kv_heads or even(dims.kv_heads, ranks))
        and (not dense or dense % ranks == 0)
        and cut_group(dims, ranks) is None
    )


def tensor_ranks(dims: Dimensions, most: int) -> Iterator[tuple[int, bool]]:
    """Powers of two up to `most` that divide the model, and whether experts must be dealt out whole for it."""
    for ranks in (2**place for place in range(11) if 2**place <= min(most, _MOST)):
        if ranks > 1 and not divides(dims, ranks):
            continue
        if cut_block(dims, ranks) is None:
            yield ranks, False
        elif dims.experts and dims.experts.count % ranks == 0:
            yield ranks, True


def stages(dims: Dimensions, most: int) -> Iterator[tuple[int, int, bool]]:
    """Tensor-parallel ranks, pipeline stages (two or more), and whether experts are dealt out whole: the fewest GPUs first."""
    found = [
        (ranks, count, whole)
        for ranks, whole in tensor_ranks(dims, max(1, most // 2))
        for count in range(2, min(most // ranks, dims.layer_count or 1) + 1)
    ]
    yield from sorted(found, key=lambda one: (one[0] * one[1], -one[0]))


def _quantization(dims: Dimensions) -> Mapping[str, Any]:
    return mapping(dims.config, "quantization_config") or mapping(dims.text, "quantization_config")
