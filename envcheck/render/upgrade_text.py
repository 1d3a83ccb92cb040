"""The text and the JSON of `envcheck upgrade`."""

from __future__ import annotations

import msgspec

from envcheck.planning.upgrade import Change, Upgrade
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain

UPGRADE_SCHEMA = "envcheck.upgrade/1"


class LostFlagOut(msgspec.Struct, frozen=True):
    """An argument that the target lacks, and what to do."""

    flag: str
    instead: str | None
    advice: str
    given: bool


class UpgradeOut(msgspec.Struct, frozen=True):
    """The answer of `upgrade`; `kv_gib` = memory for the KV cache of one GPU before and after, null without a model."""

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
    schema: str = UPGRADE_SCHEMA


Kv = tuple[float | None, float | None] | None


def upgrade_out(found: Upgrade, kv_gib: Kv, catalogue: Catalogue) -> UpgradeOut:
    """The JSON form."""
    lost = [LostFlagOut(one.flag, one.instead, catalogue.text(one.why), one.given) for one in found.lost]
    return UpgradeOut(
        found.before,
        found.after,
        catalogue.text(found.migration),
        found.stack,
        found.defaults,
        lost,
        found.added,
        found.closed,
        found.opened,
        found.command,
        kv_gib,
    )


def upgrade_text(found: Upgrade, kv_gib: Kv, catalogue: Catalogue, *, verbose: bool = False, paint: Paint = plain) -> str:
    """Engine, stack, defaults, arguments, advisories, then the command line."""
    page = Page(catalogue, paint)
    page.say("upgrade.subject", before=found.before, after=found.after)
    page.write(catalogue.text(found.migration), indent="  ")
    _changes(page, "upgrade.stack", found.stack)
    _changes(page, "upgrade.defaults", found.defaults)
    if kv_gib:
        before, after = ("?" if value is None else f"{value:.2f}" for value in kv_gib)
        page.say("upgrade.kv", indent="  ", before=before, after=after)
    shown = [one for one in found.lost if one.given or one.instead or verbose]
    page.heading("upgrade.lost", count=len(found.lost))
    for one in shown:
        page.write(f"{one.flag}: {catalogue.text(one.why)}", indent="    ", first="  - ", role="caution" if one.given else None)
    page.say("upgrade.advisories", closed=len(found.closed), opened=len(found.opened))
    if found.command:
        page.heading("upgrade.command")
        page.command(["vllm", "serve", "MODEL", *found.command])
    return page.finish()


def _changes(page: Page, heading: str, changes: tuple[Change, ...]) -> None:
    page.heading(heading)
    for change in changes:
        page.write(f"{change.what}: {change.before or '-'} -> {change.after or '-'}", indent="    ", first="  - ")
