"""Rules on how a model is spread over GPUs: the request against the GPUs that are there, and against the model's dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding, Remedy
from envcheck.rules.make import error, remedy, warning
from envcheck.rules.planned import is_on
from envcheck.rules.situation import Situation
from envcheck.rules.spread import Spread, config_of, spread_of
from envcheck.sizing.fields import integer
from envcheck.sizing.ranks import cut_block, cut_group, divides, even

if TYPE_CHECKING:
    from envcheck.sizing.spec import Dimensions

_SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
_MOST_GPUS = 64  # of one host, where it is not known how many there are
_CODE = "parallel-size-invalid"


def parallel_size(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """Sizes that are no numbers, more ranks than GPUs, slices that cannot work together, sizes that do not divide the model."""
    if not situation.request.serve_args:
        return
    odd = _odd_size(situation.request.serve_args)
    if odd:
        yield error(_CODE, "value", flag="--" + odd[0].replace("_", "-"), value=odd[1])
        return
    spread = spread_of(situation)
    if spread.ranks == 1:
        return
    yield from _on_host(situation, spread)
    config = config_of(situation, matrix)
    if config:
        from envcheck.sizing.spec import Dimensions  # noqa: PLC0415  # a check without a model never needs it

        yield from _of_model(situation, spread, Dimensions.from_config(config))


def _odd_size(args: dict[str, Any]) -> tuple[str, str] | None:
    """The first size that is no positive whole number, and what it is."""
    for name in _SIZES:
        value = args.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            return name, str(value)[:40]
    return None


def _on_host(situation: Situation, spread: Spread) -> Iterator[Finding]:
    count = len(situation.usable_gpus)
    if not spread.one_host or not situation.gpus_known:
        return
    if 0 < count < spread.ranks:
        yield error(_CODE, ranks=min(spread.ranks, 10**9), count=count)
    elif spread.tensor * spread.pipeline > 1 and any(gpu.mig for gpu in situation.usable_gpus[: spread.ranks]):
        yield error(_CODE, "mig", ranks=spread.tensor * spread.pipeline)


def _of_model(situation: Situation, spread: Spread, dims: Dimensions) -> Iterator[Finding]:
    """The first dimension that the sizes do not divide."""
    tensor, args = spread.tensor, situation.request.serve_args
    context = integer(args, "decode_context_parallel_size", most=1 << 12) or 1
    if dims.heads and dims.heads % tensor:
        yield error(_CODE, "heads", size=tensor, heads=dims.heads, remedies=_divisors(situation, dims))
    elif dims.latent is None and dims.kv_heads and not even(dims.kv_heads, tensor):
        yield error(_CODE, "kv-heads", size=tensor, heads=dims.kv_heads, remedies=_divisors(situation, dims))
    elif dims.intermediate and not dims.experts and dims.intermediate % tensor:
        yield error(_CODE, "width", size=tensor, width=dims.intermediate, remedies=_divisors(situation, dims))
    elif group := cut_group(dims, tensor):
        yield warning(_CODE, "group", size=tensor, width=dims.intermediate, group=group, remedies=_divisors(situation, dims))
    elif not is_on(args.get("enable_expert_parallel")) and (block := cut_block(dims, tensor)) and dims.experts:
        width = dims.experts.intermediate
        yield warning(_CODE, "block", size=tensor, width=width, block=block, remedies=_whole_experts(dims, tensor))
    elif dims.layer_count and spread.pipeline > dims.layer_count:
        yield error(_CODE, "layers", size=spread.pipeline, layers=dims.layer_count)
    elif context > 1 and tensor % context:
        yield error(_CODE, "context", size=tensor, context=context)


def _whole_experts(dims: Dimensions, tensor: int) -> tuple[Remedy, ...]:
    """Experts dealt out whole, where their number allows."""
    return (remedy("setting", "whole-experts"),) if dims.experts and dims.experts.count % tensor == 0 else ()


def _divisors(situation: Situation, dims: Dimensions) -> tuple[Remedy, ...]:
    """The largest size that fits heads, width and GPUs."""
    most = min(len(situation.usable_gpus) or _MOST_GPUS, dims.heads)
    fitting = [size for size in range(1, most + 1) if divides(dims, size)]
    return (remedy("setting", "tensor-size", size=max(fitting)),) if fitting else ()
