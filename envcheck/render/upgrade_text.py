"""The text and the JSON of `envcheck upgrade`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from envcheck.model.finding import Finding, Severity
from envcheck.planning.upgrade import Change, LostValues, Upgrade
from envcheck.planning.upgrade_memory import MemoryChange
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain

UPGRADE_SCHEMA = "envcheck.upgrade/1"
_SHOWN = 6  # architectures named in the text; the JSON has all
_OWN = ("total", "budget")  # figures that the memory budget's own page words otherwise


class LostFlagOut(msgspec.Struct, frozen=True):
    """An argument that the target lacks, and what to do."""

    flag: str
    instead: str | None
    advice: str
    given: bool


class HostFindingOut(msgspec.Struct, frozen=True):
    """What stands in the way of the target's default wheel on this host, or will cost there."""

    code: str
    severity: str
    title: str
    detail: str


class UpgradeOut(msgspec.Struct, frozen=True):
    """The answer of `upgrade`; `kv_gib` = memory for the KV cache of one GPU before and after, null without a model.

    `steps` = what to do, in order; `notes` = what became of arguments that are not as they were given; `environment` = variables to export
    for the command. `memory` = each term of the budget, and what each changed default does to the KV cache. `host` = findings on the target
    on this host.
    """

    before: str
    after: str
    migration: str
    stack: tuple[Change, ...]
    defaults: tuple[Change, ...]
    lost: list[LostFlagOut]
    added: tuple[str, ...]
    closed: tuple[str, ...]
    opened: tuple[str, ...]
    command: tuple[str, ...]
    kv_gib: tuple[float | None, float | None] | None
    steps: list[str]
    notes: list[str]
    environment: tuple[str, ...]
    models_gone: tuple[str, ...]
    models_added: tuple[str, ...]
    model: str | None
    memory: MemoryChange | None
    values: tuple[LostValues, ...]
    host: list[HostFindingOut]
    schema: str = UPGRADE_SCHEMA


def _kv(memory: MemoryChange | None) -> tuple[float | None, float | None] | None:
    return next(((term.before, term.after) for term in memory.terms if term.name == "kv_cache"), None) if memory else None


def upgrade_out(found: Upgrade, memory: MemoryChange | None, host: Sequence[Finding], catalogue: Catalogue) -> UpgradeOut:
    """The JSON form."""
    return UpgradeOut(
        before=found.before,
        after=found.after,
        migration=catalogue.text(found.migration),
        stack=found.stack,
        defaults=found.defaults,
        lost=[LostFlagOut(one.flag, one.instead, catalogue.text(one.why), one.given) for one in found.lost],
        added=found.added,
        closed=found.closed,
        opened=found.opened,
        command=found.command,
        kv_gib=_kv(memory),
        steps=[catalogue.text(step) for step in found.steps],
        notes=[catalogue.text(note) for note in found.notes],
        environment=found.environment,
        models_gone=found.models_gone,
        models_added=found.models_added,
        model=catalogue.text(found.model) if found.model else None,
        memory=memory,
        values=found.values,
        host=[HostFindingOut(one.code, one.severity.value, catalogue.title(one.code), catalogue.text(one.detail)) for one in host],
    )


def upgrade_text(
    found: Upgrade,
    memory: MemoryChange | None,
    host: Sequence[Finding],
    catalogue: Catalogue,
    *,
    verbose: bool = False,
    paint: Paint = plain,
    model: str | None = None,
) -> str:
    """Engine, what to do, stack, models, defaults, memory, arguments, advisories, then the command line."""
    page = Page(catalogue, paint)
    page.say("upgrade.subject", before=found.before, after=found.after, role="heading")
    page.write(catalogue.text(found.migration), indent="  ")
    _host(page, found, host)
    _steps(page, found)
    _changes(page, "upgrade.stack", found.stack)
    _models(page, found)
    _changes(page, "upgrade.defaults", found.defaults)
    if memory:
        _memory(page, memory)
    _lost(page, found, verbose=verbose)
    _values(page, found)
    page.blank()
    page.say("upgrade.advisories", closed=len(found.closed), opened=len(found.opened))
    _command(page, found, model or "MODEL")
    return page.finish()


def _host(page: Page, found: Upgrade, host: Sequence[Finding]) -> None:
    if not host:
        return
    page.heading("upgrade.host", vllm=found.after)
    for one in host:
        line = f"{page.catalogue.title(one.code)}: {page.catalogue.text(one.detail)} [{one.code}]"
        page.write(line, indent="    ", first="  - ", role="bad" if one.severity is Severity.ERROR else "caution")


def _values(page: Page, found: Upgrade) -> None:
    if not found.values:
        return
    page.heading("upgrade.values")
    for one in found.values:
        page.write(f"{one.flag}: {page.catalogue.listed(one.values)}", indent="    ", first="  - ")


def _steps(page: Page, found: Upgrade) -> None:
    if not found.steps:
        return
    page.heading("upgrade.steps")
    for number, step in enumerate(found.steps, 1):
        page.write(page.catalogue.text(step), indent="     ", first=f"  {number}. ")


def _changes(page: Page, heading: str, changes: tuple[Change, ...]) -> None:
    if not changes:
        return
    page.heading(heading)
    for change in changes:
        before, after = (
            page.catalogue.say("upgrade.not-known") if side in change.untold else value or "-"
            for side, value in (("before", change.before), ("after", change.after))
        )
        page.write(f"{change.what}: {before} -> {after}", indent="    ", first="  - ")


def _models(page: Page, found: Upgrade) -> None:
    if found.model:
        page.heading("upgrade.model")
        page.write(page.catalogue.text(found.model), indent="  ")
    if not (found.models_gone or found.models_added):
        return
    page.heading("upgrade.models")
    for key, names in (("upgrade.models-gone", found.models_gone), ("upgrade.models-added", found.models_added)):
        if names:
            more = ("...",) if len(names) > _SHOWN else ()
            listed = page.catalogue.listed((*names[:_SHOWN], *more))
            page.write(page.catalogue.say(key, count=len(names), names=listed), indent="    ", first="  - ")


def _memory(page: Page, memory: MemoryChange) -> None:
    page.heading("upgrade.memory")
    for term in memory.terms:
        if term.before != term.after:
            before, after = ("?" if value is None else f"{value:.2f}" for value in (term.before, term.after))
            name = page.catalogue.say(f"upgrade.{term.name}" if term.name in _OWN else f"size.term.{term.name}")
            page.say("upgrade.term", indent="  ", name=name, before=before, after=after)
    for effect in memory.effects:
        page.say(
            "upgrade.effect",
            indent="  ",
            setting=effect.setting,
            before=effect.before,
            after=effect.after,
            gib=f"{effect.kv_gib:+.2f}",
            keep=effect.keep,
        )
    tokens = ("?" if value is None else str(int(value)) for value in memory.tokens)
    page.say("upgrade.tokens", indent="  ", before=next(tokens), after=next(tokens))
    if memory.verdict[1] != memory.verdict[0] or memory.verdict[1] == "does-not-fit":
        verdicts = (page.catalogue.say(f"upgrade.verdict-{verdict}") for verdict in memory.verdict)
        page.say("upgrade.verdict", indent="  ", role="caution", before=next(verdicts), after=next(verdicts))


def _lost(page: Page, found: Upgrade, *, verbose: bool) -> None:
    shown = [one for one in found.lost if one.given or one.instead or verbose]
    page.heading("upgrade.lost", count=len(found.lost))
    for one in shown:
        page.write(f"{one.flag}: {page.catalogue.text(one.why)}", indent="    ", first="  - ", role="caution" if one.given else None)


def _command(page: Page, found: Upgrade, model: str) -> None:
    for note in found.notes:
        page.write(page.catalogue.text(note), role="caution")
    if not (found.command or found.environment):
        return
    page.heading("upgrade.command")
    page.command([*(("env", *found.environment) if found.environment else ()), "vllm", "serve", model, *found.command])
