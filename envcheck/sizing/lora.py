"""LoRA: the buffers that vLLM allocates at load for every linear layer, whichever of them an adapter uses.

Each layer has room for `--max-loras` adapters of `--max-lora-rank`: A matrices (rank x inputs) and B matrices (outputs x rank), one pair
for each matrix merged into the layer. Split layers hold their part of B (columns) or of A (rows); the other matrix is whole on every rank
unless `--fully-sharded-loras`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from envcheck.model.memoryfacts import LoraRule
from envcheck.model.modelspec import Adapter
from envcheck.model.text import Text
from envcheck.sizing.fields import flag, integer, word
from envcheck.sizing.layers import Layer
from envcheck.sizing.rank import Rank
from envcheck.sizing.spec import Dimensions, dtype_bytes

_MOST_LORAS = 1 << 12
_MOST_RANK = 1 << 16
_LONG, _INT = 8, 4  # bytes of an index
_TABLES = ("embed_tokens", "lm_head")
_TOKEN_INDICES = 5  # 64-bit tables by token: adapter, sampler twice, embedding twice
_KERNEL_INDICES = 2  # 32-bit tables by token of each of two kernel plans


class Lora(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in force: `loras` adapters on the GPU of at most `rank`, `cpu_loras` in host memory; `value_bytes` of one weight.

    `adapters` = those that were read.
    """

    loras: int
    rank: int
    cpu_loras: int
    value_bytes: int
    extra_vocab: int
    sharded: bool
    adapters: tuple[Adapter, ...] = ()


class LoraTerms(msgspec.Struct, frozen=True):
    """Bytes on one rank, by what the buffers are for; `indices` = tables that say which token belongs to which adapter."""

    attention: float = 0.0
    feed_forward: float = 0.0
    experts: float = 0.0
    vocabulary: float = 0.0
    indices: float = 0.0

    @property
    def total(self) -> float:
        """All parts."""
        return float(sum(msgspec.structs.astuple(self)))


def lora_of(args: Mapping[str, Any], plain: int, rule: LoraRule | None, adapters: tuple[Adapter, ...] = ()) -> Lora | None:
    """The settings, or None without `--enable-lora`; `plain` = bytes of the model's own type."""
    if not flag(args, "enable_lora") or rule is None:
        return None
    loras = integer(args, "max_loras", most=_MOST_LORAS) or rule.max_loras
    return Lora(
        loras=loras,
        rank=integer(args, "max_lora_rank", most=_MOST_RANK) or rule.max_lora_rank,
        cpu_loras=max(loras, integer(args, "max_cpu_loras", most=1 << 20) or loras),
        value_bytes=dtype_bytes(word(args, "lora_dtype")) or plain,
        extra_vocab=_extra(args, rule),
        sharded=bool(flag(args, "fully_sharded_loras")),
        adapters=adapters,
    )


def _extra(args: Mapping[str, Any], rule: LoraRule) -> int:
    told = integer(args, "lora_extra_vocab_size", least=0, most=1 << 20)
    return rule.extra_vocab if told is None or not rule.extra_vocab else told


def lora_terms(dims: Dimensions, lora: Lora, rank: Rank, rule: LoraRule, tokens: int, sequences: int) -> LoraTerms:
    """Bytes by part on one rank; `tokens` and `sequences` of a batch at most."""
    plan = _Plan(lora.rank, rank.ranks, lora.sharded)
    each = lora.loras * lora.value_bytes
    attention = feed_forward = experts = 0.0
    for group in dims.layers:
        count = group.count * rank.share * each
        attention += count * sum(_mixer(dims, group.layer, plan))
        feed_forward += count * sum(_feed_forward(dims, group.layer, plan))
        if rule.experts and group.layer.feed_forward == "experts":
            experts += count * _experts(dims, rank, plan)
    return LoraTerms(attention, feed_forward, experts, _vocabulary(dims, lora, rank, rule), _indices(lora, tokens, sequences))


class _Plan(msgspec.Struct, frozen=True):
    """Elements of one adapter's pair of matrices by how the layer is split; sizes whole, not those of a rank."""

    rank: int
    ranks: int
    sharded: bool

    @property
    def part(self) -> float:
        """The part of a matrix that only a full split divides."""
        return self.rank / self.ranks if self.sharded else self.rank

    def column(self, inputs: float, held: Sequence[float]) -> float:
        """Matrices split by outputs, merged: `held` outputs of each on this rank."""
        return len(held) * self.part * inputs + self.rank * sum(held)

    def row(self, inputs: float, outputs: float) -> float:
        """A matrix split by inputs."""
        return self.rank * inputs / self.ranks + self.part * outputs

    def whole(self, inputs: float, outputs: Sequence[float]) -> float:
        """Matrices that every rank has whole."""
        return len(outputs) * self.rank * inputs + self.rank * sum(outputs)


def _mixer(dims: Dimensions, layer: Layer, plan: _Plan) -> Iterator[float]:
    cell = dims.recurrent
    if cell and layer.mixer in ("recurrent", "parallel"):
        yield plan.column(dims.hidden, [cell.projection_in / plan.ranks])
        yield plan.row(cell.projection_out, dims.hidden)
    if layer.mixer in ("none", "recurrent"):
        return
    mla = dims.latent
    if mla:
        heads, down = dims.heads / plan.ranks, mla.rank + mla.rope
        yield plan.whole(dims.hidden, [down, mla.query_rank] if mla.query_rank else [down])
        yield plan.column(mla.query_rank or dims.hidden, [heads * (mla.nope + mla.rope)])
        yield plan.column(mla.rank, [heads * (mla.nope + mla.value)])
        yield plan.row(dims.heads * mla.value, dims.hidden)
        return
    head_dim = layer.head_dim or dims.head_dim
    keys = max(1, (layer.kv_heads or dims.kv_heads) // plan.ranks) * head_dim
    queries = dims.heads * head_dim * (2 if dims.gated_attention else 1) / plan.ranks
    yield plan.column(dims.hidden, [queries, keys, keys])
    yield plan.row(dims.heads * head_dim, dims.hidden)


def _feed_forward(dims: Dimensions, layer: Layer, plan: _Plan) -> Iterator[float]:
    """An ordinary feed-forward part or the shared expert, and the router."""
    width = layer.intermediate or dims.intermediate if layer.feed_forward == "dense" else 0
    if layer.feed_forward == "experts" and dims.experts:
        width = dims.experts.shared
        yield plan.whole(dims.hidden, [dims.experts.count])
    if width:
        yield plan.column(dims.hidden, [width / plan.ranks] * (dims.mlp_matrices - 1))
        yield plan.row(width, dims.hidden)


def _experts(dims: Dimensions, rank: Rank, plan: _Plan) -> float:
    """One pair for each matrix of each expert. Expert parallelism divides the experts, tensor parallelism their width."""
    experts = dims.experts
    if experts is None:
        return 0.0
    one = plan.column(experts.width, [experts.intermediate / plan.ranks] * (dims.mlp_matrices - 1))
    return experts.count * (one + plan.row(experts.intermediate, experts.width)) * plan.ranks / max(plan.ranks, rank.expert_ranks)


def has_tables(dims: Dimensions, rule: LoraRule) -> bool:
    """Whether the embedding and the output head have buffers."""
    return (dims.architecture or dims.model_type) in rule.embeddings


def _vocabulary(dims: Dimensions, lora: Lora, rank: Rank, rule: LoraRule) -> float:
    """Embedding and output head of the architectures that give them buffers, the same on every rank, and rows for added tokens."""
    if not has_tables(dims, rule):
        return 0.0
    added = lora.loras * lora.extra_vocab * dims.hidden * lora.value_bytes
    size = 0.0
    if rank.is_first:
        pair = lora.rank * (dims.vocab + lora.extra_vocab) + lora.rank * dims.hidden
        size += lora.loras * pair * lora.value_bytes + added + added / rank.ranks
    if rank.is_last and not dims.tied and not dims.headless:
        rows = -(-(dims.vocab + lora.extra_vocab) // rule.head_rows_to) * rule.head_rows_to
        size += lora.loras * lora.rank * (dims.hidden + rows) * lora.value_bytes
        size += added + lora.extra_vocab * dims.hidden * lora.value_bytes / rank.ranks
    return size


def _indices(lora: Lora, tokens: int, sequences: int) -> float:
    plans = 2 * _INT * (_KERNEL_INDICES * tokens + 3 * (lora.loras + 1))
    return float(_TOKEN_INDICES * _LONG * tokens + _LONG * sequences + plans)


def refused(dims: Dimensions, lora: Lora, rule: LoraRule) -> Iterator[Text]:
    """Adapters that vLLM will not load: of a larger rank than the buffers, with modules of their own, or for a table without buffers."""
    for adapter in lora.adapters:
        if adapter.rank > lora.rank:
            yield Text("size.lora.rank", {"adapter": adapter.name, "rank": adapter.rank, "most": lora.rank})
        if adapter.extra_modules:
            yield Text("size.lora.saved", {"adapter": adapter.name, "modules": ", ".join(adapter.extra_modules[:8])})
        tables = [name for name in adapter.targets if name.rsplit(".", 1)[-1] in _TABLES]
        if tables and not has_tables(dims, rule):
            yield Text(
                "size.lora.tables",
                {"adapter": adapter.name, "modules": ", ".join(tables), "architecture": dims.architecture or dims.model_type or "?"},
            )


def host_bytes(dims: Dimensions, lora: Lora, rule: LoraRule) -> float:
    """Host memory of a full CPU cache: as many adapters as it holds, each whole, those read by their own size first."""
    known = sorted((adapter.size_bytes for adapter in lora.adapters if adapter.size_bytes), reverse=True)[: lora.cpu_loras]
    one = lora_terms(dims, msgspec.structs.replace(lora, loras=1), Rank(), rule, 0, 0)
    return float(sum(known)) + (lora.cpu_loras - len(known)) * (one.attention + one.feed_forward + one.experts)
