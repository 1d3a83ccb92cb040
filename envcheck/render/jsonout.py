"""Values to their JSON form: every catalogue text becomes a sentence in the language asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import UNSET

from envcheck.model.budget import SizeResult
from envcheck.model.finding import Finding, Remedy
from envcheck.model.plan import EngineUse, InstallRecipe, MirrorChoice, Plan, ServeConfig, Setting, TokenBudget
from envcheck.model.report import CheckReport
from envcheck.model.stack import Clash, Stack
from envcheck.model.ways import Cost, ImageUse, Way
from envcheck.render.catalogue import Catalogue
from envcheck.render.commands import line
from envcheck.render.jsonmodel import (
    AccountOut,
    CheckOut,
    ClashOut,
    CostOut,
    DerivationOut,
    FactOut,
    FailureOut,
    FindingOut,
    ImageOut,
    InstallOut,
    MirrorOut,
    PlanOut,
    RemedyOut,
    ServeOut,
    SettingOut,
    SizeOut,
    StackOut,
    StepOut,
    SuggestionOut,
    WayOut,
)
from envcheck.render.jsonserve import EngineOut, TokensOut
from envcheck.render.serve_text import serve_argv
from envcheck.render.undecided_text import undecided_sentence


def findings_out(findings: Iterable[Finding], catalogue: Catalogue) -> list[FindingOut]:
    """Findings with their sentences, in the order given."""
    return [
        FindingOut(
            code=finding.code,
            severity=finding.severity,
            title=catalogue.title(finding.code),
            detail=catalogue.text(finding.detail),
            evidence=finding.evidence,
            remedies=[_remedy(remedy, catalogue) for remedy in finding.remedies],
            sources=list(finding.sources),
            origin=finding.origin,
            facts=[FactOut(fact.path, fact.value, fact.source) for fact in finding.facts],
            consequences=findings_out(finding.consequences, catalogue),
        )
        for finding in findings
    ]


def _remedy(remedy: Remedy, catalogue: Catalogue) -> RemedyOut:
    return RemedyOut(remedy.kind, list(remedy.commands), remedy.needs_root, catalogue.text(remedy.note))


def clash_out(clash: Clash, catalogue: Catalogue, release: str | None = None) -> ClashOut:
    """A clash with its sentence."""
    return ClashOut(clash.code, clash.severity, catalogue.text(clash.detail), clash.needed, clash.present, release)


def stack_out(stack: Stack, catalogue: Catalogue) -> StackOut:
    """A stack with the sentences of its warnings."""
    plain = {name: getattr(stack, name) for name in StackOut.__struct_fields__ if name != "warnings"}
    return StackOut(**plain, warnings=[clash_out(clash, catalogue) for clash in stack.warnings])


def size_out(size: SizeResult, catalogue: Catalogue, *, account: bool = True) -> SizeOut:
    """A memory budget with its sentences."""
    failure = size.failure
    return SizeOut(
        verdict=size.verdict,
        engine=size.engine,
        per_gpu_gib=size.per_gpu_gib,
        kv=size.kv,
        failure=FailureOut(failure.kind, failure.needed_gib, failure.available_gib, failure.max_model_len) if failure else None,
        suggested=SuggestionOut(size.suggested.serve_args, [catalogue.text(why) for why in size.suggested.why]),
        confidence=size.confidence,
        unknowns=[catalogue.text(unknown) for unknown in size.unknowns],
        derivations={
            term: DerivationOut(catalogue.text(made.formula), made.inputs, made.parts, made.releases, list(made.sources))
            for term, made in size.derivations.items()
        }
        or UNSET,
        account=[AccountOut(line.term, line.gib, line.charged, catalogue.text(line.text)) for line in size.account] if account else UNSET,
    )


def _install(recipe: InstallRecipe, catalogue: Catalogue) -> InstallOut:
    return InstallOut(recipe.tool, [StepOut(list(step.argv), line(step.argv), catalogue.text(step.why)) for step in recipe.steps])


def _mirror(mirror: MirrorChoice, catalogue: Catalogue) -> MirrorOut:
    return MirrorOut(mirror.kind, mirror.id, mirror.url, catalogue.text(mirror.why))


def _settings(settings: Iterable[Setting], catalogue: Catalogue) -> list[SettingOut]:
    return [SettingOut(setting.flag, setting.value, catalogue.text(setting.why), list(setting.more)) for setting in settings]


def _serve(serve: ServeConfig, catalogue: Catalogue) -> ServeOut:
    return ServeOut(serve.model, _settings(serve.settings, catalogue), _settings(serve.environment, catalogue), line(serve_argv(serve)))


def _cost(cost: Cost, catalogue: Catalogue) -> CostOut:
    lost = [catalogue.text(lost) for lost in cost.lost]
    return CostOut(cost.root, cost.reboot, cost.shared, cost.download_mib, cost.download_more, lost)


def _image(image: ImageUse) -> ImageOut:
    return ImageOut(**{name: getattr(image, name) for name in ImageOut.__struct_fields__})


def way_out(way: Way, catalogue: Catalogue) -> WayOut:
    """A way with its sentences."""
    return WayOut(
        kind=way.kind,
        title=catalogue.text(way.title),
        commands=list(way.commands),
        stack=stack_out(way.stack, catalogue) if way.stack else None,
        image=_image(way.image) if way.image else None,
        cost=_cost(way.cost, catalogue),
        first=[_remedy(remedy, catalogue) for remedy in way.first],
        after=way.after,
        asks=way.asks,
        proof=way.proof,
        breaks=list(way.breaks),
        why=[catalogue.text(why) for why in way.why],
    )


def _tokens(tokens: TokenBudget, catalogue: Catalogue) -> TokensOut:
    notes = [catalogue.text(note) for note in tokens.notes]
    return TokensOut(tokens.context, tokens.prompt, tokens.output, tokens.longest_prompt, tokens.max_tokens, notes)


def _engine(engine: EngineUse, catalogue: Catalogue) -> EngineOut:
    runner: Literal["v1", "v2"] | None = None if engine.runner is None else "v2" if engine.runner == "v2" else "v1"
    return EngineOut("v0" if engine.engine == "v0" else "v1", runner, engine.switch, catalogue.text(engine.why), engine.told)


def plan_out(plan: Plan, catalogue: Catalogue) -> PlanOut:
    """A plan with its sentences."""
    return PlanOut(
        schema=plan.schema,
        stack=stack_out(plan.stack, catalogue) if plan.stack else None,
        alternatives=[stack_out(stack, catalogue) for stack in plan.alternatives],
        ways_out=[stack_out(stack, catalogue) for stack in plan.ways_out],
        not_possible={
            release: [clash_out(clash, catalogue, release) for clash in clashes] for release, clashes in plan.not_possible.items()
        },
        mirrors=[_mirror(mirror, catalogue) for mirror in plan.mirrors],
        install=[_install(recipe, catalogue) for recipe in plan.install],
        serve=_serve(plan.serve, catalogue) if plan.serve else None,
        size=size_out(plan.size, catalogue) if plan.size else None,
        findings=findings_out(plan.findings, catalogue),
        environment_dir=plan.environment_dir,
        notes=[catalogue.text(note) for note in plan.notes],
        ways=[way_out(way, catalogue) for way in plan.ways],
        choice=[catalogue.text(reason) for reason in plan.choice],
        tokens=_tokens(plan.tokens, catalogue) if plan.tokens else UNSET,
        engine=_engine(plan.engine, catalogue) if plan.engine else UNSET,
        model_ways=[way_out(way, catalogue) for way in plan.model_ways],
    )


def check_out(report: CheckReport, catalogue: Catalogue, matrix_date: str) -> CheckOut:
    """The report of `check` with its sentences."""
    return CheckOut(
        schema=report.schema,
        verdict=report.verdict,
        subject=report.subject,
        vllm=report.vllm,
        newest=report.newest,
        engine=report.engine,
        binding=clash_out(report.binding, catalogue, report.binding_release) if report.binding else None,
        undecided=[undecided_sentence(text, catalogue) for text in report.undecided],
        findings=findings_out(report.findings, catalogue),
        host=report.host,
        plan=plan_out(report.plan, catalogue) if report.plan else None,
        matrix_date=matrix_date,
    )
