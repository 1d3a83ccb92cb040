"""The calibration constants of `matrices/memory.json`, and their fit to logged runs.

Each constant is one number of one record. A run that its record decides says what the number would have to be; the constant is the
weighted median of those, which a few odd runs do not move. Constants are fitted in turn, a few rounds, for a run without its own figure of
a term speaks through its KV memory. GiB.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import msgspec

from envcheck.model.memoryfacts import MemoryFacts, MemoryRecord
from envcheck.model.units import GIB
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.question import Question, ask
from envcheck.sizing.release import MemoryTable
from tests.benchmarks.memory_fit.logged import Logged

# (list of records, field, the term whose logged figure it is fitted to, smallest step that is worth a change)
FITTED = (
    ("sampler", "bytes_per_logit", "activation", 0.05),
    ("cold_start", "gib", "activation", 0.02),
    ("non_torch", "gib", "non_torch", 0.01),
    ("graph_memory", "mib_per_graph_layer", "graphs", 0.01),
    ("encoder_rows", "sharded", "activation", 0.1),
)
_QUALIFIERS = ("ranks", "interconnect", "pipeline", "runner", "model_types", "flashinfer")
_ROUNDS = 2
_WORTH = 0.98  # of the loss; a change that gains less is noise
_PROBE = 0.02  # relative step by which a constant's effect is measured


class Constant(msgspec.Struct, frozen=True):
    """One number: where it stands, and its record's value."""

    records: str
    place: int
    field: str
    term: str
    step: float
    value: float

    @property
    def name(self) -> str:
        """As a path in the file."""
        return f"{self.records}[{self.place}].{self.field}"


class Fit(msgspec.Struct, frozen=True):
    """Fitted facts; the runs each constant rests on, by name; constants that no run is left for."""

    facts: MemoryFacts
    values: dict[str, float]
    runs: dict[str, list[str]]
    bare: list[Constant]


def constants(facts: MemoryFacts) -> list[Constant]:
    """Every fitted number with its present value."""
    found = []
    for records, field, term, step in FITTED:
        for place, record in enumerate(getattr(facts, records)):
            if getattr(record, field, None) is not None:
                found.append(Constant(records, place, field, term, step, float(getattr(record, field))))
    return found


def with_value(facts: MemoryFacts, constant: Constant, value: float) -> MemoryFacts:
    """The facts with one number changed."""
    records: list[MemoryRecord] = list(getattr(facts, constant.records))
    records[constant.place] = msgspec.structs.replace(records[constant.place], **{constant.field: value})
    return msgspec.structs.replace(facts, **{constant.records: records})


def predicted(question: Question) -> dict[str, float]:
    """GiB of each term of the first rank, as a log names them."""
    rank = rank_budget(question, question.stages[0])
    if rank is None:
        return {}
    return {
        "kv": rank.kv / GIB,
        "activation": rank.peaks.charged / GIB,
        "non_torch": (rank.non_torch + rank.others) / GIB,
        "graphs": rank.graphs / GIB,
    }


def predict(run: Logged, table: MemoryTable) -> dict[str, float]:
    """The terms of a run."""
    return predicted(ask(run.inputs, table))


def fit(facts: MemoryFacts, runs: list[Logged], only: Collection[str] | None = None, *, always: bool = False) -> Fit:
    """The constants fitted to the runs; `only` = names of those to fit, the others stay.

    A value is changed only where that gains something, or `always`: then nothing of the present values is left in the fitted ones.
    """
    chosen = [one for one in constants(facts) if only is None or one.name in only]
    rests: dict[str, list[str]] = {}
    values: dict[str, float] = {}
    for _ in range(_ROUNDS):
        for one in chosen:
            now = float(getattr(getattr(facts, one.records)[one.place], one.field))
            wanted = list(_wanted(facts, one, now, runs))
            rests[one.name] = [name for name, _, _ in wanted]
            if not wanted:
                continue
            best = max(0.0, median([(value, weight) for _, value, weight in wanted]))
            changed = with_value(facts, one, best)
            moved = [run for run in runs if run.id in rests[one.name]]
            if always or (abs(best - now) >= one.step and loss(changed, moved) < loss(facts, moved) * _WORTH):
                facts, now = changed, best
            values[one.name] = now
    bare = [one for one in chosen if not rests[one.name]]
    return Fit(facts, values, rests, bare)


def _wanted(facts: MemoryFacts, one: Constant, now: float, runs: list[Logged]) -> list[tuple[str, float, float]]:
    """(run, what the constant would have to be, weight) for every run whose figure moves with it; a sweep's runs weigh less each."""
    step = max(abs(now) * _PROBE, 0.001)
    table, other = MemoryTable(facts), MemoryTable(with_value(facts, one, now + step))
    found = []
    for run in runs:
        before, after = predict(run, table), predict(run, other)
        own = one.term in run.seen
        term = one.term if own else "kv"
        if term not in run.seen or term not in before:
            continue
        slope = (after[term] - before[term]) / step
        if abs(slope) < 1e-6:
            continue
        weight = abs(slope) * (1.0 if own else 0.5) * (0.25 if "sweep" in run.run.group else 1.0)
        found.append((run.id, now + (run.seen[term] - before[term]) / slope, weight))
    return found


def loss(facts: MemoryFacts, runs: list[Logged]) -> float:
    """Sum of the absolute errors of every figure the runs tell, GiB; a sweep's runs weigh less each."""
    table, total = MemoryTable(facts), 0.0
    for run in runs:
        terms = predict(run, table)
        errors = [abs(terms[term] - value) for term, value in run.seen.items() if term in terms]
        total += sum(errors) * (0.25 if "sweep" in run.run.group else 1.0)
    return total


def median(pairs: list[tuple[float, float]]) -> float:
    """The weighted median of (value, weight)."""
    pairs = sorted(pairs)
    half, so_far = sum(weight for _, weight in pairs) / 2, 0.0
    for value, weight in pairs:
        so_far += weight
        if so_far >= half:
            return value
    return pairs[-1][0]


def borrowed(facts: MemoryFacts, one: Constant, fits: Callable[[Constant], bool]) -> float | None:
    """The value of the nearest record of the same list and engine that `fits`: what one would take who had no run of one's own."""
    records = getattr(facts, one.records)
    own = records[one.place]
    near = sorted(range(len(records)), key=lambda place: (_unlike(own, records[place]), abs(place - one.place)))
    for place in near:
        other = msgspec.structs.replace(one, place=place, value=float(getattr(records[place], one.field) or 0.0))
        if place != one.place and records[place].engine == own.engine and fits(other):
            return other.value
    return None


def _unlike(own: MemoryRecord, other: MemoryRecord) -> int:
    """How many qualifiers two records differ in, their releases apart."""
    return sum(getattr(own, name, None) != getattr(other, name, None) for name in _QUALIFIERS)
