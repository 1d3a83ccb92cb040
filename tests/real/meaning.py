"""What a planned command means, held against what a release's own parser and configuration made of it."""

from __future__ import annotations

import json
from typing import Any

from tests.real.commands import REFUSED, Command

Options = dict[str, dict[str, Any]]
# What the parser sets of itself from the positional argument.
OF_THE_MODEL = frozenset({"model", "model_tag"})
# Where the configuration must end with the value of the argument; others are rounded, derived or only used in places.
KEPT = (
    "max_model_len",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
    "tensor_parallel_size",
    "pipeline_parallel_size",
)
MULTIPLES = {"k": 1000, "K": 1024, "m": 1000**2, "M": 1024**2}


def meant(flag: str, value: str | None, field: str = "") -> Any:
    """The value that an argument stands for: a switch's is whether it switches its field on."""
    if value is None:
        return not flag.startswith("--no-") and not (flag.startswith("--disable-") and field.startswith("enable_"))
    if value[-1:] in MULTIPLES and value[:-1].isdigit():
        return int(value[:-1]) * MULTIPLES[value[-1]]
    try:
        return json.loads(value)
    except ValueError:
        return value


def dest(flag: str, options: Options) -> str | None:
    """The field that an argument sets, by its full name; 0.33.0 takes `--no-enable-x` without listing it. None: there is none."""
    named = options.get(flag) or (options.get("--" + flag[5:]) if flag.startswith("--no-") else None)
    return named["dest"] if named else None


def holds(got: Any, value: Any) -> bool:
    """Whether a field has a value: objects may have more fields or be written in pairs, one name may have become a list of one."""
    if isinstance(value, str) and isinstance(got, dict):
        return ",".join(f"{key}={inner}" for key, inner in got.items()) == value
    if isinstance(value, dict) and isinstance(got, dict):
        return all(key in got and holds(got[key], inner) for key, inner in value.items())
    if isinstance(got, list) and not isinstance(value, list):
        return got == [value]
    return bool(got == value)


def faults(command: Command, told: dict[str, Any], options: Options) -> list[str]:
    """Where the answer differs from what the command means; none: it is taken as meant."""
    if told["stage"] == "parse":
        return [f"the parser refuses: {told['message']}"]
    found = _unmeant(command, told, options) + _gone(command)
    if told["stage"] == "configuration":
        # A model that fits nowhere, and whose plan says so, need not be configurable.
        return found if command.errors - REFUSED else [*found, f"the configuration refuses: {told['message']}"]
    return found + _lost(command, told)


def misjudged(command: Command, written: dict[str, Any]) -> str | None:
    """Whether the arguments as the person wrote them are refused although nothing was said, or taken although it was."""
    said, refused = bool(command.codes & REFUSED), written["stage"] == "parse"
    if said == refused:
        return None
    return f"said to be refused: {said}; as written the parser answers: {written['message'] or 'accepted'}"


def _unmeant(command: Command, told: dict[str, Any], options: Options) -> list[str]:
    found, fields = [], set(OF_THE_MODEL)
    for flag, value in command.settings.items():
        field = dest(flag, options)
        if field is None:
            found.append(f"{flag} is taken for another argument")
            continue
        fields.add(field)
        if not holds(told["values"].get(field), meant(flag, value, field)):
            found.append(f"{flag} {value or ''} became {told['values'].get(field)!r}")
    found += [f"{field} was not meant to change, and is {told['changed'][field]!r}" for field in sorted(told["changed"].keys() - fields)]
    warned = [sentence for sentence in told["warnings"] if "deprecat" in sentence.lower()]
    # Who asks for an old argument gets it; the tool has no old ones of its own.
    own = [flag for flag in command.settings if flag not in command.wish.arguments]
    return found + [f"warned: {sentence}" for sentence in warned if any(flag in sentence for flag in own)]


def _lost(command: Command, told: dict[str, Any]) -> list[str]:
    made = told["configuration"]
    if made is None:
        return []
    by_field = {flag[2:].replace("-", "_"): meant(flag, value) for flag, value in command.settings.items()}
    return [
        f"{field}: {by_field[field]} became {made[field]} in the configuration"
        for field in KEPT
        if field in by_field and by_field[field] != made[field]
    ]


def _gone(command: Command) -> list[str]:
    """Arguments of the person that the command has not, and no note accounts for."""
    words = [word for word in command.wish.arguments.split() if word.startswith("--")]
    return [f"{word} is gone" for word in words if word not in command.settings and f"`{word}`" not in command.notes]
