"""The files of the matrix: name, type of what is inside, and what its records are sorted by."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from packaging.version import Version

from envcheck.matrix.advisories import AdvisoriesFile, Bulletin
from envcheck.matrix.claims import Claim
from envcheck.matrix.drivers import DriversFile
from envcheck.matrix.effective import EffectiveDefault
from envcheck.matrix.flags import FlagsFile
from envcheck.matrix.images import ImagesFile
from envcheck.matrix.knowledge import JudgementFile
from envcheck.matrix.model_knowledge import KnowledgeFile, Recipe
from envcheck.matrix.packages import PackagesFile
from envcheck.matrix.quantization import QuantizationFile
from envcheck.matrix.records import (
    AcceleratorMaker,
    CloudProvider,
    CudaFile,
    Distribution,
    EngineRange,
    FindingCode,
    GpuModel,
    MatrixInfo,
    Mirror,
    ModelCard,
    Policy,
    TorchRelease,
    VllmRelease,
)
from envcheck.matrix.regressions import Regression
from envcheck.matrix.requests import RequestsFile
from envcheck.matrix.root_steps import RootStepsFile
from envcheck.matrix.serve_refusals import ServeRefusal
from envcheck.matrix.serve_spots import ServeSpot
from envcheck.matrix.signatures import Signature
from envcheck.matrix.toolchain import ToolchainFile
from envcheck.matrix.traits import Trait
from envcheck.matrix.v0_arguments import V0Argument
from envcheck.matrix.xids import XidRecord
from envcheck.model.loglines import LogLinesFile
from envcheck.model.memoryfacts import MemoryFacts


class FileKind(NamedTuple):
    """One kind of file. `key` None = the order means something (engines by release, clouds by the order in which signs are tried)."""

    name: str
    type: Any
    key: Callable[[Any], Any] | None = None


def _by_id(record: Any) -> str:
    name: str = record.id
    return name


def _by_version(record: Any) -> Version:
    return Version(record.version)


def _by_distribution(record: Distribution) -> tuple[str, list[int]]:
    return record.id, [int(part) for part in re.findall(r"\d+", record.version)]


FILES = (
    FileKind("matrix.json", MatrixInfo),
    FileKind("advisories.json", AdvisoriesFile),
    FileKind("claims.json", list[Claim], _by_id),
    FileKind("clouds.json", list[CloudProvider]),
    FileKind("codes.json", list[FindingCode], lambda record: record.code),
    FileKind("cuda.json", CudaFile),
    FileKind("distros.json", list[Distribution], _by_distribution),
    FileKind("drivers.json", DriversFile),
    FileKind("driver_security.json", list[Bulletin], _by_id),
    FileKind("effective.json", list[EffectiveDefault]),
    FileKind("engines.json", list[EngineRange]),
    FileKind("flags.json", FlagsFile),
    FileKind("gpus.json", list[GpuModel], lambda record: record.name),
    FileKind("images.json", ImagesFile),
    FileKind("judgement.json", JudgementFile),
    FileKind("log_lines.json", LogLinesFile),
    FileKind("makers.json", list[AcceleratorMaker], _by_id),
    FileKind("memory.json", MemoryFacts),
    FileKind("mirrors.json", list[Mirror], lambda record: (record.kind, record.id)),
    FileKind("model_knowledge.json", KnowledgeFile),
    FileKind("models.json", list[ModelCard], lambda record: record.id.lower()),
    FileKind("packages.json", PackagesFile),
    FileKind("policy.json", Policy),
    FileKind("quantization.json", QuantizationFile),
    FileKind("recipes.json", list[Recipe], lambda record: record.id.lower()),
    FileKind("regressions.json", list[Regression], _by_id),
    FileKind("requests.json", RequestsFile),
    FileKind("root_steps.json", RootStepsFile),
    FileKind("serve_refusals.json", list[ServeRefusal], lambda record: (record.argument, record.releases)),
    FileKind("serve_spots.json", list[ServeSpot], _by_id),
    FileKind("toolchain.json", ToolchainFile),
    FileKind("torch.json", list[TorchRelease], _by_version),
    FileKind("traits.json", list[Trait], _by_id),
    FileKind("v0_arguments.json", list[V0Argument], lambda record: (record.argument, record.releases)),
    FileKind("xids.json", list[XidRecord], lambda record: record.number),
)
RELEASES = FileKind("vllm/", list[VllmRelease], _by_version)
SIGNATURES = FileKind("signatures/", list[Signature], _by_id)


def kind_of(name: str) -> FileKind | None:
    """The kind of a file by its path inside the folder, None for one that does not belong there."""
    if re.fullmatch(r"vllm/\d+\.\d+\.json", name):
        return RELEASES
    if re.fullmatch(r"signatures/[a-z]+\.json", name):
        return SIGNATURES
    return next((kind for kind in FILES if kind.name == name), None)
