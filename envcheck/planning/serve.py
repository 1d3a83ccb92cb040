"""The serve configuration: settings from the memory model and the user's own, as the release takes them, each with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from envcheck.model.budget import SizeResult
from envcheck.model.modelspec import ModelSpec
from envcheck.model.plan import MirrorChoice, ServeConfig, Setting
from envcheck.model.secret_names import is_secret_argument, variable_of
from envcheck.model.text import Text
from envcheck.planning.kernels import switched_off
from envcheck.planning.mirrors import hub_settings, mirror_url
from envcheck.planning.serving.models import model_notes, recipe_arguments, variant_notes
from envcheck.planning.serving.spelling import Spelt, Wanted, spell

if TYPE_CHECKING:
    from envcheck.matrix.load import Matrix
    from envcheck.matrix.release import Release
    from envcheck.matrix.toolchain import KernelCompilation
    from envcheck.rules.situation import Situation

ADDRESS, PORT = "127.0.0.1", "8000"  # loopback: anything wider needs a key, which is the user's to give
_MOST = 64  # arguments
_POSITIONAL = ("model", "model_tag")
_DEFAULT = "size.suggest.utilization-default"
_OWN_CONTEXT = "size.suggest.context-own"
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_."


class Facts(msgspec.Struct, frozen=True):
    """What a serve command is written with: the matrix, the release by name ("" = none is planned, the newest counts), the host."""

    matrix: Matrix
    vllm: str = ""
    situation: Situation | None = None

    @property
    def release(self) -> Release:
        """The release that the command is for."""
        return self.matrix.release(self.vllm) or self.matrix.releases[0]


def serve_config(
    spec: ModelSpec,
    size: SizeResult | None,
    mirrors: tuple[MirrorChoice, ...],
    kernels: tuple[KernelCompilation, ...] = (),
    facts: Facts | None = None,
    asked: Mapping[str, Any] | None = None,
) -> ServeConfig:
    """`vllm serve` for a model. The listening address is the loopback unless `asked`, the user's own arguments, name another one.

    `kernels` = what the release must do without here. Without `facts` the arguments are written as every release writes them.
    """
    wanted = list(_wanted(size, asked or {}))
    given = {one.key for one in wanted}
    listening = [
        Wanted(name, value, Text(f"plan.serve.{name}")) for name, value in (("host", ADDRESS), ("port", int(PORT))) if name not in given
    ]
    of_model, notes = _of_model(spec, facts, given, asked or {})
    if facts and facts.situation and size is not None and size.verdict == "does-not-fit":
        notes = (*notes, *variant_notes(facts.matrix, facts.release, spec, facts.situation.capabilities))
    notes = (*notes, *_of_gpus(facts, wanted, asked or {}), *_of_engine(facts, spec, wanted))
    spelt = _spelt(
        facts, [*listening, *of_model, *(one for one in wanted if isinstance(one.value, bool) or not is_secret_argument(one.key))]
    )
    environment = (*_environment(mirrors), *switched_off(kernels, facts.vllm if facts else ""), *spelt.environment)
    secret = [one.key for one in wanted if not isinstance(one.value, bool) and is_secret_argument(one.key)]
    environment = (*environment, *_by_reference(secret))
    return ServeConfig(spec.name, spelt.settings, environment, (*spelt.notes, *notes, *_by_hand(secret)))


def _by_reference(secret: list[str]) -> Iterator[Setting]:
    """The variables that secrets are read from; their values are never written down."""
    for variable in dict.fromkeys(name for key in secret if (name := variable_of(key))):
        yield Setting(variable, None, Text("plan.env.key" if variable == "VLLM_API_KEY" else "plan.env.secret", {"variable": variable}))


def _by_hand(secret: list[str]) -> Iterator[Text]:
    """Secrets that no variable holds."""
    for key in secret:
        if variable_of(key) is None:
            yield Text("serve.note.secret", {"flag": "--" + key.replace("_", "-")[:80]})


def _wanted(size: SizeResult | None, asked: Mapping[str, Any]) -> Iterator[Wanted]:
    """The memory model's arguments in its order, then the user's that it does not have.

    What the release does by itself is left out, unless the user wrote it: its default says it as well.
    """
    suggested = size.suggested.serve_args if size else {}
    reasons = size.suggested.why if size else []
    for place, (key, value) in enumerate(suggested.items()):
        why = reasons[place] if place < len(reasons) else Text("plan.serve.sized")
        if why.key == _DEFAULT:
            continue
        if why.key == _OWN_CONTEXT:
            why = Text("plan.serve.context-pinned", why.params)
        # What the user wrote is taken as he wrote it; the memory model's has been made JSON.
        yield Wanted(key, asked[key] if key in asked and why.key == "size.suggest.asked" else value, why)
    for key, value in list(asked.items())[:_MOST]:
        if key not in suggested and key not in _POSITIONAL and value is not None and _nameable(key):
            yield Wanted(key, value, Text("size.suggest.asked", {"argument": key}))


def _of_model(spec: ModelSpec, facts: Facts | None, given: set[str], asked: Mapping[str, Any]) -> tuple[list[Wanted], tuple[Text, ...]]:
    """What the model cannot do without and the user did not say, and what to know of it."""
    if facts is None:
        return [], ()
    matrix, release = facts.matrix, facts.release
    needed = [one for one in recipe_arguments(matrix, release, spec) if one.key not in given]
    return needed, tuple(model_notes(matrix, release, spec, asked))


def _of_gpus(facts: Facts | None, wanted: list[Wanted], asked: Mapping[str, Any]) -> Iterator[Text]:
    """What to know of the GPUs that the command takes, and of those that it leaves."""
    if facts is None or facts.situation is None or len(facts.situation.usable_gpus) < 2:
        return
    from envcheck.planning.serving.parallel import parallel_notes  # noqa: PLC0415  # most hosts have one GPU

    arguments = {one.key: one.value for one in wanted}
    chosen = any(key.endswith("_parallel_size") for key in asked)
    yield from parallel_notes(facts.situation, facts.matrix, facts.release, arguments, asked=chosen)


def _of_engine(facts: Facts | None, spec: ModelSpec, wanted: list[Wanted]) -> Iterator[Text]:
    """Which engine serves this, where the arguments decide it."""
    if facts is None or facts.situation is None:
        return
    from envcheck.planning.serving.engine import engine_notes  # noqa: PLC0415  # the memory model is wanted by it

    yield from engine_notes(facts.situation, facts.matrix, facts.release, spec, {one.key: one.value for one in wanted})


def _nameable(key: str) -> bool:
    return 0 < len(key) <= 80 and set(key) <= set(_NAME)


def _spelt(facts: Facts | None, wanted: list[Wanted]) -> Spelt:
    if facts is None:
        return Spelt(tuple(_plain(one) for one in wanted if one.value is not False))
    return spell(facts.matrix.flags, facts.release.version, facts.release.raw, wanted)


def _plain(one: Wanted) -> Setting:
    text = f"{one.value:g}" if isinstance(one.value, float) else str(one.value)
    return Setting("--" + one.key.replace("_", "-"), None if one.value is True else text, one.why)


def _environment(mirrors: tuple[MirrorChoice, ...]) -> Iterator[Setting]:
    hub = mirror_url(mirrors, "model-hub")
    for name, value in hub_settings(hub).items() if hub else ():
        yield Setting(name, value, Text(_HUB_REASONS[name], {"url": hub}))


_HUB_REASONS = {"HF_ENDPOINT": "plan.env.hub", "HF_HUB_DISABLE_XET": "plan.env.xet", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "plan.env.token"}
