"""Whether a server starts: surely, by a close call, or not."""

from __future__ import annotations

from envcheck.model.budget import SizeVerdict
from envcheck.sizing.budget import Outcome, Shortage, free_bytes, noise_bytes
from envcheck.sizing.card import context_bytes
from envcheck.sizing.interval import kv_interval
from envcheck.sizing.question import Question


def verdict(question: Question, found: Outcome | None) -> SizeVerdict:
    """`tight` = it should start, but by a close call."""
    if found is None:
        return "unknown"
    if found.shortage:
        return "does-not-fit"
    return "tight" if close_call(question, found) else "fits"


def close_call(question: Question, found: Outcome) -> Shortage | None:
    """The check that a start passes too closely to rely on, with what it would take to be sure; None where all are passed surely.

    Free memory that suffices only on an idle card; an interval of the KV memory that holds what one request needs; a margin no larger than
    two runs differ.
    """
    total = found.ranks[0].total
    free, told = free_bytes(question, total)
    budget = found.ranks[0].budget + context_bytes(question.inputs.card, total, 1, question.rules.facts)
    if told and question.rules.accounting.free_memory_check and free < budget:
        return Shortage("free-memory", budget, free)
    low, fitting = sure_bytes(question, found), question.settings.fit_context
    least = found.pool.block_bytes if fitting else found.pool.request_bytes(question.settings.context)
    if low < least:
        return Shortage("no-kv-blocks" if fitting else "kv-too-small", least, low)
    noise = noise_bytes(question)
    return Shortage(found.closest, noise, found.margin) if found.margin < noise else None


def sure_bytes(question: Question, found: Outcome) -> float:
    """KV memory of the tightest rank in nine starts of ten."""
    return min(kv_interval(question, rank)[0] for rank in found.ranks)
