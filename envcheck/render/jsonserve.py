"""The JSON of what is served beside the command itself: tokens of a request, and the engine."""

from __future__ import annotations

from typing import Literal

import msgspec


class EngineOut(msgspec.Struct, frozen=True):
    """The engine and the model runner that serve; `runner` null = V0, or not known without a model.

    `switch` = what the release does with VLLM_USE_V1, `told` = whether `why` says something to decide or to know.
    """

    engine: Literal["v0", "v1"]
    runner: Literal["v1", "v2"] | None
    switch: str
    why: str
    told: bool


class TokensOut(msgspec.Struct, frozen=True):
    """Tokens of a request: prompt and output share `context`; `max_tokens` = what to send beside the prompt."""

    context: int
    prompt: int | None
    output: int | None
    longest_prompt: int
    max_tokens: int
    notes: list[str]
