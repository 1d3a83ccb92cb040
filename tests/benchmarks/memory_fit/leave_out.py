"""How the model does on runs that its constants have not seen: each model family, and each release range, left out of the fit in turn."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from functools import partial

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envcheck.model.memoryfacts import MemoryFacts, NonTorch
from envcheck.model.units import GIB
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.interval import kv_interval
from envcheck.sizing.question import ask
from envcheck.sizing.release import MemoryTable
from tests.benchmarks.memory_fit.constants import Constant, Fit, borrowed, constants, fit, predicted, with_value
from tests.benchmarks.memory_fit.logged import Logged

_FUTURE = Version("9999")


class Miss(msgspec.Struct, frozen=True):
    """One run's KV memory: predicted and logged GiB, the interval given, the error as a share of the GPU's memory.

    `terms` = (predicted, logged) GiB of the other terms that its log tells.
    """

    run: str
    fold: str
    predicted_gib: float
    logged_gib: float
    low_gib: float
    high_gib: float
    share: float
    terms: dict[str, tuple[float, float]] = {}

    @property
    def inside(self) -> bool:
        """Whether the logged figure lies in the interval, to the rounding of a log."""
        return self.low_gib - 0.005 <= self.logged_gib <= self.high_gib + 0.005


def misses(facts: MemoryFacts, runs: Iterable[Logged], fold: str = "") -> list[Miss]:
    """The error of every run whose log decides the KV memory."""
    table, found = MemoryTable(facts), []
    for run in runs:
        question = ask(run.inputs, table)
        rank = rank_budget(question, question.stages[0])
        if "kv" not in run.seen or rank is None:
            continue
        low, high = kv_interval(question, rank)
        told = predicted(question)
        kv, seen = told.pop("kv"), run.seen["kv"]
        terms = {term: (value, run.seen[term]) for term, value in told.items() if term in run.seen}
        found.append(Miss(run.id, fold, kv, seen, low / GIB, high / GIB, abs(kv - seen) / run.run.total_gib, terms))
    return found


def unmeasured(facts: MemoryFacts) -> MemoryFacts:
    """The facts with the spreads that a release gets of which there is no log: those of the newest, unbounded range."""
    newest = [one for one in facts.spreads if not one.releases or SpecifierSet(one.releases).contains(_FUTURE)]
    return msgspec.structs.replace(facts, spreads=[msgspec.structs.replace(one, releases="") for one in newest])


def left_out(facts: MemoryFacts, everything: Fit, runs: list[Logged], folds: Iterable[tuple[str, list[Logged]]]) -> list[Miss]:
    """The errors of each fold's runs under constants fitted without them.

    A constant that only the fold's runs decide is taken from the nearest record that has others; communicators over links as the largest
    that the fold does not decide, as the model has them for releases without logs. `facts` may have other spreads than the fit `everything`
    started from.
    """
    found = []
    for name, inside in folds:
        ids = {run.id for run in inside}
        concerned = {constant for constant, deciding in everything.runs.items() if ids & set(deciding)}
        rest = [run for run in runs if run.id not in ids]
        fitted = fit(facts, rest, concerned, always=True)
        changed = fitted.facts
        for one in fitted.bare:
            other = _careful(facts, one, everything, ids) or borrowed(facts, one, partial(_has_others, everything, ids))
            changed = with_value(changed, one, other or 0.0)
        found += misses(changed, inside, name)
    return found


def _careful(facts: MemoryFacts, one: Constant, everything: Fit, ids: set[str]) -> float | None:
    """The most that communicators of so many linked ranks take by a record not of the fold alone; None for other constants."""
    if one.records != "non_torch" or facts.non_torch[one.place].interconnect != "nvlink":
        return None
    own = facts.non_torch[one.place]
    like = [
        other.value
        for other in constants(facts)
        if other.records == "non_torch"
        and other.place != one.place
        and _linked(facts.non_torch[other.place], own)
        and not (set(everything.runs[other.name]) and set(everything.runs[other.name]) <= ids)
    ]
    return max(like, default=None)


def _linked(other: NonTorch, own: NonTorch) -> bool:
    """Whether another record speaks of links between as many ranks or fewer."""
    return (other.engine, other.interconnect) == (own.engine, own.interconnect) and other.ranks <= own.ranks


def _has_others(everything: Fit, ids: set[str], constant: Constant) -> bool:
    """Whether a run outside the fold decides the constant."""
    return bool(set(everything.runs.get(constant.name, ())) - ids)


def table(found: list[Miss]) -> dict[str, float]:
    """The figures of a list of errors: shares of the GPU's memory, GiB, and how many lie inside their intervals."""
    shares = sorted(miss.share for miss in found)
    widths = sorted((miss.high_gib - miss.low_gib) / 2 for miss in found)
    return {
        "n": len(found),
        "median_share": statistics.median(shares),
        "p90_share": _ninth(shares),
        "worst_share": shares[-1],
        "inside": sum(miss.inside for miss in found) / len(found),
        "width_factor_for_90_percent": _ninth([_factor(miss) for miss in found]),
        "median_half_width_gib": statistics.median(widths),
        "over_promised": sum(miss.share > 0.02 and miss.predicted_gib > miss.logged_gib for miss in found),
    }


def term_table(found: list[Miss]) -> dict[str, dict[str, float]]:
    """The error of each logged term: runs, median and ninetieth percentile in GiB, the latter also as a share of the term."""
    out = {}
    for term in sorted({term for miss in found for term in miss.terms}):
        pairs = [miss.terms[term] for miss in found if term in miss.terms]
        errors = sorted(abs(told - seen) for told, seen in pairs)
        shares = [abs(told - seen) / max(told, 0.01) for told, seen in pairs]
        out[term] = {"n": len(pairs), "median_gib": statistics.median(errors), "p90_gib": _ninth(errors), "p90_share": _ninth(shares)}
    return out


def _ninth(values: list[float]) -> float:
    """The ninetieth percentile."""
    return sorted(values)[round(0.9 * (len(values) - 1))]


def _factor(miss: Miss) -> float:
    """By what the interval's side would have to grow to reach the logged figure."""
    above = miss.logged_gib > miss.predicted_gib
    side = miss.high_gib - miss.predicted_gib if above else miss.predicted_gib - miss.low_gib
    return max(0.0, abs(miss.logged_gib - miss.predicted_gib) - 0.005) / max(side, 0.001)
