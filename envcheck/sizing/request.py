"""From a host document and a request to the question of the memory model. Tolerates whatever a batch line holds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from packaging.version import Version

from envcheck.model.budget import SizeResult
from envcheck.model.host import Gpu, HostReport
from envcheck.model.memoryfacts import Engine, MemoryFacts
from envcheck.model.modelspec import ModelSpec
from envcheck.model.request import Request
from envcheck.model.units import GIB, MIB
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.sizing.inputs import Card, SizingInputs
from envcheck.sizing.question import ask
from envcheck.sizing.release import MemoryTable
from envcheck.sizing.result import result
from envcheck.sizing.suggest import suggestion

_ALIKE = 0.98  # two cards of one model report this much of each other at least
_MOST_RANKS = 4096
_PROFILE = re.compile(r"(?i)\b\d{1,2}g\.(\d{1,4})gb")
_LEAST_OF_PROFILE = 0.95  # a slice named 5gb has 4,864 MiB, one named 40gb 40,192


class GpuFacts(Protocol):
    """What is known of a GPU by its name; memory in MiB as NVML counts it."""

    @property
    def compute_capability(self) -> str:
        """As `8.6`."""

    @property
    def memory_mib(self) -> int | None:
        """Total, MiB."""

    @property
    def unified_memory(self) -> bool:
        """Whether CPU and GPU share it."""

    @property
    def kind(self) -> str:
        """As `data-center` or `consumer`."""

    @property
    def nvswitch_board(self) -> bool:
        """Whether it stands on a switch."""


class Sizer:
    """The memory model with its records parsed once and a way to look a GPU up by name."""

    def __init__(self, facts: MemoryFacts, gpu: Callable[[str], GpuFacts | None], bfloat16_from: ComputeCapability | None = None) -> None:
        self.table = MemoryTable(facts, bfloat16_from)
        self._gpu = gpu

    def size_request(
        self,
        host: HostReport,
        request: Request,
        spec: ModelSpec | None,
        release: Version | None,
        engine: str | None,
        *,
        explain: bool = False,
    ) -> SizeResult:
        """The budget of a request on a host, with arguments that fit.

        `spec` None = the request's own `model_config`. `release` and `engine` None = not known: then the newest rules hold. An engine that
        the request names comes first. `explain` = with how each figure is arrived at. Never raises for hostile values.
        """
        question = ask(self.inputs(host, request, spec, release, engine), self.table)
        found = result(question, suggestion(question))
        if not explain:
            return found
        from envcheck.sizing.derivation import derivations  # noqa: PLC0415  # only for a reader who wants to know

        return msgspec.structs.replace(found, derivations=derivations(question))

    def inputs(
        self, host: HostReport, request: Request, spec: ModelSpec | None, release: Version | None, engine: str | None
    ) -> SizingInputs:
        """The question itself."""
        config: Mapping[str, Any] = spec.config if spec else request.model_config or {}
        weights = request.weights_gib
        return SizingInputs(
            config=config,
            model=(request.model or (spec.name if spec else ""))[:400],
            weights_bytes=spec.weights_bytes if spec else None,
            draft_config=spec.draft.config if spec and spec.draft else {},
            draft_bytes=spec.draft.weights_bytes if spec and spec.draft else None,
            adapters=spec.adapters if spec else (),
            unread=spec.unread if spec else (),
            weights_gib=weights if weights is not None and 0 < weights < 1 << 20 else None,
            card=self.card(host, _ranks(request)),
            release=release,
            release_told=bool(request.vllm) or _has_package(host, "vllm") or bool(host.container),
            engine=_engine(request.engine) or _engine(engine),
            serve_args=request.serve_args,
            environment=host.environment if isinstance(host.environment, dict) else {},
            first_start=_first_start(request, host),
            ram_bytes=_ram(host),
            flashinfer=_has_package(host, "flashinfer-python", "flashinfer"),
            llm_class=request.llm_class is True,
        )

    def card(self, host: HostReport, ranks: int = 1) -> Card:
        """The smallest of the first `ranks` GPUs that can be read, for equal parts go to all; what the host does not say, by its name.

        Its count is that of the GPUs that take as much: a smaller one in between would be the smallest of those used.
        """
        gpus = [gpu for gpu in host.gpus if not isinstance(gpu.error, str)] if isinstance(host.gpus, list) else []
        cards = [self._one(gpu, len(gpus), host) for gpu in gpus[:1024]]
        if not cards:
            return Card()
        smallest = min(cards[: max(1, ranks)], key=_room)
        alike = next((place for place, card in enumerate(cards) if _room(card) < _room(smallest) * _ALIKE), len(cards))
        return msgspec.structs.replace(smallest, count=len(gpus) if alike == len(cards) else alike)

    def _one(self, gpu: Gpu, count: int, host: HostReport) -> Card:
        name = gpu.name[:200] if isinstance(gpu.name, str) else ""
        facts = self._gpu(name) if name else None
        told = compute_capability(gpu.compute_capability) if isinstance(gpu.compute_capability, str) else None
        capability = told or (compute_capability(facts.compute_capability) if facts else None)
        unified = gpu.unified_memory if isinstance(gpu.unified_memory, bool) else bool(facts and facts.unified_memory)
        available = host.memory.ram_available_mib if unified and host.memory else None  # what vLLM itself asks the host there
        return Card(
            name=name,
            count=count,
            total_bytes=_mib(gpu.cuda_memory_mib),
            nvml_bytes=_of_slice(gpu, name, _mib(gpu.memory_mib) or (facts.memory_mib * MIB if facts and facts.memory_mib else None)),
            free_bytes=_mib(gpu.memory_free_mib) or _mib(available),
            capability=capability,
            nvlink=gpu.nvlink if isinstance(gpu.nvlink, bool) else _linked(name, facts, capability),
            unified=unified,
            wsl=_wsl(host),
            mig=gpu.mig is True or (isinstance(gpu.mig, str) and bool(gpu.mig)),
        )


def _room(card: Card) -> float:
    return card.total_bytes or card.nvml_bytes or float("inf")


def _ranks(request: Request) -> int:
    """GPUs of one server, as asked for."""
    sizes = [request.serve_args.get(f"{kind}_parallel_size") for kind in ("tensor", "pipeline", "data")]
    return min(math.prod(size for size in sizes if isinstance(size, int) and 0 < size <= _MOST_RANKS), _MOST_RANKS)


def _of_slice(gpu: Gpu, name: str, told: float | None) -> float | None:
    """Bytes of a GPU: of a MIG slice no more than its profile says, since some drivers report the board's."""
    profile = _PROFILE.search(gpu.mig if isinstance(gpu.mig, str) else name) if gpu.mig is True or isinstance(gpu.mig, str) else None
    if profile is None:
        profile = _PROFILE.search(name)
    if profile is None:
        return told
    named = int(profile[1]) * GIB
    return named * _LEAST_OF_PROFILE if told is None or told > named else told


def _linked(name: str, facts: GpuFacts | None, capability: ComputeCapability | None) -> bool:
    """Whether several of these are likely linked to each other.

    The large data-centre chips (compute capability x.0 and x.3) come in linked boards unless the name says otherwise; bridges between
    other cards are an option that a name does not tell.
    """
    if facts is None or facts.nvswitch_board:
        return facts is not None
    large = capability is not None and capability.major >= 8 and capability.minor in (0, 3)
    return large and facts.kind == "data-center" and "pcie" not in name.lower()


def _engine(told: str | None) -> Engine | None:
    named = (told or "").strip().lower()
    return "v0" if named == "v0" else "v1" if named == "v1" else None


def _mib(value: object) -> float | None:
    """MiB as bytes; what is no positive finite number is not known."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1 << 40:
        return None
    return float(value) * MIB


def _wsl(host: HostReport) -> bool:
    return bool(host.os and host.os.wsl is True)


def _first_start(request: Request, host: HostReport) -> bool | None:
    """As told; a host whose packages are known and hold no vLLM has compiled nothing yet; else not known."""
    if isinstance(request.first_start, bool):
        return request.first_start
    return True if isinstance(host.packages, dict) and not host.packages.get("vllm") else None


def _has_package(host: HostReport, *names: str) -> bool:
    return isinstance(host.packages, dict) and any(host.packages.get(name) for name in names)


def _ram(host: HostReport) -> float | None:
    memory = host.memory
    if not memory:
        return None
    bounds = [_mib(value) for value in (memory.ram_mib, memory.cgroup_limit_mib)]
    return min((bound for bound in bounds if bound is not None), default=None)
