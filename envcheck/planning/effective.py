"""The defaults of a release on a GPU as they take effect, each with the releases that share it and the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.memoryfacts import Engine
from envcheck.model.text import Text
from envcheck.model.version_range import version_range
from envcheck.rules.engine import choose_engine
from envcheck.sizing.defaults import batched_tokens, sequences
from envcheck.sizing.inputs import Card
from envcheck.sizing.release import MemoryTable, Rules

Context = Literal["api-server", "llm-class"]
Value = str | int | float | bool | None
_CONTEXT_TOKENS = 0  # without a model: the least that a release takes


class Default(msgspec.Struct, frozen=True, kw_only=True):
    """One setting; `value` None = could not be told. `first`, `last` = the run of releases around the one asked about with this value."""

    setting: str
    value: Value
    why: Text
    first: str
    last: str


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a release on a card."""

    vllm: str
    engine: str
    gpu: str
    defaults: tuple[Default, ...]


Found = dict[str, tuple[Value, Text]]


def engine_of(matrix: Matrix, release: Release, card: Card) -> Engine:
    """The engine that a release takes on a card by itself."""
    capabilities = (card.capability,) if card.capability else ()
    return "v0" if choose_engine(matrix, release, capabilities, None).engine == "v0" else "v1"


def effective(matrix: Matrix, release: Release, card: Card, context: Context = "api-server") -> Defaults:
    """The defaults of a release on a card. Sources: `memory.json`, `effective.json`, `engines.json`."""
    table = MemoryTable(matrix.memory, matrix.capability_trait("bfloat16-min-capability"))
    asked = values(matrix, table, release, card, context)
    order = matrix.releases
    others = {other.raw: {name: value for name, (value, _) in values(matrix, table, other, card, context).items()} for other in order}
    index = next(place for place, other in enumerate(order) if other.raw == release.raw)
    found = []
    for name, (value, why) in asked.items():
        low = high = index
        while low + 1 < len(order) and others[order[low + 1].raw].get(name, _MISSING) == value:
            low += 1
        while high > 0 and others[order[high - 1].raw].get(name, _MISSING) == value:
            high -= 1
        found.append(Default(setting=name, value=value, why=why, first=order[low].raw, last=order[high].raw))
    return Defaults(vllm=release.raw, engine=engine_of(matrix, release, card), gpu=card.name, defaults=tuple(found))


_MISSING = object()


def values(
    matrix: Matrix, table: MemoryTable, release: Release, card: Card, context: Context = "api-server", engine: Engine | None = None
) -> Found:
    """Settings and reasons of one release, in the order in which people meet them; `engine` None = the one taken by itself."""
    engine = engine or engine_of(matrix, release, card)
    rules = table.rules(release.version, engine)
    records = dict(_records(matrix, release, engine))
    found: Found = {"engine": (engine.upper(), Text("defaults.why-record"))}
    found |= dict(_limits(rules, card, records, context))
    found["gpu_memory_utilization"] = (rules.defaults.gpu_memory_utilization, Text("defaults.why-record"))
    found["block_size"] = (rules.defaults.block_size, Text("defaults.why-record"))
    found["dtype"] = (_dtype(table, card), Text("defaults.why-dtype"))
    found["model_runner"] = (_runner(rules), Text("defaults.why-runner"))
    found |= {name: entry for name, entry in records.items() if not name.startswith("llm_class_")}
    return found | dict(_graphs(rules, found))


def _records(matrix: Matrix, release: Release, engine: Engine) -> Iterator[tuple[str, tuple[Value, Text]]]:
    seen = set()
    for record in matrix.effective:
        holds = record.engine in (None, engine) and version_range(record.releases).contains(release.version)
        if holds and record.setting not in seen:
            seen.add(record.setting)
            yield record.setting, (record.value, Text(f"defaults.why-{record.why}", dict(record.facts)))


def _limits(rules: Rules, card: Card, records: Found, context: Context) -> Iterator[tuple[str, tuple[Value, Text]]]:
    """Sequences and batched tokens; not known without the memory of the card where they depend on it."""
    base, sized = rules.defaults, (card.total_bytes or card.nvml_bytes) is not None
    chunked = bool(records.get("chunked_prefill", (False,))[0])
    told = sized or len(base.max_num_seqs) == 1
    yield "max_num_seqs", (sequences(base, card) if told else None, Text("defaults.why-tier"))
    if not base.batched_tokens:
        why = Text("defaults.why-context", {"least": base.least_batched_tokens})
        yield "max_num_batched_tokens", (batched_tokens(base, card, _CONTEXT_TOKENS, chunked), why)
        return
    tokens = batched_tokens(base, card, _CONTEXT_TOKENS, True) if sized else None
    if context == "llm-class" and tokens is not None:
        yield "max_num_batched_tokens", records.get(f"llm_class_batched_tokens_{tokens}", (None, Text("defaults.unknown")))
    else:
        yield "max_num_batched_tokens", (tokens, Text("defaults.why-tier"))


def _dtype(table: MemoryTable, card: Card) -> str | None:
    if card.capability is None or table.bfloat16_from is None:
        return None
    return "bfloat16" if card.capability >= table.bfloat16_from else "float16"


def _runner(rules: Rules) -> str:
    record = rules.v2_runner
    if record is None or not (record.everything or record.dense or record.architectures):
        return "V1" if rules.engine == "v1" else "V0"
    return "V2" if record.everything else "by model"


def _graphs(rules: Rules, found: Found) -> Iterator[tuple[str, tuple[Value, Text]]]:
    """How many batch sizes get a graph, and the largest of them."""
    rows, tokens = found["max_num_seqs"][0], found["max_num_batched_tokens"][0]
    facts, why = rules.graph_sizes, Text("defaults.why-graphs")
    if facts is None or not isinstance(rows, int) or not isinstance(tokens, int):
        return
    most = min(facts.largest, tokens, facts.sequences_factor * rows if facts.sequences_factor else facts.largest)
    wide = facts.wide_from or facts.largest + 1
    every = [*facts.first, *range(facts.step, wide, facts.step), *range(wide, facts.largest + 1, facts.wide_step or facts.step)]
    sizes = [size for size in every if size <= most]
    yield "cudagraph_sizes", (len(sizes), why)
    yield "cudagraph_max", (max(sizes, default=0), why)
