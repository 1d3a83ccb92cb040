"""The matrix's arguments of a release against those that its parser lists."""

from __future__ import annotations

from typing import Any

from packaging.version import Version

from envcheck.matrix.flags import FlagForm, ServeFlag
from envcheck.matrix.load import load

Options = dict[str, dict[str, Any]]
# The parser takes any word of these, and the configuration refuses what is not of its type.
CHECKED_LATER = frozenset({"--kv-cache-dtype"})
UNREADABLE = ("<", "==SUPPRESS==")


def _twin(name: str, options: Options) -> str | None:
    """The argument that `--no-x` or `--disable-x` only switches off."""
    field = options[name]["dest"]
    bases = ["--" + name[5:]] if name.startswith("--no-") else []
    bases += ["--enable-" + name[10:]] if name.startswith("--disable-") and field.startswith("enable_") else []
    bases += ["--disable-" + name[9:]] if name.startswith("--enable-") and field.startswith("disable_") else []
    return next((base for base in bases if base in options and options[base]["dest"] == field), None)


def _opposites(name: str) -> set[str]:
    """What may switch off what an argument switches on."""
    return {"--no-" + name[2:], name.replace("--enable-", "--disable-"), name.replace("--disable-", "--enable-")} - {name}


def _default(said: dict[str, Any]) -> Any:
    """A default that can be compared; an object's fields are written in more than one way."""
    value = said["default"]
    unreadable = isinstance(value, str) and (value.startswith(UNREADABLE) or " object at " in value)
    return ... if unreadable or isinstance(value, dict) else value


def _set(choices: list[Any] | None) -> list[str] | None:
    return None if choices is None else sorted(map(str, choices))


def _fault(what: str, ours: Any, theirs: Any) -> str | None:
    return None if ours == theirs else f"{what} {ours!r}, the parser's {theirs!r}"


def _shape(name: str, flag: ServeFlag, form: FlagForm, options: Options) -> list[str]:
    """What of an argument's known form does not hold."""
    said = options[name]
    off = any(options[other]["dest"] == said["dest"] for other in _opposites(name) if other in options)
    several = said["nargs"] in ("+", "*") or (isinstance(said["nargs"], int) and said["nargs"] > 1)
    # Of a pair that switches one field, the matrix keeps the name that older releases gave it.
    fields = {flag.dest, flag.dest.replace("disable_", "enable_", 1)} if name.startswith("--disable-") else {flag.dest}
    later = name in CHECKED_LATER and said["choices"] is None
    told = [
        _fault("sets", True, said["dest"] in fields),
        _fault("switch", form.switch, said["nargs"] == 0),
        _fault("several", form.several, several),
        _fault("off", True, off) if form.off else None,
        _fault("choices", _set(form.choices), _set(said["choices"]))
        if not later and (form.choices is not None or form.basis == "artefact")
        else None,
        _fault("default", form.default, _default(said)) if form.default_known and _default(said) is not ... else None,
    ]
    return [f"{name}: {fault}" for fault in told if fault]


def differences(release: str, options: Options) -> list[str]:
    """Each difference in a phrase: arguments that one side lacks, and what of a known form does not hold."""
    version, flags = Version(release), load().flags
    ours = set(flags.names(version))
    full = {name for name in options if name.startswith("--") and name != "--help" and (name in ours or not _twin(name, options))}
    found = [f"the matrix lacks {name}" for name in sorted(full - ours)]
    found += [f"the parser lacks {name}" for name in sorted(ours - full)]
    for name in sorted(full & ours):
        flag = flags.flag(name)
        form = flags.form(flag, version) if flag else None
        if flag and form:
            found += _shape(name, flag, form, options)
    return found
