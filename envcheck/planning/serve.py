"""The serve configuration: settings from the memory model, each with its reason, and the environment they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from envcheck.model.budget import SizeResult
from envcheck.model.modelspec import ModelSpec
from envcheck.model.plan import MirrorChoice, ServeConfig, Setting
from envcheck.model.text import Text
from envcheck.planning.kernels import switched_off
from envcheck.planning.mirrors import mirror_url

if TYPE_CHECKING:
    from envcheck.matrix.toolchain import KernelCompilation

ADDRESS, PORT = "127.0.0.1", "8000"  # loopback: anything wider needs a key, which is the user's to give


def serve_config(
    spec: ModelSpec,
    size: SizeResult | None,
    mirrors: tuple[MirrorChoice, ...],
    kernels: tuple[KernelCompilation, ...] = (),
    vllm: str = "",
) -> ServeConfig:
    """`vllm serve` for a model. The listening address is the loopback. `kernels` = what the release `vllm` must do without here."""
    settings = [
        Setting("--host", ADDRESS, Text("plan.serve.host")),
        Setting("--port", PORT, Text("plan.serve.port")),
    ]
    if size is not None:
        settings += _sized(size.suggested.serve_args, size.suggested.why)
    return ServeConfig(spec.name, tuple(settings), (*_environment(mirrors), *switched_off(kernels, vllm)))


def _sized(arguments: dict[str, Any], reasons: list[Text]) -> Iterator[Setting]:
    """Settings in the order of the memory model; a switch has no value, one that is off is left out."""
    for place, (name, value) in enumerate(arguments.items()):
        why = reasons[place] if place < len(reasons) else Text("plan.serve.sized")
        flag = "--" + name.replace("_", "-")
        if value is False or value is None:
            continue
        yield Setting(flag, None if value is True else _spelt(value), why)


def _spelt(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _environment(mirrors: tuple[MirrorChoice, ...]) -> Iterator[Setting]:
    hub = mirror_url(mirrors, "model-hub")
    if hub:
        yield Setting("HF_ENDPOINT", hub, Text("plan.env.hub", {"url": hub}))
        yield Setting("HF_HUB_DISABLE_XET", "1", Text("plan.env.xet"))
        # A token is for the official hub alone; a mirror must not be sent one.
        yield Setting("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", Text("plan.env.token"))
