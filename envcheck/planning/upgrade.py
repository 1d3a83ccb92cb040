"""What changes between two releases: arguments, defaults, engine, what the wheel needs, advisories; and the command line anew."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from envcheck.matrix.flags import Flags, ServeFlag, has, within
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.text import Text
from envcheck.planning.effective import effective, engine_of
from envcheck.sizing.inputs import Card

_MOST = 64
_PAIR = re.compile(r"[a-z_]{1,20}=\d{1,6}\Z")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A thing that differs; None = the release has it not, or it is not known."""

    what: str
    before: str | None
    after: str | None


class LostFlag(msgspec.Struct, frozen=True, kw_only=True):
    """An argument that the target lacks; `given` = it is in the command line; `why` says what to write."""

    flag: str
    instead: str | None
    why: Text
    given: bool


class Upgrade(msgspec.Struct, frozen=True, kw_only=True):
    """The whole difference. `command` = the serve arguments for the target, `closed` and `opened` = advisories."""

    before: str
    after: str
    migration: Text
    stack: tuple[Change, ...]
    defaults: tuple[Change, ...]
    lost: tuple[LostFlag, ...]
    added: tuple[str, ...]
    closed: tuple[str, ...]
    opened: tuple[str, ...]
    command: tuple[str, ...]


def upgrade(matrix: Matrix, old: Release, new: Release, card: Card, serve_args: Mapping[str, Any]) -> Upgrade:
    """The difference between two releases on a card, for a command line. Sources: the releases' records, flags and defaults."""
    flags = matrix.flags
    given = {_full(flags, key, old) for key in list(serve_args)[:_MOST]}
    before, after = set(flags.names(old.version)), set(flags.names(new.version))
    lost = tuple(_lost(flags, name, new, name in given) for name in sorted((before | given) - after))
    here, there = _advisories(matrix, old), _advisories(matrix, new)
    return Upgrade(
        before=old.raw,
        after=new.raw,
        migration=_migration(matrix, old, new, card),
        stack=_stack(matrix, old, new, card),
        defaults=_defaults(matrix, old, new, card),
        lost=lost,
        added=tuple(sorted(after - before)),
        closed=tuple(sorted(here - there)),
        opened=tuple(sorted(there - here)),
        command=_command(flags, new, serve_args),
    )


def _full(flags: Flags, key: str, release: Release) -> str:
    flag = _flag(flags, key, release)
    return flag.name if flag else "--" + key.replace("_", "-")[:80]


def _flag(flags: Flags, key: str, release: Release) -> ServeFlag | None:
    named = flags.flag("--" + key.replace("_", "-")[:80])
    return named if named and has(named, release.version) else flags.of_dest(key, release.version)


def _lost(flags: Flags, name: str, new: Release, given: bool) -> LostFlag:
    found = flags.replacement(name, new.version)
    if found is None:
        return LostFlag(flag=name, instead=None, why=Text("remedy.flag-drop", {"flag": name}), given=given)
    why = Text(f"remedy.flag-{found.why}", {"flag": name, "instead": found.instead or ""})
    return LostFlag(flag=name, instead=found.instead, why=why, given=given)


def _command(flags: Flags, new: Release, serve_args: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments with the target's names; what it lacks without a plain successor is left out."""
    words: list[str] = []
    for key, value in list(serve_args.items())[:_MOST]:
        name = _full(flags, key, new)
        flag = flags.flag(name)
        if flag is None or not has(flag, new.version):
            found = flags.replacement(name, new.version)
            if found is None or found.why != "renamed" or not found.instead:
                continue
            name = found.instead
        words += _words(flags, new, name, value)
    return tuple(words)


def _words(flags: Flags, new: Release, name: str, value: object) -> list[str]:
    if value is True or value is False:
        return [name if value else "--no-" + name[2:]]
    text = value if isinstance(value, str) else json.dumps(value)
    if name == "--limit-mm-per-prompt" and not within(flags.file.pairs, new.version):
        parts = text.split(",")
        if all(_PAIR.match(part) for part in parts):
            text = json.dumps({part.split("=")[0]: int(part.split("=")[1]) for part in parts})
    return [*name.split(), text]


def _advisories(matrix: Matrix, release: Release) -> set[str]:
    return {entry.advisory.id for entry in matrix.advisories.open_in("vllm", release.version)}


def _stack(matrix: Matrix, old: Release, new: Release, card: Card) -> tuple[Change, ...]:
    before, after = _facts(matrix, old, card), _facts(matrix, new, card)
    return tuple(Change(what=what, before=before[what], after=after[what]) for what in before if before[what] != after[what])


def _facts(matrix: Matrix, release: Release, card: Card) -> dict[str, str | None]:
    build = release.build("x86_64")
    major = build.cuda_major if build else None
    floor = matrix.cuda_floor(major) if major else None
    return {
        "engine": engine_of(matrix, release, card).upper(),
        "python": release.record.requires_python,
        "torch": release.torch_pin,
        "cuda-major": str(major) if major else None,
        "driver-floor": floor.raw if floor else None,
    }


def _defaults(matrix: Matrix, old: Release, new: Release, card: Card) -> tuple[Change, ...]:
    before = {default.setting: default.value for default in effective(matrix, old, card).defaults}
    after = {default.setting: default.value for default in effective(matrix, new, card).defaults}
    names = [name for name in {**before, **after} if name != "engine" and before.get(name) != after.get(name)]
    return tuple(Change(what=name, before=_shown(before.get(name)), after=_shown(after.get(name))) for name in names)


def _shown(value: object) -> str | None:
    return None if value is None else str(value)


def _migration(matrix: Matrix, old: Release, new: Release, card: Card) -> Text:
    """V0 to V1 as one answer: stays, moves and can go back, or moves for good."""
    here, there = engine_of(matrix, old, card), engine_of(matrix, new, card)
    entry = matrix.engine(new)
    if here == there:
        return Text("upgrade.engine-stays", {"engine": here.upper()})
    if there == "v1" and entry is not None and "v0" in entry.available and entry.switch == "selects":
        return Text("upgrade.engine-moves", {"vllm": new.raw})
    return Text("upgrade.engine-moves-for-good", {"vllm": new.raw, "engine": there.upper()})
