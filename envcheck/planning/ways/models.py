"""Ways to serve a model that does not fit as it was asked for, or whose format or architecture what is planned does not take."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from envcheck.errors import UsageError
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release, specifier
from envcheck.model.budget import SizeResult
from envcheck.model.finding import Severity, Verdict
from envcheck.model.host import HostReport, known
from envcheck.model.modelspec import ModelSource, ModelSpec
from envcheck.model.request import Request
from envcheck.model.text import Text
from envcheck.model.ways import INTRUSION, Cost, Way
from envcheck.planning.ways.images import typed_arguments
from envcheck.planning.ways.patch import patched
from envcheck.rules.architecture import architectures, releases_for
from envcheck.rules.check import Judgement, judge
from envcheck.rules.memory import with_memory

# A request on a host, for a model, a release and its engine, with the settings that would be planned.
Sized = Callable[[HostReport, Request, ModelSpec, Release, str | None], SizeResult]
_OF_FORMAT = ("fp8-unsupported-gpu", "quantization-unsupported-gpu", "model-unsupported-by-release", "bf16-unsupported-gpu")
_MOST_RELEASES, _MOST_CARDS, _SHOWN = 8, 12, 6
_COUNTS = (2, 4, 8)
_KINDS = ("data-center", "consumer")
_QUANTIZED = ("awq", "gptq", "fp8", "nvfp4", "mxfp4", "int4", "int8", "w4a16", "w8a8", "gguf", "bnb", "4bit", "8bit")
_METHODS = {"fp8": "fp8", "nvfp4": "modelopt", "mxfp4": "mxfp4", "int4": "compressed-tensors", "int8": "compressed-tensors"}
_GPU_VARIABLES = "environment.CUDA_VISIBLE_DEVICES"


class Trial(msgspec.Struct, frozen=True):
    """What is tried: a request, and what is not as it was asked for; `before` = what to type first."""

    request: Request
    spec: ModelSpec | None = None
    release: Release | None = None
    changes: dict[str, Any] = {}
    before: tuple[str, ...] = ()
    cost: Cost | None = None


class Question(msgspec.Struct, frozen=True):
    """What is asked: a model on a judged host, for the release that is planned."""

    judgement: Judgement
    matrix: Matrix
    request: Request
    spec: ModelSpec
    release: Release
    sized: Sized

    @property
    def host(self) -> HostReport:
        """The host as it is."""
        return self.judgement.situation.host


def model_ways(question: Question, size: SizeResult | None) -> tuple[Way, ...]:
    """The ways, each judged and sized as the request would be then, least intrusive first; empty where the model is served as asked for."""
    if not needed(question.judgement, size):
        return ()
    found = [*_settings(question, size), *_dtype(question), *_all_gpus(question), *_variants(question), *_releases(question)]
    ordered = sorted(found, key=lambda way: (INTRUSION.index(way.kind), way.cost.download_mib or 0))
    # Another card is for those whom nothing else helps.
    return tuple(ordered[:_SHOWN]) or tuple(_cards(question, _weights_mib(question.spec, size)))


def needed(judgement: Judgement, size: SizeResult | None) -> bool:
    """Whether the model is not served as asked for."""
    return (size is not None and size.verdict == "does-not-fit") or any(
        finding.severity is Severity.ERROR and finding.code in _OF_FORMAT for finding in judgement.findings
    )


def _proved(question: Question, trial: Trial) -> tuple[Verdict, SizeResult] | None:
    """The verdict on the request as it would be; None where the model is refused or does not fit then either."""
    request, spec, release = trial.request, trial.spec or question.spec, trial.release or question.release
    informed = msgspec.structs.replace(request, model=spec.name, model_config=spec.config, weights_gib=None, vllm=release.raw)
    try:
        judged = judge(patched(question.host, trial.changes), question.matrix, informed, remedies=False)
    except (msgspec.ValidationError, UsageError):
        return None
    if judged.verdict is Verdict.BLOCKED:
        return None
    size = question.sized(judged.situation.host, request, spec, release, judged.engine)
    if size.verdict not in ("fits", "tight"):
        return None
    verdict = with_memory(judged, size, spec.name).verdict
    return (verdict, size) if verdict is not Verdict.BLOCKED else None


def _command(question: Question, request: Request, *, vllm: str | None = None) -> str:
    """What plans it."""
    words = ["envcheck", "plan", "--model", request.model or question.spec.name]
    asked = vllm or request.vllm
    words += ["--vllm", asked] if asked else []
    words += typed_arguments(request.serve_args)
    words += [f"--no-{key.replace('_', '-')}" for key, value in request.serve_args.items() if value is False]
    return shlex.join(words)


def _settings(question: Question, size: SizeResult | None) -> Iterator[Way]:
    """Other settings than those asked for, or other numbers of GPUs, where they make it fit."""
    asked = question.request.serve_args
    suggested = dict(size.suggested.serve_args) if size else {}
    free = _free(question.request)
    if free.serve_args != asked:
        found = question.sized(question.host, free, question.spec, question.release, question.judgement.engine)
        suggested = {**{key: value for key, value in found.suggested.serve_args.items() if key.endswith("_parallel_size")}, **suggested}
    overruled = {key: value for key, value in suggested.items() if asked.get(key, value) != value}
    if overruled:
        request = msgspec.structs.replace(question.request, serve_args={**asked, **suggested})
        flags = ", ".join(f"--{key.replace('_', '-')} {value}" for key, value in overruled.items())
        yield from _way(question, Text("way.model.settings", {"flags": flags}), "settings", Trial(request))


def _dtype(question: Question) -> Iterator[Way]:
    """The number type that vLLM takes by itself, or half precision, instead of the one asked for."""
    asked = str(question.request.serve_args.get("dtype") or "auto").lower()
    for dtype in () if asked == "auto" else ("auto", "half"):
        if dtype != asked:
            request = msgspec.structs.replace(question.request, serve_args={**question.request.serve_args, "dtype": dtype})
            found = list(_way(question, Text("way.model.dtype", {"dtype": dtype, "asked": asked[:20]}), "settings", Trial(request)))
            yield from found
            if found:
                return


def _all_gpus(question: Question) -> Iterator[Way]:
    """All GPUs of the host, where some are hidden."""
    shown = (known(question.host.environment) or {}).get("CUDA_VISIBLE_DEVICES")
    count = len(known(question.host.gpus) or ())
    if shown is not None and count > len(question.judgement.situation.usable_gpus):
        title = Text("way.model.gpus", {"count": count})
        trial = Trial(question.request, changes={_GPU_VARIABLES: None}, before=("unset CUDA_VISIBLE_DEVICES",))
        yield from _way(question, title, "settings", trial)


def _variants(question: Question) -> Iterator[Way]:
    """Checkpoints of the same model in fewer bits; the settings asked for are kept."""
    for spec in _checkpoints(question.matrix, question.spec):
        if not _taken(question, spec):
            continue
        kept = {key: value for key, value in question.request.serve_args.items() if key not in ("quantization", "revision")}
        request = msgspec.structs.replace(question.request, model=spec.name, model_config=None, weights_gib=None, serve_args=kept)
        title = Text("way.model.variant", {"name": spec.name, "of": question.spec.name})
        mib = spec.weights_bytes >> 20 if spec.weights_bytes else None
        yield from _way(question, title, "variant", Trial(request, spec=spec, cost=Cost(download_mib=mib, download_more=mib is None)))


def _taken(question: Question, spec: ModelSpec) -> bool:
    """Whether the release is known to take the format of a checkpoint on these GPUs."""
    from envcheck.rules.precision import quantization_method  # noqa: PLC0415  # mostly there is no such checkpoint

    method = quantization_method(spec.config, {}, spec.name) or quantization_method({}, {}, spec.name)
    floors = question.matrix.quantization
    floor = (
        floors.floor(method, question.release.version) or floors.floor(method.partition(" ")[0], question.release.version)
        if method
        else None
    )
    return floor is not None and all(capability >= floor for capability in question.judgement.situation.capabilities)


def _checkpoints(matrix: Matrix, spec: ModelSpec) -> Iterator[ModelSpec]:
    """Those of the catalogue whose name is this one's with a format behind it, then those that the recipe of the model names."""
    seen, base = {spec.name.lower()}, _bare(spec.name)
    for name in matrix.models:
        card = matrix.model(name)
        if card is not None and name.lower() not in seen and name.lower().partition("/")[2] != base and _bare(name) == base:
            seen.add(name.lower())
            yield ModelSpec(card.id, card.config, ModelSource("catalogue", card.id, card.config_basis), card.weights_bytes)
    recipe = matrix.knowledge.recipe(spec.name)
    for variant in recipe.variants if recipe and _bare(recipe.id) == base else ():
        method = _METHODS.get(variant.precision)
        if method and variant.id.lower() not in seen and "quantization_config" not in spec.config:
            config = {**spec.config, "quantization_config": _format(variant.precision, method)}
            yield ModelSpec(variant.id, config, ModelSource("catalogue", variant.id, "unverified"))


def _format(precision: str, method: str) -> dict[str, Any]:
    """The part of a configuration that names a format, as far as memory and kernels depend on it."""
    if method == "modelopt":
        return {"quant_method": method, "quant_algo": "NVFP4"}
    if method != "compressed-tensors":
        return {"quant_method": method}
    bits = 4 if precision == "int4" else 8
    weights = {"num_bits": bits, "type": "int", "group_size": 128, "strategy": "group"}
    return {"quant_method": method, "format": "pack-quantized", "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


def _bare(name: str) -> str:
    """A model's name without its publisher and without what names a format, in lower case."""
    words = name.lower().rpartition("/")[2].split("-")
    while len(words) > 1 and words[-1] in _QUANTIZED:
        words.pop()
    return "-".join(words)


def _releases(question: Question) -> Iterator[Way]:
    """The first release that knows the model and serves it here; of a format, the first later one that takes it."""
    codes = [finding.code for finding in question.judgement.findings if finding.severity is Severity.ERROR]
    if not any(code in _OF_FORMAT for code in codes):
        return
    wanted = releases_for(question.matrix, architectures(question.spec.config))
    known_by = specifier(wanted) if wanted else None
    tried = 0
    for release in reversed(question.matrix.releases):
        knows = known_by is None or known_by.contains(release.version, prereleases=True)
        if not knows or release is question.release or tried >= _MOST_RELEASES:
            continue
        if "model-unsupported-by-release" not in codes and release.version < question.release.version:
            continue
        tried += 1
        request = msgspec.structs.replace(question.request, vllm=release.raw)
        title = Text("way.model.release", {"vllm": release.raw, "model": question.spec.name})
        found = list(_way(question, title, "release", Trial(request, release=release)))
        yield from found
        if found:
            return


def _weights_mib(spec: ModelSpec, size: SizeResult | None) -> float:
    """What all GPUs together hold of the weights at the least."""
    stated = (spec.weights_bytes or 0) / (1 << 20)
    each = size.per_gpu_gib.weights if size else None
    return max(stated, (each or 0) * 1024)


def _cards(question: Question, weights_mib: float) -> Iterator[Way]:
    """More of the host's own card, else the smallest other ones that serve it."""
    for name, capability, memory, count in _candidates(question, weights_mib):
        told = [{"index": place, "name": name, "compute_capability": capability, "memory_mib": memory} for place in range(count)]
        changes = {"gpus": told, "accelerators": None, "processes": None, _GPU_VARIABLES: None}
        request = _free(question.request)
        title = Text("way.model.cards" if count > 1 else "way.model.card", {"name": name, "count": count, "gib": round(memory / 1024)})
        found = list(_way(question, title, "card", Trial(request, changes=changes)))
        yield from found
        if found:
            return


def _candidates(question: Question, weights_mib: float) -> Iterator[tuple[str, str, int, int]]:
    """Name, compute capability, MiB and number of GPUs to try: those that could hold the weights at all."""
    gpus = question.judgement.situation.usable_gpus
    if gpus and gpus[0].capability and gpus[0].memory_mib:
        for count in _COUNTS:
            if len(gpus) < count and weights_mib < gpus[0].memory_mib * count:
                yield gpus[0].name, str(gpus[0].capability), int(gpus[0].memory_mib), count
    cards = _sizes(question.matrix)
    sets = sorted((memory * count, count, card) for memory, card in cards.items() for count in (1, *_COUNTS))
    fit = [(whole, count, card) for whole, count, card in sets if whole > weights_mib]
    for whole, count, card in fit[:_MOST_CARDS]:
        model = question.matrix.gpu(card)
        if model is not None:
            yield card, model.compute_capability, whole // count, count


def _sizes(matrix: Matrix) -> dict[int, str]:
    """A card of each size in MiB, the newest of data centers before others."""
    found: dict[int, tuple[int, str]] = {}
    models = [model for model in matrix.gpus if model.kind in _KINDS and model.memory_mib and not model.unified_memory]
    models.sort(key=lambda one: (_KINDS.index(one.kind), -float(one.compute_capability), one.name))
    for model in models:
        if model.memory_mib:
            found.setdefault(round(model.memory_mib / 8192), (model.memory_mib, model.name))
    return dict(sorted(found.values()))


def _free(request: Request) -> Request:
    """The request without the numbers of GPUs asked for."""
    kept = {key: value for key, value in request.serve_args.items() if not key.endswith("_parallel_size")}
    return msgspec.structs.replace(request, serve_args=kept)


def _way(question: Question, title: Text, why: str, trial: Trial) -> Iterator[Way]:
    """The way, where its result holds."""
    proof = _proved(question, trial)
    if proof is None:
        return
    (verdict, size), release = proof, trial.release
    yield Way(
        kind="hardware" if why == "card" else "release" if why == "release" else "setting",
        title=title,
        commands=() if why == "card" else (*trial.before, _command(question, trial.request, vllm=release.raw if release else None)),
        cost=trial.cost or Cost(download_mib=0 if why == "settings" else None, download_more=why == "release"),
        after=trial.changes,
        asks=(release or question.release).raw,
        proof=verdict,
        why=(Text(f"way.why.model-{why}", {"tokens": size.kv.tokens or 0 if size.kv else 0}),),
    )
