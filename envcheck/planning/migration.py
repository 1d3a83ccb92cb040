"""What a change of release asks of whoever served on the old one: the way from engine V0 to V1 as one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.text import Text
from envcheck.planning.effective import Value
from envcheck.planning.fallback import kept_on_v0
from envcheck.rules.engine import choose_engine
from envcheck.sizing.inputs import Card
from envcheck.sizing.release import MemoryTable

_OF_V0 = ("swap", "graphs-of-v0")  # reasons of replacements whose argument only V0 ever read


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """Two releases on a card, their engines and defaults, and the arguments given."""

    old: Release
    new: Release
    card: Card
    engines: tuple[str, str]
    before: Mapping[str, Value]
    after: Mapping[str, Value]
    given: frozenset[str]
    serve_args: Mapping[str, Any]
    quantization: str | None = None  # the model's own


def headline(matrix: Matrix, move: Move) -> Text:
    """V0 to V1 in a sentence: stays, moves and can go back, or moves for good."""
    here, there = move.engines
    if here == there:
        return Text("upgrade.engine-stays", {"engine": here.upper()})
    if there == "v1" and _way_back(matrix, move.new):
        return Text("upgrade.engine-moves", {"vllm": move.new.raw})
    if there == "v0":
        return Text("upgrade.engine-back", {"vllm": move.new.raw, "engine": there.upper()})
    return Text("upgrade.engine-moves-for-good", {"vllm": move.new.raw, "engine": there.upper()})


def _way_back(matrix: Matrix, release: Release) -> bool:
    entry = matrix.engine(release)
    return entry is not None and "v0" in entry.available and entry.switch == "selects"


def steps(matrix: Matrix, move: Move) -> Iterator[Text]:
    """What to do, in order; only what applies to this card and these arguments."""
    if move.old.version == move.new.version:
        return
    yield from _gpu(matrix, move)
    yield from _quantization(matrix, move)
    yield from _kept(matrix, move)
    yield from _switch(matrix, move)
    yield from _unread(matrix, move)
    yield from _defaults(matrix, move)
    yield from _free_memory(matrix, move)
    if move.engines == ("v0", "v1"):
        back = _way_back(matrix, move.new)
        yield Text("upgrade.step-memory-back" if back else "upgrade.step-memory", {"vllm": _last_v0(matrix)})


def _last_v0(matrix: Matrix) -> str:
    return next((release.raw for release in matrix.releases if (entry := matrix.engine(release)) and "v0" in entry.available), "?")


def _gpu(matrix: Matrix, move: Move) -> Iterator[Text]:
    """A card that the new release's engine refuses, or serves by V0 alone."""
    if move.card.capability is None:
        return
    choice = choose_engine(matrix, move.new, (move.card.capability,), None)
    if choice.refused:
        yield Text("upgrade.step-gpu-refused", {"vllm": move.new.raw, "capability": str(choice.refused), "needed": str(choice.needed)})
    elif choice.fallback:
        yield Text("upgrade.step-gpu-v0", {"vllm": move.new.raw, "capability": str(move.card.capability), "last": _last_v0(matrix)})


def _quantization(matrix: Matrix, move: Move) -> Iterator[Text]:
    """A quantization method, given or of the model, that the new release registers no more."""
    methods = dict.fromkeys(str(one)[:40] for one in (move.serve_args.get("quantization"), move.quantization) if one)
    for method in methods:
        having = [release for release in matrix.releases if matrix.quantization.floor(method, release.version)]
        if having and having[0].version < move.new.version and matrix.quantization.floor(method, move.old.version):
            yield Text("upgrade.step-quantization-gone", {"method": method, "vllm": move.new.raw, "last": having[0].raw})


def _kept(matrix: Matrix, move: Move) -> Iterator[Text]:
    """Arguments for which the new release takes V0."""
    flags = kept_on_v0(matrix, move.new, move.card, move.serve_args)
    if flags:
        yield Text("upgrade.step-kept-on-v0", {"vllm": move.new.raw, "flags": ", ".join(flags), "last": _last_v0(matrix)})


def _switch(matrix: Matrix, move: Move) -> Iterator[Text]:
    """VLLM_USE_V1, where it chose and does so no more."""
    before, after = matrix.engine(move.old), matrix.engine(move.new)
    if before and after and before.switch == "selects" and after.switch in ("zero-fails", "ignored", "warns"):
        yield Text(f"upgrade.step-switch-{after.switch}", {"vllm": move.new.raw})


def _unread(matrix: Matrix, move: Move) -> Iterator[Text]:
    """Arguments given that only V0 reads, while the new release still accepts them."""
    if move.engines[1] != "v1":
        return
    names = {entry.name for entry in matrix.flags.file.replacements if entry.why in _OF_V0} & move.given
    still = sorted(names & set(matrix.flags.names(move.new.version)))
    if still:
        yield Text("upgrade.step-unread", {"flags": ", ".join(still)})


def _defaults(matrix: Matrix, move: Move) -> Iterator[Text]:
    """Defaults that change what a start takes of memory, where no argument fixes them."""
    for setting, flag in (
        ("max_num_seqs", "--max-num-seqs"),
        ("max_num_batched_tokens", "--max-num-batched-tokens"),
        ("gpu_memory_utilization", "--gpu-memory-utilization"),
    ):
        before, after = move.before.get(setting), move.after.get(setting)
        if before != after and None not in (before, after) and flag not in move.given:
            unchecked = "-unchecked" if setting == "gpu_memory_utilization" and not _checks_free_memory(matrix, move) else ""
            yield Text(f"upgrade.step-{setting.replace('_', '-')}{unchecked}", {"before": before, "after": after})
    unknown = [name for name in ("max_num_seqs", "max_num_batched_tokens") if None in (move.before.get(name, ""), move.after.get(name, ""))]
    if unknown:
        yield Text("upgrade.step-unknown", {"settings": ", ".join(unknown)})
    for setting in ("chunked_prefill", "prefix_caching", "async_scheduling"):
        if not move.before.get(setting) and move.after.get(setting) and "--enable-" + setting.replace("_", "-") not in move.given:
            yield Text(f"upgrade.step-{setting.replace('_', '-')}")


def _checks_free_memory(matrix: Matrix, move: Move, new: bool = True) -> bool:
    """Whether one of the releases refuses to start where less memory is free than it is to use."""
    table = MemoryTable(matrix.memory, matrix.capability_trait("bfloat16-min-capability"))
    release, engine = (move.new if new else move.old), move.engines[new]
    return bool(table.rules(release.version, "v0" if engine == "v0" else "v1").accounting.free_memory_check)


def _free_memory(matrix: Matrix, move: Move) -> Iterator[Text]:
    if _checks_free_memory(matrix, move) and not _checks_free_memory(matrix, move, new=False):
        yield Text("upgrade.step-free-memory")
