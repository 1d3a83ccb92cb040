"""The records that hold for one release and engine. Development builds count as the release they lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from packaging.version import Version

from envcheck.model.memorycards import Spread
from envcheck.model.memoryfacts import (
    Accounting,
    ColdStart,
    Defaults,
    DraftRule,
    EncoderRows,
    Engine,
    Family,
    Forward,
    GraphMemory,
    GraphSizes,
    KvLayout,
    LoraRule,
    MemoryFacts,
    MemoryRecord,
    NonTorch,
    QuantizationFormat,
    Sampler,
    Tier,
    V2Runner,
)
from envcheck.model.version_range import version_range
from envcheck.model.versions import ComputeCapability

R = TypeVar("R", bound=MemoryRecord)
_NEWEST = Version("9999")
_CACHED = 512  # releases x engines; a batch of hostile versions must not fill memory
_NO_ACCOUNTING = Accounting(charges="process", graphs="outside", sources=[])
_NO_DEFAULTS = Defaults(gpu_memory_utilization=0.9, max_num_seqs=[Tier(value=256)], batched_tokens=[Tier(value=2048)], sources=[])
_NO_LAYOUT = KvLayout(tokens="blocks", hybrid=True, sources=[])


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for one release (None = not known, then the newest rules hold) and engine; lists in the order of the records.

    `measured` = logs of the release's range are known.
    """

    release: Version | None
    measured: bool
    engine: Engine
    facts: MemoryFacts
    accounting: Accounting
    defaults: Defaults
    kv_layout: KvLayout
    graph_sizes: GraphSizes | None
    v2_runner: V2Runner | None
    sampler: list[Sampler]
    forward: list[Forward]
    encoder_rows: list[EncoderRows]
    cold_start: list[ColdStart]
    non_torch: list[NonTorch]
    graph_memory: list[GraphMemory]
    quantization: list[QuantizationFormat]
    families: list[Family]
    spreads: list[Spread]
    drafts: DraftRule | None = None
    lora: LoraRule | None = None


class MemoryTable:
    """`matrices/memory.json` with its version ranges resolved once a release.

    `bfloat16_from` = the compute capability from which vLLM serves bfloat16; None = not known.
    """

    def __init__(self, facts: MemoryFacts, bfloat16_from: ComputeCapability | None = None) -> None:
        self.facts = facts
        self.bfloat16_from = bfloat16_from
        self._rules: dict[tuple[Version | None, Engine | None], Rules] = {}

    def rules(self, release: Version | None, engine: Engine | None) -> Rules:
        """The rules of a release and engine; None = the release's default; an engine that it does not have gives way to the other."""
        key = (release, engine)
        if key not in self._rules:
            if len(self._rules) >= _CACHED:
                self._rules.clear()
            self._rules[key] = self._resolve(release, final_release(release), engine)
        return self._rules[key]

    def _resolve(self, release: Version | None, final: Version, engine: Engine | None) -> Rules:
        facts = self.facts
        existing = [record for record in facts.accounting if self._holds(record.releases, final)]
        accounting = next((r for r in existing if r.engine == (engine or r.default_engine)), existing[0] if existing else _NO_ACCOUNTING)
        chosen: Engine = accounting.engine or engine or "v1"

        def all_of(records: Sequence[R]) -> list[R]:
            return [r for r in records if r.engine in (None, chosen) and self._holds(r.releases, final)]

        return Rules(
            release=release,
            measured=self._holds(facts.margins[0].measured, final),
            engine=chosen,
            facts=facts,
            accounting=accounting,
            defaults=first(all_of(facts.defaults)) or _NO_DEFAULTS,
            kv_layout=first(all_of(facts.kv_layout)) or _NO_LAYOUT,
            graph_sizes=first(all_of(facts.graph_sizes)),
            v2_runner=first(all_of(facts.v2_runner)) if chosen == "v1" else None,
            sampler=all_of(facts.sampler),
            forward=all_of(facts.forward),
            encoder_rows=all_of(facts.encoder_rows),
            cold_start=all_of(facts.cold_start),
            non_torch=all_of(facts.non_torch),
            graph_memory=all_of(facts.graph_memory),
            quantization=all_of(facts.quantization),
            families=[self._family(family, final) for family in facts.families],
            spreads=all_of(facts.spreads),
            drafts=first(all_of(facts.drafts)),
            lora=first(all_of(facts.lora)),
        )

    def _family(self, family: Family, final: Version) -> Family:
        """The family with the encoder items of this release."""
        if not family.encoder:
            return family
        items = [item for item in family.encoder if self._holds(item.releases, final)]
        return msgspec.structs.replace(family, encoder=items)

    def _holds(self, releases: str, final: Version) -> bool:
        return not releases or version_range(releases).contains(final)


def first(records: Sequence[R], keep: Callable[[R], bool] | None = None) -> R | None:
    """The first record, or the first that is wanted."""
    return next((record for record in records if keep is None or keep(record)), None)


def final_release(version: Version | None) -> Version:
    """The release a version is, or leads to: `0.26.1rc1.dev608` → 0.26.1; post-releases and final ones stay; None → the newest."""
    if version is None:
        return _NEWEST
    return Version(version.base_version) if version.is_prerelease or version.local else version
