"""The lines found of one start of a server, put together to a measured record."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from envcheck.model.budget import FailureKind
from envcheck.model.learned import LearnedFailure, LearnedMemory, LearnedRank, LearnedRun, Outcome, SettingValue
from envcheck.model.loglines import LogLine, LogLinesFile
from envcheck.model.memoryfacts import Engine
from envcheck.readers.log_settings import of_arguments, of_config, of_namespace

# group of a line -> field of the memory record, and how its figure is read
_FIGURES: dict[str, tuple[str, Callable[[str], float | int]]] = {
    "total": ("total_gib", float),
    "free": ("free_gib", float),
    "utilization": ("utilization", float),
    "budget": ("budget_gib", float),
    "weights": ("weights_gib", float),
    "non_torch": ("non_torch_gib", float),
    "consumed": ("consumed_gib", float),
    "peak": ("peak_activation_gib", float),
    "graphs": ("graphs_gib", float),
    "graphs_estimated": ("graphs_estimated_gib", float),
    "kv": ("kv_gib", float),
    "tokens": ("kv_tokens", lambda text: int(text.replace(",", ""))),
    "blocks": ("kv_blocks", int),
    "block_size": ("block_size", int),
    "concurrency": ("max_concurrency", float),
    "concurrency_tokens": ("concurrency_tokens", lambda text: int(text.replace(",", ""))),
    "encoder_tokens": ("encoder_tokens", int),
    "torch_peak": ("torch_peak", float),
    "peak_and_estimate": ("peak_and_estimate", float),
}
_FAILURES: dict[str, FailureKind] = {
    "free-memory": "free-memory",
    "no-kv-blocks": "no-kv-blocks",
    "kv-too-small": "kv-too-small",
    "sampler-warmup": "sampler-warmup",
    "host-memory": "host-memory",
}
_EXPECTED = ("total_gib", "utilization", "weights_gib", "non_torch_gib", "peak_activation_gib", "kv_gib", "kv_tokens")
_LARGEST = 1 << 40  # GiB or tokens; what is more is no figure


class Hit(msgspec.Struct, frozen=True):
    """A line found: its record, number, the worker that prints it, what it tells by group, its place in the source."""

    record: LogLine
    number: int
    worker: str
    told: dict[str, str]
    place: str | None


class _Figures:
    """The first figure of each field and worker, and the line where it stands."""

    def __init__(self, hits: Iterable[Hit]) -> None:
        self.by_worker: dict[str, dict[str, float | int]] = {}
        self.lines: dict[str, int] = {}
        for hit in hits:
            for group, text in hit.told.items():
                if group in _FIGURES:
                    self._take(hit, *_FIGURES[group], text)

    def _take(self, hit: Hit, field: str, reading: Callable[[str], float | int], text: str) -> None:
        try:
            value = reading(text)
        except ValueError:  # `1.2.3`
            return
        if abs(value) < _LARGEST:
            self.by_worker.setdefault(hit.worker, {}).setdefault(field, value)
            self.lines.setdefault(field, hit.number)

    def of(self, worker: str) -> dict[str, float | int]:
        """A worker's figures; those that only others print, theirs."""
        merged: dict[str, float | int] = {}
        for name in (worker, "", *self.by_worker):
            merged = {**self.by_worker.get(name, {}), **merged}
        return merged

    def tightest(self) -> str:
        """The worker with the least KV memory."""
        with_cache = {name: found["kv_gib"] for name, found in self.by_worker.items() if "kv_gib" in found}
        return min(with_cache, key=lambda name: with_cache[name], default="")


def learned_run(hits: list[Hit], facts: LogLinesFile, log: str) -> LearnedRun | None:
    """The record of one start; None where the lines tell nothing of one."""
    hits = _until_ready(hits)
    release = _told(hits, "release")
    candidates = [] if release else _candidates(hits, facts)
    chosen = release or (candidates[0] if len(candidates) == 1 else None)
    hits = [hit for hit in hits if _holds(hit.record, chosen)]
    settings, figures = _settings(hits, facts), _Figures(hits)
    if not figures.by_worker and not settings and release is None:
        return None
    outcome, failure = _outcome(hits, settings)
    memory = _memory(figures.of(figures.tightest()), settings)
    marks = [hit.record.says for hit in hits]
    run = LearnedRun(
        log=log,
        line=hits[0].number,
        vllm=chosen,
        vllm_from="log" if release else "line-numbers" if chosen else None,
        vllm_candidates=candidates if not chosen else [],
        engine=_engine(hits),
        model=_told(hits, "model"),
        gpu=_gpu(_told(hits, "gpu")),
        gpus=_gpus(settings),
        outcome=outcome,
        failure=failure,
        compile_cache="cold" if "cold" in marks else "warm" if "warm" in marks else None,
        settings=settings,
        memory=memory,
        ranks=_ranks(figures),
        lines={name: number for name, number in figures.lines.items() if name in LearnedMemory.__struct_fields__},
    )
    return msgspec.structs.replace(run, missing=missing(run))


def missing(run: LearnedRun) -> list[str]:
    """The names of what a record needs to be of use and the log does not tell."""
    named = [name for name in ("vllm", "model", "gpu") if getattr(run, name) is None]
    return [*named, *(name for name in _EXPECTED if getattr(run.memory, name) is None)]


def _until_ready(hits: list[Hit]) -> list[Hit]:
    """What stands before the server is ready, and the lines that only say it is: what fails later is no start-up."""
    ready = next((place for place, hit in enumerate(hits) if hit.record.says == "starts"), None)
    return hits if ready is None else hits[: ready + 1]


def _told(hits: list[Hit], group: str) -> str | None:
    """What the first line that tells it says; the model is told in the arguments and the configuration too."""
    for hit in hits:
        if hit.told.get(group):
            return hit.told[group].strip()[:400]
    if group == "model":
        from re import search  # noqa: PLC0415  # only where no banner names it

        for hit in hits:
            text = hit.told.get("config") or hit.told.get("arguments") or hit.told.get("namespace") or ""
            found = search(r"(?<![\w])'?model'?(?:=|: )'([^']{1,400})'", text)
            if found:
                return found[1]
    return None


def _candidates(hits: list[Hit], facts: LogLinesFile) -> list[str]:
    """The releases whose source has every line found where the log shows it."""
    places: dict[tuple[str, str], list[str]] = {(entry.line, entry.place): entry.releases for entry in facts.places}
    found = [places[hit.record.id, hit.place] for hit in hits if hit.place and (hit.record.id, hit.place) in places]
    return [release for release in found[0] if all(release in other for other in found)] if found else []


def _holds(record: LogLine, release: str | None) -> bool:
    """Whether a form of a line belongs to a release; a development build is taken for the release it leads to."""
    if not record.releases or release is None:
        return True
    try:
        return SpecifierSet(record.releases).contains(Version(Version(release).base_version), prereleases=True)
    except InvalidVersion:
        return True


def _settings(hits: list[Hit], facts: LogLinesFile) -> dict[str, SettingValue]:
    """The settings in force: as asked for, then as the engine's configuration has them."""
    found: dict[str, SettingValue] = {}
    for hit in hits:
        if "namespace" in hit.told:
            found |= of_namespace(hit.told["namespace"], facts.settings)
        if "arguments" in hit.told:
            found |= of_arguments(hit.told["arguments"], facts.settings)
        if "config" in hit.told:
            found |= of_config(hit.told["config"], facts.settings)
    for group, name in (("batched_tokens", "max_num_batched_tokens"), ("sequences", "max_num_seqs"), ("context", "max_model_len")):
        told = _told(hits, group)
        if told and told.isdecimal():
            found.setdefault(name, int(told[:18]))
    return found


def _engine(hits: list[Hit]) -> Engine | None:
    named = _told(hits, "engine")
    if named:
        return "v0" if named == "V0" else "v1"
    if any("config" in hit.told for hit in hits):  # before there were two, none was named
        return "v0"
    return next((hit.record.engine for hit in hits if hit.record.engine), None)


def _gpu(name: str | None) -> str | None:
    return name.replace("_", " ").strip()[:200] if name else None


def _gpus(settings: dict[str, SettingValue]) -> int | None:
    sizes = [settings.get(f"{kind}_parallel_size") for kind in ("tensor", "pipeline", "data")]
    counts = [size for size in sizes if isinstance(size, int) and 0 < size < 1 << 16]
    product = 1
    for count in counts:
        product *= count
    return product if counts else None


def _memory(figures: dict[str, float | int], settings: dict[str, SettingValue]) -> LearnedMemory:
    """The record, with what follows from what is told."""
    found = dict(figures)
    weights, torch_peak, both = found.get("weights_gib"), found.pop("torch_peak", None), found.pop("peak_and_estimate", None)
    if torch_peak is not None and weights is not None:
        found.setdefault("peak_activation_gib", round(torch_peak - weights, 2))
    if both is not None:
        found.setdefault("peak_activation_gib", round(both - found.get("graphs_estimated_gib", 0.0), 2))
    if "consumed_gib" in found and weights is not None:
        found.setdefault("non_torch_gib", round(found["consumed_gib"] - weights, 2))
    share = settings.get("gpu_memory_utilization")
    if isinstance(share, float):
        found.setdefault("utilization", share)
    if "total_gib" in found and "utilization" in found:
        found.setdefault("budget_gib", round(found["total_gib"] * found["utilization"], 2))
    terms = ("budget_gib", "weights_gib", "non_torch_gib", "peak_activation_gib", "kv_gib")
    if all(term in found for term in terms):
        budget, *rest = (found[term] for term in terms)
        found["unexplained_gib"] = round(budget - sum(rest), 2)
    return msgspec.convert(found, LearnedMemory)


def _ranks(figures: _Figures) -> list[LearnedRank]:
    """Each worker's own figures, where several print what they hold."""
    held = {"kv_gib", "weights_gib", "peak_activation_gib"}
    workers = sorted(name for name, found in figures.by_worker.items() if held & set(found))
    if len(workers) < 2:
        return []
    return [LearnedRank(name or "first", _memory(figures.by_worker[name], {})) for name in workers[:1024]]


def _outcome(hits: list[Hit], settings: dict[str, SettingValue]) -> tuple[Outcome, LearnedFailure | None]:
    says = [hit.record.says for hit in hits]
    for hit in hits:
        if hit.record.says in _FAILURES:
            return "fails", _failure(hit, _FAILURES[hit.record.says])
    if "starts" in says:
        return "starts", None
    for place, hit in enumerate(hits):
        if hit.record.says == "out-of-memory":
            return "fails", LearnedFailure(_stage(hits[:place], settings))
    return ("fails" if "fails" in says else "unknown"), None


def _failure(hit: Hit, kind: FailureKind) -> LearnedFailure:
    """The figures of a line that says why; the free-memory check writes them as free and desired."""
    read = _Figures([hit]).by_worker.get(hit.worker, {})
    needed, available = _number(hit, "needed"), _number(hit, "available")
    longest = hit.told.get("longest")
    if kind == "free-memory":
        needed, available = read.get("budget_gib"), read.get("free_gib")
    return LearnedFailure(kind, needed, available, int(longest[:18]) if longest else None)


def _number(hit: Hit, group: str) -> float | None:
    try:
        return float(hit.told[group])
    except (KeyError, ValueError):
        return None


def _stage(before: list[Hit], settings: dict[str, SettingValue]) -> FailureKind | None:
    """What a server was at when memory ran out, by what it had told until then."""
    told = {group for hit in before for group in hit.told}
    if not told & {"config", "weights"}:
        return None
    if "weights" not in told:
        return "weights"
    if not told & {"kv", "tokens", "blocks"}:
        return "profile-run"
    return None if "graphs" in told or settings.get("enforce_eager") is True else "cuda-graphs"
