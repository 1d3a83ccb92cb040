"""The part of the matrix that rules judge by: choices, figures, behaviours of releases, the vocabulary of findings."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from envcheck.matrix.drivers import Drivers, DriversFile
from envcheck.matrix.knowledge import JudgementFile
from envcheck.matrix.records import FindingCode, Policy
from envcheck.matrix.traits import Trait, Traits
from envcheck.model.version_range import VersionRange, version_range
from envcheck.model.versions import ComputeCapability, compute_capability

if TYPE_CHECKING:
    from packaging.version import Version

    from envcheck.matrix.advisories import Advisories, DriverSecurity
    from envcheck.matrix.claims import Claim
    from envcheck.matrix.effective import EffectiveDefault
    from envcheck.matrix.flags import Flags
    from envcheck.matrix.images import Images
    from envcheck.matrix.model_knowledge import Knowledge
    from envcheck.matrix.packages import Packages
    from envcheck.matrix.quantization import Quantization
    from envcheck.matrix.regressions import Regressions
    from envcheck.matrix.requests import RequestsFile
    from envcheck.matrix.root_steps import RootSteps
    from envcheck.matrix.serve_refusals import ServeRefusal
    from envcheck.matrix.serve_spots import ServeSpot
    from envcheck.matrix.signatures import Signature
    from envcheck.matrix.start import StartFacts
    from envcheck.matrix.toolchain import Toolchain
    from envcheck.matrix.v0_arguments import V0Argument
    from envcheck.matrix.xids import XidKind


class JudgementFacts:
    """Look-ups shared by all of them; `Matrix` reads the files."""

    folder: str

    def _read(self, name: str, type_: Any) -> Any:
        raise NotImplementedError

    @cached_property
    def policy(self) -> Policy:
        """Choices of this project."""
        found: Policy = self._read("policy.json", Policy)
        return found

    @cached_property
    def _judgement(self) -> JudgementFile:
        found: JudgementFile = self._read("judgement.json", JudgementFile)
        return found

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """The figures that rules compare with, by id; units stand in the records."""
        return {entry.id: entry.value for entry in self._judgement.thresholds}

    @cached_property
    def causes(self) -> dict[str, frozenset[str]]:
        """Code → the codes that only follow from it."""
        return {entry.code: frozenset(entry.explains) for entry in self._judgement.causes}

    @cached_property
    def observations(self) -> dict[str, frozenset[str]]:
        """What was seen to work → the codes that this settles."""
        return {entry.id: frozenset(entry.settles) for entry in self._judgement.observations}

    @cached_property
    def flags(self) -> Flags:
        """Arguments of `vllm serve` and variables of vLLM by release."""
        from envcheck.matrix.flags import Flags, FlagsFile  # noqa: PLC0415  # only for what is served

        return Flags(self._read("flags.json", FlagsFile))

    @cached_property
    def effective(self) -> tuple[EffectiveDefault, ...]:
        """Settings that a release decides by itself, in the order in which they are tried."""
        from envcheck.matrix.effective import EffectiveDefault  # noqa: PLC0415  # only where defaults are asked for

        return tuple(self._read("effective.json", list[EffectiveDefault]))

    @cached_property
    def serve_refusals(self) -> tuple[ServeRefusal, ...]:
        """Arguments that a release's parser takes and its engine refuses."""
        from envcheck.matrix.serve_refusals import ServeRefusal  # noqa: PLC0415  # only where arguments are given

        return tuple(self._read("serve_refusals.json", list[ServeRefusal]))

    @cached_property
    def serve_spots(self) -> tuple[ServeSpot, ...]:
        """What is to be known of serving so on a release."""
        from envcheck.matrix.serve_spots import ServeSpot  # noqa: PLC0415  # only for what is served

        return tuple(self._read("serve_spots.json", list[ServeSpot]))

    @cached_property
    def v0_arguments(self) -> tuple[V0Argument, ...]:
        """Arguments for which releases with both engines take V0."""
        from envcheck.matrix.v0_arguments import V0Argument  # noqa: PLC0415  # only where a release with both engines is given arguments

        return tuple(self._read("v0_arguments.json", list[V0Argument]))

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Claims that circulate and are wrong, by id."""
        from envcheck.matrix.claims import Claim  # noqa: PLC0415  # only where someone asks about one

        return tuple(self._read("claims.json", list[Claim]))

    @cached_property
    def start(self) -> StartFacts:
        """What releases ask of a GPU's memory when they start."""
        from envcheck.matrix.start import StartFacts  # noqa: PLC0415  # only GPUs with little free memory raise the question

        found: StartFacts = self._read("memory.json", StartFacts)
        return found

    def may_be_avoided(self, version: Version) -> bool:
        """Whether a release has a regression, whoever it concerns, for which another would be planned."""
        return any(wanted.contains(version) for wanted in self._avoided)

    @cached_property
    def _avoided(self) -> tuple[VersionRange, ...]:
        from envcheck.matrix.start import RegressionRange  # noqa: PLC0415  # for choosing a release alone

        found: list[RegressionRange] = self._read("regressions.json", list[RegressionRange])
        return tuple(version_range(one.releases) for one in found if one.severity == "avoid")

    @cached_property
    def advisories(self) -> Advisories:
        """Security advisories by package and version."""
        from envcheck.matrix.advisories import Advisories, AdvisoriesFile  # noqa: PLC0415  # not every command speaks of them

        return Advisories(self._read("advisories.json", AdvisoriesFile))

    @cached_property
    def driver_security(self) -> DriverSecurity:
        """Fixed driver versions by branch."""
        from envcheck.matrix.advisories import Bulletin, DriverSecurity  # noqa: PLC0415  # the same

        return DriverSecurity(self._read("driver_security.json", list[Bulletin]))

    @cached_property
    def knowledge(self) -> Knowledge:
        """Architectures by release, and vLLM's recipes."""
        from envcheck.matrix.model_knowledge import Knowledge, KnowledgeFile, Recipe  # noqa: PLC0415  # only for a model

        return Knowledge(self._read("model_knowledge.json", KnowledgeFile), self._read("recipes.json", list[Recipe]))

    @cached_property
    def quantization(self) -> Quantization:
        """Number formats by release; only a question with a model needs them."""
        from envcheck.matrix.quantization import Quantization, QuantizationFile  # noqa: PLC0415

        return Quantization(self._read("quantization.json", QuantizationFile))

    @cached_property
    def requests(self) -> RequestsFile:
        """Fields of requests, and answers to those that are too long."""
        from envcheck.matrix.requests import RequestsFile  # noqa: PLC0415  # only where tokens are counted

        found: RequestsFile = self._read("requests.json", RequestsFile)
        return found

    @cached_property
    def regressions(self) -> Regressions:
        """What releases broke; read where one is chosen."""
        from envcheck.matrix.regressions import Regression, Regressions  # noqa: PLC0415  # a batch of checks never asks

        return Regressions(self._read("regressions.json", list[Regression]))

    @cached_property
    def signatures(self) -> tuple[Signature, ...]:
        """Lines by which failures are told in logs, file by file."""
        from envcheck.matrix.decode import folder_files  # noqa: PLC0415  # only for a log
        from envcheck.matrix.signatures import Signature  # noqa: PLC0415  # the same

        names = folder_files(self.folder, "signatures")
        return tuple(one for name in names for one in self._read(name, list[Signature]))

    @cached_property
    def xids(self) -> dict[int, XidKind]:
        """What an Xid of the driver says of a GPU, by number."""
        from envcheck.matrix.xids import XidRecord  # noqa: PLC0415  # few hosts show any

        return {entry.number: entry.kind for entry in self._read("xids.json", list[XidRecord])}

    @cached_property
    def traits(self) -> Traits:
        """Behaviours of releases that their wheels do not show."""
        return Traits(self._read("traits.json", list[Trait]))

    def capability_trait(self, id_: str) -> ComputeCapability | None:
        """A behaviour whose figure is a compute capability."""
        found = self.traits.get(id_)
        return compute_capability(found.value) if found and found.value else None

    @cached_property
    def images(self) -> Images:
        """Container images."""
        from envcheck.matrix.images import Images, ImagesFile  # noqa: PLC0415  # few hosts name one

        return Images(self._read("images.json", ImagesFile))

    @cached_property
    def drivers(self) -> Drivers:
        """Faults of drivers, and what they need beside them."""
        return Drivers(self._read("drivers.json", DriversFile))

    @cached_property
    def packages(self) -> Packages:
        """Faults and needs of Python packages."""
        from envcheck.matrix.packages import Packages, PackagesFile  # noqa: PLC0415  # not every host has any

        return Packages(self._read("packages.json", PackagesFile))

    @cached_property
    def toolchain(self) -> Toolchain:
        """Compilers, toolkits, and what is compiled or linked on a host."""
        from envcheck.matrix.toolchain import Toolchain, ToolchainFile  # noqa: PLC0415  # needed where something is compiled or preloaded

        return Toolchain(self._read("toolchain.json", ToolchainFile))

    @cached_property
    def root_steps(self) -> RootSteps:
        """What root does on a distribution."""
        from envcheck.matrix.root_steps import RootSteps, RootStepsFile  # noqa: PLC0415  # only remedies that name commands need them

        return RootSteps(self._read("root_steps.json", RootStepsFile))

    @cached_property
    def codes(self) -> dict[str, FindingCode]:
        """The vocabulary of findings, by code."""
        return {entry.code: entry for entry in self._read("codes.json", list[FindingCode])}
