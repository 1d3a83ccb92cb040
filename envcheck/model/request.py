"""What the user asked for."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Want = Literal["check", "size", "diagnose", "plan"]


class GateTarget(msgspec.Struct, frozen=True):
    """The host an image is meant for, where it is not the host at hand."""

    gpu: str | None = None
    driver: str | None = None


class Gate(msgspec.Struct, frozen=True):
    """The policy: which severity fails, and what an unknown verdict counts as."""

    target: GateTarget | None = None
    fail_on: Literal["error", "warning", "info"] = "error"
    unknown: Literal["pass", "fail", "unknown"] = "unknown"


class Pins(msgspec.Struct, frozen=True):
    """What stays as it is, besides the release asked for: `torch` is a version specifier, `python` is `X.Y`, `driver` True = untouched.

    `root` False = nothing that needs root on the host; `container` False = no container.
    """

    torch: str | None = None
    python: str | None = None
    driver: bool = False
    root: bool = True
    container: bool = True


class Request(msgspec.Struct, frozen=True):
    """`vllm` is a release or a version specifier; `serve_args` are vLLM's own, in snake case; `weights_gib` in GiB per GPU.

    `prefer` = which release is planned where none is asked for: the newest that runs, or one that has proven itself. `llm_class` = vLLM
    runs inside a program, through its `LLM` class: some defaults differ from the server's.
    """

    vllm: str | None = None
    model: str | None = None
    model_config: dict[str, Any] | None = None
    weights_gib: float | None = None
    engine: str | None = None
    serve_args: dict[str, Any] = {}
    first_start: bool | None = None
    gate: Gate | None = None
    pins: Pins = Pins()
    prefer: Literal["newest", "stable"] = "newest"
    llm_class: bool = False
