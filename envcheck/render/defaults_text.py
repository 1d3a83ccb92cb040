"""The text and the JSON of `envcheck defaults`."""

from __future__ import annotations

import msgspec

from envcheck.planning.effective import Defaults
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain

DEFAULTS_SCHEMA = "envcheck.defaults/1"


class DefaultOut(msgspec.Struct, frozen=True):
    """One setting; `value` null = could not be told."""

    setting: str
    value: str | int | float | bool | None
    why: str
    first: str
    last: str


class DefaultsOut(msgspec.Struct, frozen=True):
    """The answer of `defaults`."""

    vllm: str
    engine: str
    gpu: str
    defaults: list[DefaultOut]
    schema: str = DEFAULTS_SCHEMA


def defaults_out(found: Defaults, catalogue: Catalogue) -> DefaultsOut:
    """The JSON form."""
    rows = [DefaultOut(d.setting, d.value, catalogue.text(d.why), d.first, d.last) for d in found.defaults]
    return DefaultsOut(found.vllm, found.engine, found.gpu, rows)


def defaults_text(found: Defaults, catalogue: Catalogue, paint: Paint = plain) -> str:
    """One setting a line, its reason and releases below it."""
    page = Page(catalogue, paint)
    gpu = found.gpu or catalogue.say("defaults.any-gpu")
    page.say("defaults.subject", vllm=found.vllm, gpu=gpu, engine=found.engine.upper())
    for default in found.defaults:
        value = catalogue.say("defaults.unknown") if default.value is None else str(default.value)
        page.write(f"{default.setting:<24} {value}", indent="  ", role="heading")
        span = catalogue.say("defaults.holds", first=default.first, last=default.last)
        page.write(f"{catalogue.text(default.why)} ({span})", indent="    ", role="faint")
    return page.finish()
