"""The token budget of requests: what fits beside a prompt, what the server answers otherwise, how longer inputs are served."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from envcheck.matrix.flags import number_of
from envcheck.matrix.load import Matrix
from envcheck.matrix.release import Release
from envcheck.model.modelspec import ModelSpec
from envcheck.model.plan import Plan, TokenBudget, Tokens
from envcheck.model.text import Param, Text
from envcheck.sizing.spec import Dimensions

_TRUNCATE, _SIDE = "truncate_prompt_tokens", "truncation_side"


def token_budget(matrix: Matrix, release: Release, context: int, wanted: Tokens) -> TokenBudget:
    """The budget of requests to a server whose prompts and answers share `context` tokens.

    `max_tokens` = the smaller of what is wanted and what the prompt leaves; `longest_prompt` leaves room for the wanted output.
    Source: `requests.json`.
    """
    output = wanted.output
    longest = max(0, context - (output or 1))
    left = None if wanted.prompt is None else max(0, context - wanted.prompt)
    most = output if left is None else left if output is None else min(output, left)
    told: dict[str, Param] = {
        "vllm": release.raw,
        "context": context,
        "prompt": wanted.prompt or 0,
        "output": output or 0,
        "longest": longest,
        "max_tokens": most or 0,
    }
    notes = (*_fit(wanted, left, told), *_answer(matrix, release, told), *_longer(matrix, release, wanted, longest, told))
    return TokenBudget(context, wanted.prompt, output, longest, most or 0, notes)


def _fit(wanted: Tokens, left: int | None, told: dict[str, Param]) -> Iterator[Text]:
    if left is None:
        key = "output-alone" if told["longest"] else "output-too-long"
    elif left == 0:
        key = "prompt-too-long"
    elif wanted.output is None:
        key = "prompt-alone"
    else:
        key = "fits" if wanted.output <= left else "shortened" if told["longest"] else "shortened-never"
    yield Text(f"tokens.{key}", told)
    yield Text("tokens.template")


def _answer(matrix: Matrix, release: Release, told: dict[str, Param]) -> Iterator[Text]:
    found = matrix.requests.answer(release.version)
    if found is not None:
        yield Text(f"tokens.{found}", told)


def _longer(matrix: Matrix, release: Release, wanted: Tokens, longest: int, told: dict[str, Param]) -> Iterator[Text]:
    """Ways for a prompt that leaves too little room: shortened by the server, or sent in parts."""
    if wanted.prompt is None or wanted.prompt <= longest or longest == 0:
        return
    if not matrix.requests.takes(_TRUNCATE, release.version):
        yield Text("tokens.no-truncation", told)
    else:
        yield Text("tokens.truncation", told)
        if matrix.requests.takes(_SIDE, release.version):
            yield Text("tokens.truncation-side", told)
    yield Text("tokens.parts", {**told, "parts": ceil(wanted.prompt / longest)})


def context_of(plan: Plan, spec: ModelSpec, asked: object) -> int:
    """The context of the planned server: as planned, else as asked for, else the model's own; 0 where that is not known."""
    suggested = plan.size.suggested.serve_args.get("max_model_len") if plan.size else None
    for value in (suggested, asked):
        number = number_of(str(value).strip(), short=True) if value is not None else None
        if number is not None and number >= 1:
            return int(number)
    return Dimensions.from_config(spec.config).context
