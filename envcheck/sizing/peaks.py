"""The peaks of the profile run: forward pass, sampler, encoder, and what compiling adds on a fresh host. Bytes on one rank."""

from __future__ import annotations

import msgspec

from envcheck.model.memoryfacts import EncoderItem, EncoderRows, Forward, Runner, Sampler
from envcheck.model.units import GIB
from envcheck.sizing.rank import Rank
from envcheck.sizing.release import Rules, first
from envcheck.sizing.settings import Settings
from envcheck.sizing.spec import Dimensions

_HALF = 2  # bytes of an activation; single precision doubles it
_NO_FORWARD = Forward(wide=3.0, narrow=3.0, sources=[])
_NO_SAMPLER = Sampler(bytes_per_logit=0.0, sources=[])


class Peaks(msgspec.Struct, frozen=True):
    """Bytes: of each pass; `charged` = what the budget pays for them together; `buffers` stay for good."""

    forward: float
    sampler: float
    workspace: float
    encoder: float
    cold: float
    buffers: float
    charged: float


def peaks(dims: Dimensions, settings: Settings, rank: Rank, rules: Rules, runner: Runner, cold: bool) -> Peaks:
    """The peaks on one rank."""
    forward_facts = first(rules.forward, lambda r: r.runner in (None, runner)) or _NO_FORWARD
    sampler_facts = first(rules.sampler, lambda r: r.runner in (None, runner) and (settings.flashinfer or not r.flashinfer)) or _NO_SAMPLER
    workspace = workspace_bytes(dims, settings, rank)
    forward = forward_bytes(dims, settings, rank, forward_facts)
    if forward_facts.expert_workspace == "transient":
        layer = settings.batched_tokens * forward_facts.narrow * dims.hidden * _activation_bytes(settings)
        forward, workspace = max(forward, workspace + layer if workspace else 0.0), 0.0
    sampler = sampler_bytes(dims, settings, sampler_facts) if rank.is_last else 0.0
    held, tower = encoder_bytes(dims, settings, rules) if rank.is_first else (0.0, 0.0)
    compiling = cold_bytes(rules, runner) if cold and settings.graphs else 0.0
    buffers = logit_count(dims, settings, sampler_facts) * sampler_facts.buffer_bytes_per_logit if rank.is_last else 0.0
    together = max(forward, sampler) + workspace + held
    return Peaks(forward, sampler, workspace, max(held, tower), compiling, buffers, max(together, tower) + compiling)


def forward_bytes(dims: Dimensions, settings: Settings, rank: Rank, facts: Forward) -> float:
    """One batch through the widest layer: rows of the sharded feed-forward or attention width and of the hidden size."""
    dense = any(group.layer.feed_forward == "dense" for group in dims.layers)
    widths = [dims.intermediate if dense and not (dims.experts and dims.experts.shared > dims.intermediate) else 0]
    if dims.experts:
        widths.append(dims.experts.shared)
    if not dims.latent:
        widths.append(dims.heads * dims.head_dim)
    else:
        widths.append(dims.heads * (dims.latent.nope + dims.latent.rope))
    if dims.recurrent:
        widths.append(dims.recurrent.projection_in // 2)
    rows = facts.wide * max(widths) / settings.tensor_ranks + facts.narrow * dims.hidden
    extra = facts.first_stage_gib * GIB if rank.stages > 1 and rank.is_first else 0.0
    return settings.batched_tokens * rows * _activation_bytes(settings) + extra


def logit_count(dims: Dimensions, settings: Settings, facts: Sampler) -> float:
    """Rows of the sampler x vocabulary."""
    rows = settings.batched_tokens if facts.rows == "tokens" else min(settings.sequences, settings.batched_tokens)
    return float(rows * dims.vocab)


def sampler_bytes(dims: Dimensions, settings: Settings, facts: Sampler) -> float:
    """Sampling one token for every sequence at once; the logits are gathered, so ranks do not divide them."""
    if not settings.sampler_in_profile:
        return 0.0
    wider = 2.0 if settings.dtype_bytes == 4 else 0.0
    hidden = settings.batched_tokens * dims.hidden * _activation_bytes(settings) if facts.keeps_hidden_states else 0.0
    return logit_count(dims, settings, facts) * (facts.bytes_per_logit + wider) + hidden


def workspace_bytes(dims: Dimensions, settings: Settings, rank: Rank) -> float:
    """Scratch of the fused expert kernels: both products of every token's chosen experts, kept for good."""
    experts = dims.experts
    if experts is None or not dims.family.fused_experts:
        return 0.0
    shard = experts.intermediate / rank.ranks
    widths = max(shard, experts.width) + max(2 * shard, experts.width)
    return settings.batched_tokens * experts.per_token * widths * _HALF


def encoder_bytes(dims: Dimensions, settings: Settings, rules: Rules) -> tuple[float, float]:
    """(what stays while the language model runs, the encoder's own peak) for the largest item allowed."""
    if settings.text_only or not settings.profile_encoder:
        return 0.0, 0.0
    beside = 2.0 * settings.batched_tokens * dims.hidden * _HALF
    items = [item for item in dims.family.encoder if settings.limits.get(item.modality, 1)]
    if not items:
        return beside, 0.0
    if rules.engine == "v0":
        tokens = sum(_tokens(item, settings.context) * settings.limits.get(item.modality, 1) for item in items)
        rows = tokens
    else:
        largest = max(items, key=lambda item: item.held_tokens or _tokens(item, settings.context))
        tokens = _tokens(largest, settings.context)
        rows = largest.held_tokens or tokens
    held = float(rows * dims.hidden * dims.family.encoder_outputs * _HALF)
    ranks = settings.tensor_ranks if dims.family.encoder_sharded else 1
    return beside + held, held + _tower_bytes(dims, tokens, ranks, rules.encoder_rows)


def _tower_bytes(dims: Dimensions, tokens: int, ranks: int, facts: EncoderRows | None) -> float:
    """The encoder's own peak: a few rows of its width for every patch, and the sharded rows of attention and feed-forward part."""
    vision = dims.vision
    if vision is None or facts is None:
        return 0.0
    sharded = facts.sharded * vision.hidden + (dims.family.encoder_mlp_matrices - 1) * vision.intermediate
    return tokens * vision.merge**2 * (facts.whole * vision.hidden + sharded / ranks) * _HALF


def _tokens(item: EncoderItem, context: int) -> int:
    """Tokens of the largest item; some grow with the context, whole frames at a time."""
    return item.tokens * min(item.per_context, max(1, context // item.tokens))


def cold_bytes(rules: Rules, runner: Runner) -> float:
    """What compiling adds to the peak of a first start."""
    record = first(rules.cold_start, lambda r: r.runner in (None, runner))
    return record.gib * GIB if record else 0.0


def _activation_bytes(settings: Settings) -> int:
    return max(_HALF, settings.dtype_bytes)
