"""The peaks of the profile run: forward pass, sampler, encoder, and what compiling adds on a fresh host. Bytes on one rank."""

from __future__ import annotations

import msgspec

from envcheck.model.memoryfacts import Forward, Runner, Sampler
from envcheck.model.units import GIB
from envcheck.sizing.cold import compiling
from envcheck.sizing.encoder_peak import Items, encoder_peaks, profiled_items
from envcheck.sizing.question import Question
from envcheck.sizing.rank import Rank
from envcheck.sizing.release import Rules, first
from envcheck.sizing.settings import Settings
from envcheck.sizing.spec import Dimensions

_HALF = 2  # bytes of an activation; single precision doubles it
_NO_FORWARD = Forward(wide=3.0, narrow=3.0, sources=[])
_NO_SAMPLER = Sampler(bytes_per_logit=0.0, sources=[])


class Peaks(msgspec.Struct, frozen=True):
    """Bytes: of each pass; `charged` = what the budget pays for them together; `buffers` stay for good.

    `held` = what of the encoder stays beside forward pass and sampler. `cold` = what a first start adds to the charged peak,
    `cold_doubt` what it may add besides.
    """

    forward: float
    sampler: float
    workspace: float
    encoder: float
    cold: float
    buffers: float
    charged: float
    cold_doubt: float = 0.0
    held: float = 0.0

    @property
    def encoder_pays(self) -> bool:
        """Whether the encoder's pass is the largest."""
        return self.encoder > max(self.forward, self.sampler) + self.workspace + self.held


def peaks(question: Question, rank: Rank) -> Peaks:
    """The peaks on one rank: passes follow each other, so that the largest counts."""
    dims, settings, rules = question.dims, question.settings, question.rules
    items = profiled_items(dims, settings, rules) if rank.is_first else Items()
    forward, workspace = _forward(question, rank, max(settings.batched_tokens, items.prompt))
    facts = sampler_record(settings, rules, question.runner)
    rows = _rows(settings, facts, items)
    sampler = sampler_bytes(dims, settings, facts, rows) if rank.is_last else 0.0
    held, tower = encoder_peaks(dims, settings, rules) if rank.is_first else (0.0, 0.0)
    buffers = rows * dims.vocab * facts.buffer_bytes_per_logit if rank.is_last else 0.0
    warm = max(max(forward, sampler) + workspace + held, tower)
    first_run = compiling(question, rank)
    cold = max(0.0, first_run.peak - warm)
    doubt = max(0.0, first_run.peak + first_run.doubtful - warm - cold)
    return Peaks(forward, sampler, workspace, max(held, tower), cold, buffers, warm + cold, doubt, held)


def forward_record(rules: Rules, runner: Runner) -> Forward:
    """What is known of the forward pass."""
    return first(rules.forward, lambda r: r.runner in (None, runner)) or _NO_FORWARD


def sampler_record(settings: Settings, rules: Rules, runner: Runner) -> Sampler:
    """What is known of the sampler that is used."""
    return first(rules.sampler, lambda r: r.runner in (None, runner) and (settings.flashinfer or not r.flashinfer)) or _NO_SAMPLER


def _forward(question: Question, rank: Rank, tokens: int) -> tuple[float, float]:
    """(forward pass, workspace that stays); a workspace that is given back counts with the layer that uses it.

    With data parallelism the experts see the batches of all replicas.
    """
    dims, settings = question.dims, question.settings
    facts = forward_record(question.rules, question.runner)
    gathered = tokens * settings.replicas
    chunk = min(gathered, facts.expert_chunk or gathered)
    forward, workspace = (
        forward_bytes(dims, settings, rank, facts, tokens),
        workspace_bytes(dims, rank, chunk, whole=settings.expert_parallel),
    )
    if facts.expert_workspace == "transient":
        layer = tokens * facts.narrow * dims.hidden * _activation_bytes(settings)
        return max(forward, workspace + layer if workspace else 0.0), 0.0
    return forward, workspace


def _rows(settings: Settings, facts: Sampler, items: Items) -> int:
    """Rows of the sampler; a prompt that holds the dummy items of V0 leaves room for few more."""
    if facts.rows == "tokens":
        return settings.batched_tokens
    rows = min(settings.sequences, settings.batched_tokens)
    return max(1, min(rows, settings.batched_tokens // items.prompt)) if items.prompt else rows


def forward_bytes(dims: Dimensions, settings: Settings, rank: Rank, facts: Forward, tokens: int) -> float:
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
    return tokens * rows * _activation_bytes(settings) + extra


def sampler_bytes(dims: Dimensions, settings: Settings, facts: Sampler, rows: int) -> float:
    """Sampling one token for every sequence at once; the logits are gathered, so ranks do not divide them."""
    if not settings.sampler_in_profile:
        return 0.0
    wider = 2.0 if settings.dtype_bytes == 4 else 0.0
    hidden = settings.batched_tokens * dims.hidden * _activation_bytes(settings) if facts.keeps_hidden_states else 0.0
    return rows * dims.vocab * (facts.bytes_per_logit + wider) + hidden


def workspace_bytes(dims: Dimensions, rank: Rank, tokens: int, *, whole: bool) -> float:
    """Scratch of the fused expert kernels: both products of every token's chosen experts; `whole` = ranks hold whole experts."""
    experts = dims.experts
    if experts is None or not dims.family.fused_experts:
        return 0.0
    shard = experts.intermediate / (1 if whole else rank.ranks)
    widths = max(shard, experts.width) + max(2 * shard, experts.width)
    return float(tokens * experts.per_token * widths * _HALF)


def _activation_bytes(settings: Settings) -> int:
    return max(_HALF, settings.dtype_bytes)
