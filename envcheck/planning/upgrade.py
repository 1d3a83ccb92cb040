"""What changes between two releases: arguments, defaults, engine, what the wheel needs, models, advisories; and the command anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from envcheck.matrix.flags import Flags, ServeFlag, has
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.plan import Setting
from envcheck.model.secret_names import left_out, written
from envcheck.model.text import Text
from envcheck.planning.effective import Value, values
from envcheck.planning.fallback import engine_with
from envcheck.planning.migration import Move, headline, steps
from envcheck.planning.other_words import other_words
from envcheck.planning.serving.spelling import Wanted, spell
from envcheck.sizing.inputs import Card
from envcheck.sizing.release import MemoryTable

_MOST = 64
_AS_ASKED = Text("upgrade.as-given")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A thing that differs; None = the release has it not, or, where `untold` names the side, it is not known."""

    what: str
    before: str | None
    after: str | None
    untold: tuple[Literal["before", "after"], ...] = ()


class LostFlag(msgspec.Struct, frozen=True, kw_only=True):
    """An argument that the target lacks; `given` = it is in the command line; `why` says what to write."""

    flag: str
    instead: str | None
    why: Text
    given: bool


class LostValues(msgspec.Struct, frozen=True, kw_only=True):
    """Values of an argument that the target no longer takes."""

    flag: str
    values: tuple[str, ...]


class Upgrade(msgspec.Struct, frozen=True, kw_only=True):
    """The whole difference. `values` = choices that end, `closed` and `opened` = advisories, `models_gone`, `models_added` = architectures.

    `migration` in a sentence, `steps` what to do in order. `command` = the serve arguments for the target, `environment` the variables that
    stand in the place of arguments, `notes` what became of arguments that are not as they were given. `model` = what becomes of the model.
    """

    before: str
    after: str
    migration: Text
    steps: tuple[Text, ...]
    stack: tuple[Change, ...]
    defaults: tuple[Change, ...]
    lost: tuple[LostFlag, ...]
    added: tuple[str, ...]
    values: tuple[LostValues, ...]
    closed: tuple[str, ...]
    opened: tuple[str, ...]
    models_gone: tuple[str, ...]
    models_added: tuple[str, ...]
    model: Text | None
    command: tuple[str, ...]
    environment: tuple[str, ...]
    notes: tuple[Text, ...]


def upgrade(
    matrix: Matrix,
    old: Release,
    new: Release,
    card: Card,
    serve_args: Mapping[str, Any],
    architectures: tuple[str, ...] | None = None,
    quantization: str | None = None,
) -> Upgrade:
    """The difference between two releases on a card, for a command line and a model; `architectures` None = no model is asked about.

    Secrets are in no command.

    Sources: the matrix's records.
    """
    flags = matrix.flags
    arguments = dict(list(serve_args.items())[:_MOST])
    secret = left_out(arguments)
    given = {_full(flags, key, old) for key in arguments}
    before, after = set(flags.names(old.version)), set(flags.names(new.version))
    lost = tuple(_lost(flags, name, new, name in given) for name in sorted((before | given) - after))
    here, there = _advisories(matrix, old), _advisories(matrix, new)
    engines = (engine_with(matrix, old, card, arguments), engine_with(matrix, new, card, arguments))
    table = MemoryTable(matrix.memory, matrix.capability_trait("bfloat16-min-capability"))
    then, now = (values(matrix, table, release, card, engine=engine) for release, engine in zip((old, new), engines, strict=True))
    move = Move(
        old=old,
        new=new,
        card=card,
        engines=engines,
        before={name: value for name, (value, _) in then.items()},
        after={name: value for name, (value, _) in now.items()},
        given=frozenset(given),
        serve_args=arguments,
        quantization=quantization,
    )
    spelt = spell(flags, new.version, new.raw, [Wanted(key, value, _AS_ASKED) for key, value in written(arguments).items()])
    gone, came = _models(matrix, old, new)
    return Upgrade(
        before=old.raw,
        after=new.raw,
        migration=headline(matrix, move),
        steps=tuple(steps(matrix, move)),
        stack=_stack(matrix, old, new, move.engines),
        defaults=_defaults(move),
        lost=lost,
        added=tuple(sorted(after - before)),
        values=tuple(_values(flags, old, new)),
        closed=tuple(sorted(here - there)),
        opened=tuple(sorted(there - here)),
        models_gone=gone,
        models_added=came,
        model=_model(matrix, new, architectures),
        command=tuple(word for setting in spelt.settings for word in setting.words),
        environment=tuple(_assigned(setting) for setting in spelt.environment),
        notes=(*(_of_default(note, move) for note in spelt.notes), *_left_out(lost, spelt.notes, new), *_secret(secret)),
    )


def _left_out(lost: tuple[LostFlag, ...], notes: tuple[Text, ...], new: Release) -> tuple[Text, ...]:
    """Arguments given that the target lacks and of which nothing was said yet: a switch that is off, say."""
    said = {note.params.get("flag") for note in notes}
    silent = (one.flag for one in lost if one.given and one.flag not in said)
    return tuple(Text("upgrade.left-out", {"flag": flag, "vllm": new.raw}) for flag in silent)


def _of_default(note: Text, move: Move) -> Text:
    """A switch that the target has no word to turn off, and that is off there by itself."""
    flag = str(note.params.get("flag", ""))
    setting = flag.removeprefix("--").removeprefix("enable-").replace("-", "_")
    if note.key == "serve.note.argument-off" and move.after.get(setting) is False:
        return Text("upgrade.off-by-itself", {"flag": "--no-" + flag[2:], "vllm": move.new.raw})
    return note


def said_otherwise(matrix: Matrix, new: Release, found: Upgrade, typed: Iterable[str]) -> Upgrade:
    """The difference with a note for each word of a command line, `typed`, that the new one says by another word."""
    return msgspec.structs.replace(found, notes=(*found.notes, *other_words(matrix.flags, new, typed, found.command)))


def _secret(secret: list[tuple[str, str | None]]) -> Iterator[Text]:
    """Secrets are written nowhere: each has a variable, or is added by hand."""
    for flag, variable in secret:
        yield (
            Text("serve.note.secret-variable", {"flag": flag, "variable": variable})
            if variable
            else Text("serve.note.secret", {"flag": flag})
        )


def _assigned(setting: Setting) -> str:
    return f"{setting.flag}={setting.value}"


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


def _values(flags: Flags, old: Release, new: Release) -> Iterator[LostValues]:
    """Choices that end, of arguments that both releases have; nothing where one of them takes any value."""
    for flag in flags.file.flags:
        if not (has(flag, old.version) and has(flag, new.version)):
            continue
        before, after = (_choices(flags, flag, release) for release in (old, new))
        if before and after and before - after:
            yield LostValues(flag=flag.name, values=tuple(sorted(before - after)))


def _choices(flags: Flags, flag: ServeFlag, release: Release) -> set[str]:
    form = flags.form(flag, release.version)
    return {str(choice) for choice in form.choices or () if choice is not None} if form else set()


def _advisories(matrix: Matrix, release: Release) -> set[str]:
    return {entry.advisory.id for entry in matrix.advisories.open_in("vllm", release.version)}


def _models(matrix: Matrix, old: Release, new: Release) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Architectures that the target no longer has, and those that it has besides."""
    knowledge = matrix.knowledge
    names = knowledge.file.architectures
    before, after = ({name for name in names if knowledge.knows(name, release.version)} for release in (old, new))
    return tuple(sorted(before - after)), tuple(sorted(after - before))


def _model(matrix: Matrix, new: Release, architectures: tuple[str, ...] | None) -> Text | None:
    """What becomes of a model: still served, gone with its last release, or not there yet with its first."""
    if architectures is None:
        return None
    if not architectures:
        return Text("upgrade.model-untold", {"vllm": new.raw})
    name, knowledge = architectures[0][:80], matrix.knowledge
    if any(knowledge.knows(one, new.version) for one in architectures):
        return Text("upgrade.model-known", {"architecture": name, "vllm": new.raw})
    having = [release for release in matrix.releases if knowledge.knows(name, release.version)]
    if not having:
        return Text("upgrade.model-unknown", {"architecture": name, "vllm": new.raw})
    if new.version > having[0].version:
        return Text("upgrade.model-gone", {"architecture": name, "vllm": new.raw, "last": having[0].raw})
    return Text("upgrade.model-later", {"architecture": name, "vllm": new.raw, "first": having[-1].raw})


def _stack(matrix: Matrix, old: Release, new: Release, engines: tuple[str, str]) -> tuple[Change, ...]:
    before, after = _facts(matrix, old, engines[0]), _facts(matrix, new, engines[1])
    return tuple(Change(what=what, before=before[what], after=after[what]) for what in before if before[what] != after[what])


def _facts(matrix: Matrix, release: Release, engine: str) -> dict[str, str | None]:
    build = release.build("x86_64")
    major = build.cuda_major if build else None
    floor = matrix.cuda_floor(major) if major else None
    images = matrix.images.table.tags(release.raw, "x86_64")
    return {
        "engine": engine.upper(),
        "python": release.record.requires_python,
        "torch": release.torch_pin,
        "cuda-major": str(major) if major else None,
        "driver-floor": floor.raw if floor else None,
        "images": ", ".join(image.reference for image in images) or None,
    }


def _defaults(move: Move) -> tuple[Change, ...]:
    names = [name for name in {**move.before, **move.after} if name != "engine" and move.before.get(name) != move.after.get(name)]
    return tuple(_change(name, move.before, move.after) for name in names)


def _change(name: str, before: Mapping[str, Value], after: Mapping[str, Value]) -> Change:
    sides: tuple[tuple[Literal["before", "after"], Mapping[str, Value]], ...] = (("before", before), ("after", after))
    untold = tuple(side for side, found in sides if name in found and found[name] is None)
    return Change(what=name, before=_shown(before.get(name)), after=_shown(after.get(name)), untold=untold)


def _shown(value: object) -> str | None:
    return None if value is None else str(value)
