"""Which regressions of a release concern this host and this request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.matrix.regressions import Condition, Regression
from envcheck.matrix.release import Release
from envcheck.model.text import Text
from envcheck.model.versions import compute_capability
from envcheck.rules.figures import figure
from envcheck.rules.situation import Situation

if TYPE_CHECKING:
    from envcheck.rules.planned import Planned

_LONGEST = 400  # characters of an argument that are looked at


class Concern(msgspec.Struct, frozen=True):
    """A regression of a release; `met` None = whether it concerns the request is not known. `releases` = those that show it, in words."""

    regression: Regression
    met: bool | None
    releases: str

    @property
    def avoided(self) -> bool:
        """Whether another release is to be planned."""
        return self.met is True and self.regression.severity == "avoid"

    @property
    def text(self) -> Text:
        """Its sentence."""
        return Text(f"regression.{self.regression.id}", {"releases": self.releases})

    @property
    def end(self) -> Text:
        """Where it ends, as far as is known."""
        fixed, good = self.regression.fixed, self.regression.good_before
        if fixed:
            return Text("regression.end.fixed", {"fixed": fixed})
        return Text("regression.end.good", {"good": good}) if good else Text("regression.end.unknown")


def concerns(release: Release, situation: Situation, matrix: Matrix, engine: str | None = None) -> tuple[Concern, ...]:
    """The regressions of a release that concern the host and the request, or may; those that do first."""
    shown = matrix.regressions.of(release.version)
    if not shown:
        return ()
    from envcheck.rules.planned import Planned  # noqa: PLC0415  # few releases show any

    planned = Planned(situation, matrix, engine)
    met = [(one, meets(one.condition, planned, matrix)) for one in shown]
    if all(state is False for _, state in met):
        return ()
    versions = [one.version for one in matrix.releases]
    found = [Concern(one, state, matrix.regressions.span(one, versions)) for one, state in met if state is not False]
    return tuple(sorted(found, key=lambda one: (one.met is None, not one.avoided)))


def meets(condition: Condition, planned: Planned, matrix: Matrix) -> bool | None:
    """Whether all that a condition states holds; None = not known, unless some of it is known not to hold."""
    states = [*_host(condition, planned.situation), *_request(condition, planned, matrix)]
    if False in states:
        return False
    return None if None in states else True


def _host(condition: Condition, situation: Situation) -> Iterator[bool | None]:
    gpus = situation.usable_gpus
    if condition.arch is not None:
        yield situation.arch == condition.arch if situation.arch else None
    if condition.capability_from or condition.capability_to:
        yield _capable(condition, situation)
    if condition.gpus:
        yield any(part in gpu.name.lower() for gpu in gpus for part in condition.gpus) if gpus else None


def _capable(condition: Condition, situation: Situation) -> bool | None:
    lowest, highest = compute_capability(condition.capability_from or "0.0"), compute_capability(condition.capability_to or "99.0")
    if not situation.capabilities or lowest is None or highest is None:
        return None
    return any(lowest <= capability <= highest for capability in situation.capabilities)


def _request(condition: Condition, planned: Planned, matrix: Matrix) -> Iterator[bool | None]:
    if condition.models:
        yield planned.serves(condition.models)
    if condition.quantization:
        yield _quantized(condition, planned)
    for name in condition.planned:
        yield planned.holds(name)
    for name, wanted in condition.arguments.items():
        yield _argument(planned, name, wanted)


def _quantized(condition: Condition, planned: Planned) -> bool | None:
    request = planned.situation.request
    if planned.config is None and "quantization" not in planned.args:
        return None
    from envcheck.rules.precision import quantization_method  # noqa: PLC0415  # only where a model or its format is stated

    config: Mapping[str, object] = planned.config or {}
    return quantization_method(config, planned.args, request.model or "") in condition.quantization


def _argument(planned: Planned, name: str, wanted: str) -> bool | None:
    """A serve argument as asked for; one that a stated request leaves out has its default, which is none of those looked for."""
    if name not in planned.args:
        return False if planned.args else None
    value = planned.args[name]
    if not wanted:
        from envcheck.rules.planned import is_on  # noqa: PLC0415  # the same

        return is_on(value) or (value is not None and value is not False and not isinstance(value, str))
    if wanted.startswith(">="):
        found = figure(int(value) if isinstance(value, str) and value.isdigit() and len(value) < 12 else value)
        return None if found is None else found >= float(wanted[2:])
    text = str(value)[:_LONGEST].strip().lower()
    return text.startswith(wanted[:-1]) if wanted.endswith("*") else text == wanted
