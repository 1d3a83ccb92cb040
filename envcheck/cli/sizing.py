"""The inverse problem wired: a load on the command line, the settings that serve it, and what else would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from envcheck.errors import UsageError
from envcheck.model.finding import Finding, Severity
from envcheck.model.host import HostReport
from envcheck.model.relief import CardNeeded, Load, Relief, ReliefStep
from envcheck.model.request import Request

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.matrix.release import Release
    from envcheck.model.budget import SizeResult
    from envcheck.model.modelspec import ModelSpec
    from envcheck.render.catalogue import Catalogue
    from envcheck.render.claims import ClaimOut
    from envcheck.render.size_parts import LibraryBatch, SecondStart, VariantOut
    from envcheck.sizing.question import Question

# What is said of memory stands in the budget; what is said of the host's other faults, `check` says.
_ABOUT_SERVING = (
    *("parallel-size-invalid", "flag-value-invalid", "flag-not-in-release", "fp8-unsupported-gpu", "quantization-unsupported-gpu"),
    *("gpu-too-old", "gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build", "model-unsupported-by-release"),
    *("context-length-over-model", "bf16-unsupported-gpu", "python-module-missing"),
)
_REFUSED = ("fp8-unsupported-gpu", "flag-value-invalid", "flag-not-in-release", "parallel-size-invalid")
_JUDGED = {"tensor_parallel_size", "skip_mm_profiling", "mm_processor_kwargs"}  # levers that not every release or model takes
_SHOWN_PROCESSES = 5
_QUANTIZED = ("awq", "gptq", "fp8", "nvfp4", "mxfp4", "int4", "int8", "w4a16", "w8a8")


class Sized(msgspec.Struct, frozen=True):
    """One model on one host with one release, ready for the questions around it."""

    host: HostReport
    matrix: Matrix
    request: Request
    spec: ModelSpec
    release: Release
    engine: str | None

    def question(self, spec: ModelSpec | None = None) -> Question:
        """The question of the memory model, for another model where one is given."""
        from envcheck.cli.memory import seen, sizer_of
        from envcheck.sizing.question import ask

        sizer = sizer_of(self.matrix)
        return ask(sizer.inputs(seen(self.host), self.request, spec or self.spec, self.release.version, self.engine), sizer.table)

    def findings(self) -> tuple[Finding, ...]:
        """Errors about serving so, whatever the memory, with their ways out."""
        # Ways out are dear to find, and mostly there is nothing to find them for.
        return self._errors(remedies=True) if self._errors(remedies=False) else ()

    def _errors(self, *, remedies: bool) -> tuple[Finding, ...]:
        found = self._judged(self.request.serve_args, remedies=remedies)
        return tuple(each for each in found if each.severity is Severity.ERROR and each.code in _ABOUT_SERVING)

    def allowed(self, arguments: Mapping[str, Any]) -> bool:
        """Whether release and GPU take what the levers set, as far as is known."""
        if arguments.get("kv_cache_dtype") in (None, "auto") and not _JUDGED & set(arguments):
            return True
        return not any(found.code in _REFUSED and found.severity is not Severity.INFO for found in self._judged(arguments))

    def _judged(self, arguments: Mapping[str, Any], *, remedies: bool = False) -> tuple[Finding, ...]:
        from envcheck.cli.answer import informed
        from envcheck.rules.check import judge

        asked = msgspec.structs.replace(informed(self.request, self.spec), serve_args=dict(arguments), vllm=self.release.raw)
        return judge(self.host, self.matrix, asked, remedies=remedies).findings


def load_of(question: Question, requests: int | None, context: int | None) -> Load:
    """The load asked for, else one request of the whole context. Raises UsageError for a longer one than the model takes."""
    own = question.settings.context
    if context is not None and context > own and question.dims.context and not question.settings.fit_context:
        raise UsageError("error.context-longer", model=question.inputs.model or "?", own=own, tokens=context)
    return Load(requests or 1, context or own)


def relief_of(sized: Sized, question: Question, load: Load) -> Relief | None:
    """The settings that serve a load best on this host."""
    from envcheck.sizing.relief import relieve

    return relieve(question, load, sized.allowed)


def steps_of(question: Question, size: SizeResult) -> list[ReliefStep]:
    """What each argument frees of those that are suggested."""
    from envcheck.sizing.relief import steps_to

    return steps_to(question, size.suggested)


def media_of(sized: Sized, question: Question, load: Load) -> list[ReliefStep]:
    """What the arguments about images and videos free."""
    from envcheck.sizing.relief import media_levers

    return media_levers(question, load, sized.allowed)


def second_start(question: Question, size: SizeResult) -> SecondStart | None:
    """What the KV cache has more of once the first start's compiled code is cached; None where it is not known to gain anything."""
    if not any(line.term == "cold_start" and line.charged for line in size.account):
        return None
    from envcheck.model.units import gib
    from envcheck.render.size_parts import SecondStart
    from envcheck.sizing.budget import outcome
    from envcheck.sizing.question import ask

    warm = outcome(ask(msgspec.structs.replace(question.inputs, first_start=False), question.table, question.dims))
    cold = outcome(question)
    if warm is None or cold is None or warm.kv <= cold.kv:
        return None
    context = question.settings.context
    tokens = (found.pool.tokens(found.blocks, context) if found.kv > 0 else 0 for found in (warm, cold))
    return SecondStart(round(gib(warm.kv - cold.kv), 2), max(0, next(tokens) - next(tokens)))


def library_batch(question: Question) -> LibraryBatch | None:
    """The batches of the `LLM` class beside the server's, where the model is sized for that class."""
    if not question.inputs.llm_class:
        return None
    from envcheck.render.size_parts import LibraryBatch
    from envcheck.sizing.question import ask

    server = ask(msgspec.structs.replace(question.inputs, llm_class=False), question.table, question.dims)
    return LibraryBatch(question.settings.batched_tokens, server.settings.batched_tokens)


def others_on_cards(host: HostReport) -> list[str]:
    """Processes that hold memory of the GPUs, the largest first: `python (4711): 2150 MiB`."""
    from envcheck.model.host import known

    held = [(known(process.memory_mib) or 0.0, process) for process in known(host.processes) or ()]
    held.sort(key=lambda entry: -entry[0])
    return [f"{known(process.name) or '?'} ({known(process.pid)}): {mib:g} MiB" for mib, process in held[:_SHOWN_PROCESSES] if mib > 0]


def variants_of(sized: Sized, question: Question, load: Load) -> list[VariantOut]:
    """Quantized variants of the model that the catalogue names, on the same GPUs under the same load."""
    from envcheck.cli.memory import known_spec
    from envcheck.model.units import gib
    from envcheck.render.size_parts import VariantOut

    whole, found = question.weights(question.stages[0]), []
    for name in _variant_names(sized.matrix, sized.spec.name):
        asked = msgspec.structs.replace(sized.request, model=name, model_config=None)
        spec = known_spec(asked, sized.matrix)
        there = msgspec.structs.replace(sized, request=asked, spec=spec) if spec else None
        if there is None or there.findings():
            continue
        other = there.question()
        relief, weights = relief_of(there, other, load), other.weights(other.stages[0])
        if relief is None or weights is None or whole is None:
            found.append(VariantOut(name, None, None, False, 0.0, {}))
            continue
        figures = round(gib(weights), 2), round(gib(whole - weights), 2)
        found.append(VariantOut(name, *figures, relief.served, relief.requests, relief.serve_args))
    return found


def _variant_names(matrix: Matrix, name: str) -> list[str]:
    """Catalogue names that are this one's with a quantization behind it."""
    base = name.rpartition("/")[2].lower()
    names = []
    for other in matrix.models:
        tail = other.rpartition("/")[2].lower()
        rest = tail.removeprefix(base)
        if rest != tail and rest.startswith("-") and any(word in _QUANTIZED for word in rest.strip("-").split("-")):
            names.append(other)
    return names


def same_cards(sized: Sized, question: Question, load: Load) -> list[CardNeeded]:
    """How many of the host's own card serve the load with nothing given up; empty where no number up to those of one host does."""
    from envcheck.model.units import gib
    from envcheck.sizing.cards_needed import fewest

    card = question.inputs.card
    found = fewest(question, load)
    if found is None or question.total is None or found[0] <= (card.count or 1):
        return []
    model = sized.matrix.gpu(card.name)
    return [CardNeeded(card.name or "GPU", found[0], round(gib(question.total), 1), bool(model and model.mainland_variant), found[1])]


def claims_for(sized: Sized, size: SizeResult, catalogue: Catalogue) -> list[ClaimOut]:
    """What is often advised against this failure, or about these arguments, of this release, and is not so."""
    from envcheck.model.version_range import version_range
    from envcheck.render.claims import claim_out
    from envcheck.rules.memory import CODES

    code = CODES[size.failure.kind] if size.failure else None
    flags, release = {"--" + name.replace("_", "-") for name in sized.request.serve_args}, sized.release.version
    claims = [claim for claim in sized.matrix.claims if not claim.releases or version_range(claim.releases).contains(release)]
    asked = [claim for claim in claims if flags & set(claim.words)]
    failing = [claim for claim in claims if code in claim.codes and claim not in asked]
    return [claim_out(claim, catalogue) for claim in (*failing, *asked)]
