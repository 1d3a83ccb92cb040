"""The memory budget of one server: its terms, what is left for the KV cache, and the first of the server's checks that fails."""

from __future__ import annotations

import msgspec

from envcheck.model.budget import FailureKind
from envcheck.model.units import GIB
from envcheck.sizing.card import context_bytes
from envcheck.sizing.graphs import estimate_share, graph_bytes
from envcheck.sizing.host import host_shortage
from envcheck.sizing.kv_blocks import Pool
from envcheck.sizing.non_torch import card_bytes, non_torch_bytes
from envcheck.sizing.peaks import Peaks, peaks
from envcheck.sizing.question import Question
from envcheck.sizing.rank import Rank


class RankBudget(msgspec.Struct, frozen=True):
    """One rank's terms in bytes. `others` = context and other processes where the release charges them; `kv` may be negative."""

    rank: Rank
    total: float
    budget: float
    weights: float
    peaks: Peaks
    non_torch: float
    others: float
    graphs: float
    graphs_charged: float
    kv: float


class Shortage(msgspec.Struct, frozen=True):
    """A check that fails: needed and available bytes."""

    kind: FailureKind
    needed: float
    available: float


class Outcome(msgspec.Struct, frozen=True):
    """What comes of a start: the ranks, the pool, blocks, the first shortage.

    `margin` = the smallest of the checks passed (bytes), which is that of `closest`.
    """

    ranks: list[RankBudget]
    pool: Pool
    blocks: int
    shortage: Shortage | None
    margin: float
    closest: FailureKind

    @property
    def kv(self) -> float:
        """KV memory of the tightest rank."""
        return min(rank.kv for rank in self.ranks)


def outcome(question: Question) -> Outcome | None:
    """The outcome, or None where total memory or weights are not known."""
    ranks = [budget for rank in question.stages if (budget := rank_budget(question, rank)) is not None]
    if len(ranks) < len(question.stages) or question.dims.missing:
        return None
    pool = question.pool()
    kv = min(rank.kv for rank in ranks)
    blocks = question.settings.blocks or pool.blocks(kv)
    shortage, margin = None, float("inf")
    closest: FailureKind = "kv-too-small"
    for kind, needed, available in _checks(question, ranks, pool, kv):
        if available - needed < margin:
            margin, closest = available - needed, kind
        if needed > available:
            shortage = Shortage(kind, needed, available)
            break
    return Outcome(ranks, pool, blocks, shortage, margin, closest)


def rank_budget(question: Question, rank: Rank) -> RankBudget | None:
    """One rank's terms."""
    total, weights = question.total, question.weights(rank)
    if total is None or weights is None:
        return None
    settings, rules, card = question.settings, question.rules, question.inputs.card
    peak = peaks(question, rank)
    outside = non_torch_bytes(card, settings, rules, question.runner)
    others = card_bytes(card, total, rules)
    graphs = graph_bytes(question.dims, settings, rules, question.runner)
    charged = graphs * estimate_share(question.dims, rules, question.runner) if question.graphs_budgeted else 0.0
    buffers = peak.buffers if question.rules.accounting.charges_buffers else 0.0
    budget = settings.utilization * total
    kv = budget - weights - peak.charged - outside - others - buffers - charged
    return RankBudget(rank, total, budget, weights, peak, outside + buffers, others, graphs, charged, settings.kv_bytes or kv)


def free_bytes(question: Question, total: float) -> tuple[float, bool]:
    """(free memory once the context exists, whether it was told).

    A driver tells it before the context exists, a server's log after: of a told figure the context is taken only where it shows that
    nobody else is on the card.
    """
    card = question.inputs.card
    made = question.settings.gpus if question.rules.accounting.charges == "after-communicators" else 1  # else they are charged
    idle = max(0.0, total - context_bytes(card, total, made, question.rules.facts))
    return (min(card.free_bytes, idle), True) if card.free_bytes is not None else (idle, False)


def _checks(question: Question, ranks: list[RankBudget], pool: Pool, kv: float) -> list[tuple[FailureKind, float, float]]:
    """The server's checks in order: (kind, needed, available)."""
    first, settings = ranks[0], question.settings
    free, _ = free_bytes(question, first.total)
    host = host_shortage(question)
    checks: list[tuple[FailureKind, float, float]] = [("host-memory", *host)] if host else []
    if question.rules.accounting.free_memory_check and not settings.kv_bytes:
        checks.append(("free-memory", first.budget, free))
    checks.append(("weights", max(rank.weights for rank in ranks), free))
    for rank in ranks:
        checks.append(("encoder" if rank.peaks.encoder_pays else "profile-run", rank.weights + rank.non_torch + rank.peaks.charged, free))
    checks.append(("no-kv-blocks", pool.block_bytes, kv))
    if not settings.fit_context:
        checks.append(("kv-too-small", pool.request_bytes(settings.context), kv))
    for rank in ranks:
        checks += _after_capture(question, rank, free)
    return checks


def _after_capture(question: Question, rank: RankBudget, free: float) -> list[tuple[FailureKind, float, float]]:
    """Graph capture and sampler warm-up come when the KV cache is taken already, and draw on what the budget leaves."""
    left = free - rank.weights - max(rank.kv, 0.0) - rank.non_torch
    checks: list[tuple[FailureKind, float, float]] = []
    if rank.graphs:
        checks.append(("cuda-graphs", rank.graphs, left))
    if question.rules.engine == "v1" and question.rules.accounting.warms_sampler and rank.peaks.sampler and question.runner == "v1":
        slack = question.rules.facts.margins[0].warm_up_share * rank.peaks.sampler
        checks.append(("sampler-warmup", rank.peaks.sampler + slack, left - rank.graphs))
    return checks


def noise_bytes(question: Question) -> float:
    """Two runs of one command differ by this much."""
    return question.rules.facts.margins[0].noise_gib * GIB
