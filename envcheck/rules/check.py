"""The judge: which question is asked, which rules answer it, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.finding import Finding, Remedy, Severity, Verdict
from envcheck.model.host import HostReport, known
from envcheck.model.request import Request
from envcheck.model.stack import Clash
from envcheck.model.text import Text
from envcheck.rules import driver
from envcheck.rules.build import Judged, Target, judge_build, name_of, python_clash
from envcheck.rules.causes import fold, ordered
from envcheck.rules.compiling import compilation
from envcheck.rules.engine import engine_findings, engine_for
from envcheck.rules.make import error, from_clash, info
from envcheck.rules.registry import ENVIRONMENT_RULES, HOST_RULES, LAST_RULES, Rule
from envcheck.rules.security import security
from envcheck.rules.situation import Situation, read_situation, unsuited
from envcheck.rules.survey import Survey, Surveyor, asked_label

Subject = Literal["installed", "requested", "any", "environment"]


_NO_WHEEL = frozenset({"jetson-needs-special-build", "no-wheel-for-platform"})
# A build of one's own holds code for other GPUs than the release it grew from.
_OF_CODE = ("gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build", "driver-too-old-for-ptx")


class Judgement(msgspec.Struct, frozen=True):
    """What the rules concluded, with all that planning needs so that it derives nothing again.

    `release` is the one judged (installed, requested, or the newest that runs); `binding` the clash that decides and `binding_release`
    the release it concerns; `undecided` names the deciding facts that are not known.
    """

    verdict: Verdict
    subject: Subject
    situation: Situation
    target: Target
    survey: Survey | None
    judged: Judged | None
    release: Release | None
    engine: str | None
    findings: tuple[Finding, ...]
    binding: Clash | None
    binding_release: str | None
    undecided: tuple[Text, ...]


def judge(host: HostReport, matrix: Matrix, request: Request, *, remedies: bool = True) -> Judgement:
    """Judge a host. `remedies` False leaves the ways out of the findings, for batches. Raises UsageError for a release that is none."""
    return _judge_of(matrix).judge(host, request, remedies=remedies)


@lru_cache(maxsize=4)
def _judge_of(matrix: Matrix) -> Judge:
    return Judge(matrix)


def surveyor_of(matrix: Matrix) -> Surveyor:
    """The surveyor that the judge of this matrix uses, so that planning shares what it remembers."""
    return _judge_of(matrix).surveyor


def target_of(situation: Situation) -> Target:
    """What of a host decides about wheels."""
    return Target(
        situation.arch,
        situation.glibc,
        situation.musl,
        None if unsuited(situation.host) and not situation.from_image else situation.python,
        situation.cuda_driver,
        situation.driver_cuda,
        situation.capabilities,
    )


class _Conclusion(msgspec.Struct):
    """What judging the subject adds to the findings of the host."""

    findings: list[Finding]
    release: Release | None = None
    judged: Judged | None = None
    survey: Survey | None = None
    binding: Clash | None = None
    binding_release: str | None = None
    undecided: tuple[str, ...] = ()


class Judge:
    """Judges hosts against one matrix."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.surveyor = Surveyor(matrix)

    def judge(self, host: HostReport, request: Request, *, remedies: bool) -> Judgement:
        """One host, one request."""
        matrix = self.matrix
        situation = read_situation(host, matrix, request)
        target = target_of(situation)
        subject = self._subject(situation, request)
        failed: list[Text] = []
        found = _all(HOST_RULES, situation, matrix, failed)
        errors = [finding.code for finding in found if finding.severity is Severity.ERROR]
        # No wheel helps there: what would be said of wheels says nothing.
        hopeless = not _NO_WHEEL.isdisjoint(errors) or bool(errors and not situation.usable_gpus)
        conclusion = _Conclusion([]) if hopeless else self._conclude(subject, situation, target, request, remedies)
        # Of an image whose name is all that is known, the packages are those of its release.
        unseen = situation.from_image and not situation.packages and not situation.torch
        environment = [] if unseen else _all(ENVIRONMENT_RULES, situation, matrix, failed)
        engine, engines = self._engine(situation, conclusion.release)
        if subject == "installed":
            found += [*conclusion.findings, *environment]
        elif subject == "any" and situation.torch is not None:
            # The environment at hand has half of the stack already: it is judged as it is.
            found += [*environment, *conclusion.findings]
        else:
            # What is asked about goes into a fresh environment, so this one can mislead but not block.
            # An interpreter that no wheel fits is said of a release asked for as one of an unfit version is.
            kept = [f for f in environment if subject == "requested" and f.code == "python-unsupported"]
            found += [*kept, *_no_errors([f for f in environment if f not in kept]), *conclusion.findings]
        found += [*engines, *_all(LAST_RULES, msgspec.structs.replace(situation, concluded=conclusion.release), matrix, failed)]
        own, at_hand = subject == "installed", subject == "installed" or (subject == "any" and situation.torch is not None)
        found += compilation(situation, matrix, conclusion.release, engine, installed=own, own=at_hand)
        found += security(situation, matrix, conclusion.release, engine, installed=own, at_hand=at_hand, remedies=remedies)
        findings = fold(ordered(_observed(situation, subject, found, matrix)), matrix)
        nameless = ("packages.vllm",) if subject == "any" and situation.installed_raw else ()
        if subject == "any" and _environment_alone(findings, environment, conclusion):
            subject = "environment"
        verdict, undecided = _verdict(findings, _missing(situation, (*conclusion.undecided, *nameless)), failed)
        binding = conclusion.binding
        if verdict is Verdict.BLOCKED and binding is not None and findings[0].code != binding.code:
            binding = None  # something nearer to the root decides; its finding says what
        return Judgement(
            verdict,
            subject,
            situation,
            target,
            conclusion.survey,
            conclusion.judged,
            conclusion.release,
            engine,
            findings,
            binding,
            conclusion.binding_release if binding else None,
            undecided,
        )

    def _subject(self, situation: Situation, request: Request) -> Subject:
        own = situation.installed
        if not request.vllm:
            return "installed" if own else "any"
        asked, label = self.matrix.matching(request.vllm), asked_label(self.matrix, request.vllm)
        return "installed" if own and own.release in asked and label in ("", own.variant) else "requested"

    def _engine(self, situation: Situation, release: Release | None) -> tuple[str | None, list[Finding]]:
        if release is None:
            return None, []
        choice = engine_for(situation, self.matrix, release)
        return choice.engine, list(engine_findings(situation, self.matrix, release, choice))

    def _conclude(self, subject: Subject, situation: Situation, target: Target, request: Request, remedies: bool) -> _Conclusion:
        if subject == "installed":
            return self._installed(situation, target, remedies)
        if subject == "requested":
            return self._requested(situation, target, request.vllm or "latest", remedies)
        return self._any(situation, target, remedies)

    def _installed(self, situation: Situation, target: Target, remedies: bool) -> _Conclusion:
        own = situation.installed
        if own is None:
            return _Conclusion([])
        if situation.from_image:  # what its wheel asks for is a rule on the image
            from envcheck.rules.image_build import judge_image  # noqa: PLC0415  # few hosts name an image

            image = self.matrix.images.read(situation.image)
            inside = judge_image(situation, self.matrix, image) if image else None
            missing = (inside or judge_build(target, self.matrix, own.release, own.release.builds[0], installed=True)).undecided
            return _Conclusion([], own.release, inside, undecided=missing)
        build = own.release.build(target.arch or "x86_64", own.variant)
        if build is None:  # built from source, or for a machine the project has no wheel for
            return _Conclusion([], own.release, undecided=() if target.capabilities else ("gpus.compute_capability",))
        judged = judge_build(target, self.matrix, own.release, build, installed=True)
        clashes = [clash for clash in judged.clashes if own.exact or clash.code not in _OF_CODE]
        findings = [from_clash(clash, Severity(clash.severity), self._ways(clash, situation, target, remedies)) for clash in clashes]
        # With torch beside it the environment was really made, whatever the metadata say; without, it is a wish.
        made = situation.torch is not None
        findings += [
            from_clash(clash, Severity.WARNING if made else Severity(clash.severity), self._ways(clash, situation, target, remedies))
            for clash in python_clash(target.python, own.release)
        ]
        vllm = situation.installed_raw[:60]
        if not judged.errors and build.cuda:
            findings += driver.minor_compatibility(situation, self.matrix, build.cuda, vllm)
        newest = self.matrix.releases[0]
        if not own.exact and own.release is newest:
            findings.append(info("matrix-stale", vllm=vllm, newest=newest.raw))
        binding = next((clash for clash in clashes if clash.severity == "error"), None)
        return _Conclusion(findings, own.release, judged, None, binding, vllm if binding else None, judged.undecided)

    def _requested(self, situation: Situation, target: Target, spec: str, remedies: bool) -> _Conclusion:
        releases = self.matrix.matching(spec)
        survey = self.surveyor.survey(target, spec)
        judged = survey.best.judged if survey.best else survey.closest
        if judged is None:
            return _Conclusion([self._no_wheel(target, releases[0].raw)], releases[0], survey=survey)
        clashes = list(judged.clashes)
        if survey.best is None or survey.best.new_python:
            clashes += python_clash(target.python, judged.release)
        findings = [from_clash(clash, Severity(clash.severity), self._ways(clash, situation, target, remedies)) for clash in clashes]
        errors = [clash for clash in clashes if clash.severity == "error"]
        binding = errors[0] if errors else None
        wheel = name_of(judged.release, judged.build)
        return _Conclusion(
            findings, judged.release, judged, survey, binding, wheel if binding else None, survey.undecided or judged.undecided
        )

    def _any(self, situation: Situation, target: Target, remedies: bool) -> _Conclusion:
        survey = self.surveyor.survey(target)
        if survey.best is None:
            if survey.closest is None:
                return _Conclusion([self._no_wheel(target, self.matrix.releases[0].raw)], survey=survey)
            errors = survey.closest.errors
            findings = [from_clash(clash, Severity.ERROR, self._ways(clash, situation, target, remedies)) for clash in errors]
            return _Conclusion(findings, None, survey.closest, survey, errors[0], survey.closest.release.raw, survey.undecided)
        judged = survey.best.judged
        findings = [from_clash(clash, Severity.WARNING, self._ways(clash, situation, target, remedies)) for clash in judged.warnings]
        for held in survey.held_back:
            span = held.newest.raw if held.newest is held.oldest else f"{held.oldest.raw} – {held.newest.raw}"
            ways = self._ways(held.clash, situation, target, remedies)
            findings.append(from_clash(held.clash, Severity.WARNING, ways, releases=span, runs=judged.release.raw))
        binding = survey.held_back[0] if survey.held_back else None
        return _Conclusion(
            findings,
            judged.release,
            judged,
            survey,
            binding.clash if binding else None,
            binding.newest.raw if binding else None,
            survey.undecided,
        )

    def _ways(self, clash: Clash, situation: Situation, target: Target, wanted: bool) -> tuple[Remedy, ...]:
        from envcheck.rules.remedies import clash_remedies  # noqa: PLC0415  # only where a wheel clashes with the host

        return clash_remedies(clash, situation, target, self.surveyor) if wanted else ()

    def _no_wheel(self, target: Target, release: str) -> Finding:
        return error("no-wheel-for-platform", "arch", vllm=release, arch=target.arch or "?")


def _missing(situation: Situation, names: Iterable[str]) -> tuple[str, ...]:
    """Deciding facts that are not known, less those that an observation on the host settles."""
    observed = known(situation.host.observed) or {}
    works = observed.get("vllm_serves") is True or observed.get("torch_cuda") is True
    return tuple(name for name in names if not (works and name == "driver.version"))


def _all(rules: tuple[Rule, ...], situation: Situation, matrix: Matrix, failed: list[Text]) -> list[Finding]:
    """What the rules find. A rule that fails costs its own findings; that it failed is not known to be fine, so it goes to `failed`."""
    found: list[Finding] = []
    for rule in rules:
        try:
            found += rule.run(situation, matrix)
        except Exception as error:
            failed.append(Text("undecided.internal", {"rule": rule.name, "why": f"{type(error).__name__}: {error}"[:200]}))
    return found


def _environment_alone(findings: tuple[Finding, ...], environment: list[Finding], conclusion: _Conclusion) -> bool:
    """Whether a release runs here and only what is installed stands in its way."""
    own = {finding.code for finding in environment}
    errors = [finding.code for finding in findings if finding.severity is Severity.ERROR]
    return bool(errors) and own.issuperset(errors) and conclusion.release is not None and conclusion.judged is not None


def _observed(situation: Situation, subject: Subject, findings: list[Finding], matrix: Matrix) -> list[Finding]:
    """What was seen to work outweighs a table: the findings it settles are infos, and where vLLM serves nothing is an error."""
    seen = known(situation.host.observed)
    if not seen:
        return findings
    settled = {code for name, codes in matrix.observations.items() if seen.get(name) is True for code in codes}
    findings = [msgspec.structs.replace(f, severity=Severity.INFO) if f.code in settled else f for f in findings]
    return _no_errors(findings) if subject == "installed" and seen.get("vllm_serves") is True else findings


def _no_errors(findings: list[Finding]) -> list[Finding]:
    """The same findings, none graver than a warning."""
    return [msgspec.structs.replace(f, severity=Severity.WARNING) if f.severity is Severity.ERROR else f for f in findings]


def _verdict(findings: tuple[Finding, ...], missing: tuple[str, ...], failed: list[Text]) -> tuple[Verdict, tuple[Text, ...]]:
    worst = findings[0].severity if findings else Severity.INFO
    if worst is Severity.ERROR:
        return Verdict.BLOCKED, ()
    if missing or failed:
        return Verdict.UNKNOWN, (*(Text(f"undecided.{name}") for name in missing), *failed)
    return (Verdict.READY_WITH_WARNINGS if worst is Severity.WARNING else Verdict.READY), ()
