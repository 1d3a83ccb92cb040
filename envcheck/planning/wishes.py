"""What a user wants kept besides the release: a torch, an interpreter."""

from __future__ import annotations

import re

import msgspec
from packaging.version import Version

from envcheck.errors import UsageError
from envcheck.matrix.release import Release
from envcheck.model.request import Pins
from envcheck.model.version_range import VersionRange, version_range
from envcheck.model.versions import numbers
from envcheck.rules.check import Judgement
from envcheck.rules.survey import Choice

_LONE = r"[0-9]{1,3}\.[0-9]{1,3}(\.[0-9]{1,3})?"


def checked(pins: Pins) -> Pins:
    """The wishes as they are. Raises UsageError for a torch that is no specifier and an interpreter that is no version."""
    if pins.torch is not None and _range(pins.torch) is None:
        raise UsageError("error.pin-torch", text=pins.torch[:100])
    if pins.python is not None and re.fullmatch(_LONE, pins.python) is None:
        raise UsageError("error.pin-python", text=pins.python[:100])
    return pins


def _range(text: str) -> VersionRange | None:
    try:
        return version_range(text if any(sign in text for sign in "<>=!~") else f"=={text}")
    except ValueError:
        return None


def in_wanted_python(judgement: Judgement) -> Judgement:
    """The judgement with the interpreter that is wanted in place of the host's own, so that wheels are chosen for it."""
    wanted = judgement.situation.request.pins.python
    found = numbers(wanted) if wanted else None
    if not found or len(found) < 2 or judgement.target.python == found[:2]:
        return judgement
    return msgspec.structs.replace(judgement, target=msgspec.structs.replace(judgement.target, python=(found[0], found[1])))


def torch_kept(wanted: str, release: Release) -> bool:
    """Whether the torch of a release is one that the user wants kept; a specifier that is none holds for nothing."""
    asked = _range(wanted)
    return asked is not None and release.torch_pin is not None and asked.contains(Version(release.torch_pin))


def python_kept(wanted: str, python: str) -> bool:
    """Whether an interpreter `X.Y` is the one wanted, which may be given with its patch release."""
    found = numbers(wanted)
    return found is not None and found[:2] == numbers(python)


def as_wished(choice: Choice, pins: Pins) -> Choice:
    """The wheel in the interpreter that is wanted, where its release takes that one, however old it is."""
    found = numbers(pins.python) if pins.python else None
    wanted = (found[0], found[1]) if found and len(found) > 1 else None
    if wanted is None or wanted == choice.python or wanted not in choice.judged.release.python_minors:
        return choice
    return msgspec.structs.replace(choice, python=wanted, new_python=False)


def honours(choice: Choice, pins: Pins) -> bool:
    """Whether a wheel in its interpreter keeps to both."""
    python = ".".join(map(str, choice.python))
    return (not pins.torch or torch_kept(pins.torch, choice.judged.release)) and (not pins.python or python_kept(pins.python, python))
