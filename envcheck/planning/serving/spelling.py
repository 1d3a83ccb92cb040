"""Arguments as a release takes them: full names, values in its own syntax; what it lacks is replaced or left out, and said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from packaging.version import Version

from envcheck.matrix.flags import FlagForm, Flags, ServeFlag, has, number_of, within
from envcheck.model.plan import Setting
from envcheck.model.text import Text
from envcheck.planning.serving.successors import successor

_LONGEST, _SHOWN = 80, 12
_LONGEST_VALUE = 4096  # characters
_LIMITS = "--limit-mm-per-prompt"
_PAIR = re.compile(r"([a-z_]{1,20})=(\d{1,6})\Z")


class Wanted(msgspec.Struct, frozen=True):
    """An argument in snake case, its value as given, and its reason."""

    key: str
    value: Any
    why: Text


class Spelt(msgspec.Struct, frozen=True):
    """Arguments and variables for one release, and what became of those that are not as they were asked for."""

    settings: tuple[Setting, ...]
    environment: tuple[Setting, ...] = ()
    notes: tuple[Text, ...] = ()


def spell(flags: Flags, version: Version, vllm: str, wanted: Iterable[Wanted]) -> Spelt:
    """The arguments for a release, named `vllm` in notes. A later one of the same name takes the place of an earlier one."""
    settings: dict[str, Setting] = {}
    environment: dict[str, Setting] = {}
    notes: list[Text] = []
    fields: dict[str, dict[str, Any]] = {}
    why: dict[str, Text] = {}
    for told in wanted:
        one = _paired(flags, version, vllm, told, notes)
        flag = _registered(flags, version, one.key)
        if flag is not None:
            if flag.name != _typed(one.key):
                notes.append(Text("serve.note.argument-full", {"flag": _typed(one.key), "name": flag.name, "vllm": vllm}))
            cased = _in_its_case(flags, version, vllm, flag, one, notes)
            _put(settings, notes, _setting(flags, version, vllm, flag, cased))
            continue
        if one.value is None and flags.flag(_typed(one.key)) is None:
            continue
        found = successor(flags, version, _typed(one.key), one.value)
        for name, value in found.arguments.items():
            other = _registered(flags, version, name[2:].replace("-", "_"))
            if other is not None:
                _put(settings, notes, _setting(flags, version, vllm, other, msgspec.structs.replace(one, value=value)))
        environment |= {name: Setting(name, value, one.why) for name, value in found.variables.items()}
        for name, content in found.fields.items():
            fields.setdefault(name, {}).update(content)
            why.setdefault(name, one.why)
        notes.append(_told(one, vllm, (*found.arguments, *found.variables, *found.fields)))
    for name, content in fields.items():
        _merge(settings, name, content, why[name])
    return Spelt(tuple(settings.values()), tuple(environment.values()), tuple(notes))


def _paired(flags: Flags, version: Version, vllm: str, one: Wanted, notes: list[Text]) -> Wanted:
    """`no_x` and `disable_x` that are the other half of an argument as that argument, off; said where the release has another word."""
    name = _typed(one.key)
    flag = flags.negated(name) if one.value is True else None
    if flag is None:
        return one
    off = msgspec.structs.replace(one, key=flag.name[2:].replace("-", "_"), value=False)
    written = _setting(flags, version, vllm, flag, off) if has(flag, version) else None
    if isinstance(written, Setting):
        other = " ".join(written.words)
        if other != name:
            key = "listed" if flags.negates(name, flag, version) else "replaced"
            notes.append(Text(f"serve.note.argument-{key}", {"flag": name, "vllm": vllm, "instead": other}))
    elif written is None:
        notes.append(Text("serve.note.argument-dropped", {"flag": name, "vllm": vllm}))
    return off


def _in_its_case(flags: Flags, version: Version, vllm: str, flag: ServeFlag, one: Wanted, notes: list[Text]) -> Wanted:
    """The argument with its value in the letters of the release, where only upper and lower case differ; that is said."""
    form, value = flags.form(flag, version), one.value
    if form is None or not form.choices or not isinstance(value, str) or _taken(form, value):
        return one
    same = [choice for choice in form.choices if isinstance(choice, str) and choice.lower() == value.lower()]
    if len(same) != 1:
        return one
    notes.append(Text("serve.note.argument-case", {"flag": flag.name, "value": value[:_LONGEST], "instead": same[0], "vllm": vllm}))
    return msgspec.structs.replace(one, value=same[0])


def _typed(key: str) -> str:
    return "--" + key.replace("_", "-")[:_LONGEST]


def _put(settings: dict[str, Setting], notes: list[Text], found: Setting | Text | None) -> None:
    if isinstance(found, Setting):
        name = "--" + found.flag.partition("=")[0].removeprefix("--no-").removeprefix("--")
        settings[name] = found
    elif found is not None:
        notes.append(found)


def _told(one: Wanted, vllm: str, instead: tuple[str, ...]) -> Text:
    if not instead:
        return Text("serve.note.argument-dropped", {"flag": _typed(one.key), "vllm": vllm})
    return Text("serve.note.argument-replaced", {"flag": _typed(one.key), "vllm": vllm, "instead": ", ".join(dict.fromkeys(instead))})


def _registered(flags: Flags, version: Version, key: str) -> ServeFlag | None:
    """The argument by its full name, or the one that a beginning of it stands for.

    A name that other releases have is never taken for a beginning: the parser would make another argument of it.
    """
    name = _typed(key)
    stem = name.split(".")[0]  # `--limit-mm-per-prompt.video` sets a field of the value
    flag = flags.flag(stem)
    if flag is not None:
        return flag if has(flag, version) else None
    sets = flags.of_dest(key, version)
    if sets is not None:
        return sets
    if flags.replacement(name, version) is not None:
        return None
    begun = [other for other in flags.names(version) if other.startswith(name)]
    return flags.flag(begun[0]) if len(begun) == 1 else None


def _setting(flags: Flags, version: Version, vllm: str, flag: ServeFlag, one: Wanted) -> Setting | Text | None:
    """The argument with its value; a note where the release takes no such value."""
    form, name = flags.form(flag, version), flag.name
    dotted = _typed(one.key).partition(".")[1:]
    if dotted[0]:
        return _written(name + "".join(dotted), [_text(one.value)], vllm, one)
    if one.value is None:
        return None
    if isinstance(one.value, bool):
        return _switch(form, vllm, name, one)
    if form is not None and form.switch:
        return Text("serve.note.argument-switch", {"flag": name, "value": _text(one.value)[:_LONGEST], "vllm": vllm})
    if not isinstance(one.value, (dict, list)) and flags.number_fault(name, version, one.value):
        return Text("serve.note.argument-form", {"flag": name, "value": _text(one.value)[:_LONGEST], "vllm": vllm})
    words = _values(form, flags, version, name, one.value)
    bad = [word for word in words if form and not _taken(form, word)]
    if not words or bad:
        listed = ", ".join(str(choice) for choice in (form.choices or ())[:_SHOWN] if choice is not None) if form else ""
        shown = bad[0] if bad else _text(one.value)
        key = "serve.note.argument-value" if listed else "serve.note.argument-form"
        return Text(key, {"flag": name, "value": shown[:_LONGEST], "vllm": vllm, "choices": listed})
    return _written(name, words, vllm, one)


def _written(name: str, words: list[str], vllm: str, one: Wanted) -> Setting | Text:
    """The argument and its words; one that a parser would take for an argument is tied to the name."""
    dashed = [word for word in words if word.startswith("-") and number_of(word) is None]
    odd = [word for word in words if not 0 < len(word) <= _LONGEST_VALUE] or (dashed if len(words) > 1 else [])
    if odd:
        return Text("serve.note.argument-form", {"flag": name, "value": odd[0][:_LONGEST], "vllm": vllm, "choices": ""})
    if dashed:
        return Setting(f"{name}={words[0]}", None, one.why)
    return Setting(name, words[0], one.why, tuple(words[1:]))


def _switch(form: FlagForm | None, vllm: str, name: str, one: Wanted) -> Setting | Text | None:
    """On is the bare name, off is `--no-` before it; where the release has no such form and off is its default, nothing."""
    if form is not None and form.optional:
        return Setting(name, None if one.value else "false", one.why)
    if form is not None and not form.switch:
        if form.choices and not {True, False, "True", "False", "true", "false"}.isdisjoint(form.choices):
            return Setting(name, "true" if one.value else "false", one.why)
        return Text("serve.note.argument-missing", {"flag": name, "vllm": vllm}) if one.value else None
    if one.value:
        return Setting(name, None, one.why)
    if form is not None and (form.off or form.disable):
        # `--no-x` is what every release with either takes.
        return Setting("--no-" + name[2:] if form.off else "--disable-" + name.removeprefix("--enable-"), None, one.why)
    return None if form is None or form.default is False else Text("serve.note.argument-off", {"flag": name, "vllm": vllm})


def _values(form: FlagForm | None, flags: Flags, version: Version, name: str, value: Any) -> list[str]:
    """The words of a value; empty where it cannot be written for this release."""
    if name == _LIMITS:
        return list(_limits(flags, version, value))
    if isinstance(value, (list, tuple)) and form is not None and form.several:
        return [_text(each) for each in value]
    if isinstance(value, str) and not within(flags.file.short_numbers.get(name, []), version):
        number = number_of(value, short=True) if name in flags.file.short_numbers else None
        return [value] if number is None else [str(int(number))]
    return [_text(value)]


def _limits(flags: Flags, version: Version, value: Any) -> Iterator[str]:
    """`image=2,video=0` or `{"image": 2, "video": 0}`, whichever the release takes; JSON where it takes both."""
    found = limits_of(value)
    if found is None:
        return
    if within(flags.file.objects, version):
        yield json.dumps(found)
    elif all(isinstance(number, int) for number in found.values()):
        yield ",".join(f"{name}={number}" for name, number in found.items())


def limits_of(value: Any) -> dict[str, Any] | None:
    """How many media a prompt may hold, from any of the ways to write it; None for what is none of them."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    if isinstance(value, dict):
        return {str(name): number for name, number in value.items()}
    pairs = [_PAIR.match(part.strip()) for part in str(value).split(",")]
    return {pair[1]: int(pair[2]) for pair in pairs if pair} if all(pairs) else None


def _taken(form: FlagForm, word: str) -> bool:
    return not form.choices or any(word == str(choice) for choice in form.choices)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):  # no JSON, or too deep
        return ""


def _merge(settings: dict[str, Setting], name: str, content: dict[str, Any], why: Text) -> None:
    """Fields into the JSON of an argument; those that were given for it before stay."""
    before = settings.get(name)
    try:
        given = json.loads(before.value) if before and before.value else {}
    except ValueError:
        return
    if isinstance(given, dict):
        settings[name] = Setting(name, json.dumps({**content, **given}), before.why if before else why)
