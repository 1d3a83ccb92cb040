"""The text of `envcheck learn`: what each start in a log tells of memory, and what it does not."""

from __future__ import annotations

from envcheck.model.learned import Learned, LearnedMemory, LearnedRun
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page
from envcheck.render.paint import Paint, plain

_SHOWN = (
    "total_gib",
    "utilization",
    "budget_gib",
    "free_gib",
    "weights_gib",
    "non_torch_gib",
    "consumed_gib",
    "peak_activation_gib",
    "graphs_estimated_gib",
    "graphs_gib",
    "kv_gib",
    "unexplained_gib",
    "kv_tokens",
    "kv_blocks",
    "block_size",
    "max_concurrency",
    "concurrency_tokens",
    "encoder_tokens",
)

_WORTH_A_WORD = 0.03  # GiB; three figures rounded to 0.01 differ by that


def learned_text(found: Learned, catalogue: Catalogue, paint: Paint = plain, *, verbose: bool = False) -> str:
    """One block a start; with `verbose` also its settings and every worker's figures."""
    page = Page(catalogue, paint)
    for run in found.runs:
        page.blank()
        _head(page, run)
        _figures(page, run.memory, run.lines if verbose else {})
        if verbose:
            _details(page, run)
        if run.memory.unexplained_gib is not None and run.memory.unexplained_gib > _WORTH_A_WORD:
            page.say("learn.unexplained", indent="  ", gib=run.memory.unexplained_gib)
        if run.missing:
            page.say("learn.missing", indent="  ", role="caution", names=", ".join(run.missing))
    for name in found.unread:
        page.blank()
        page.say("learn.unread", name=name)
    return page.finish()


def _head(page: Page, run: LearnedRun) -> None:
    say = page.catalogue.say
    unknown = say("learn.unknown")
    gpus = f"{run.gpu or unknown}{f' x {run.gpus}' if run.gpus else ''}"
    engine = f" ({run.engine.upper()})" if run.engine else ""
    vllm = f"{run.vllm or unknown}{engine}"
    page.say("learn.subject", role="heading", log=run.log, line=run.line, vllm=vllm, model=run.model or unknown, gpu=gpus)
    if run.vllm_from == "line-numbers":
        page.say("learn.dated", indent="  ", vllm=run.vllm or "")
    if run.vllm_candidates:
        page.say("learn.candidates", indent="  ", releases=", ".join(run.vllm_candidates))
    page.say(f"learn.outcome-{run.outcome}", indent="  ", role="good" if run.outcome == "starts" else None)
    if run.failure is not None:
        _failure(page, run)
    if run.compile_cache is not None:
        page.say(f"learn.cache-{run.compile_cache}", indent="  ")


def _failure(page: Page, run: LearnedRun) -> None:
    failure = run.failure
    if failure is None:
        return
    kind = failure.kind or page.catalogue.say("learn.unknown")
    figures = [f"{name} {value:g} GiB" for name, value in (("needed", failure.needed_gib), ("available", failure.available_gib)) if value]
    longest = [f"max_model_len {failure.max_model_len}"] if failure.max_model_len else []
    page.say("learn.failure", indent="  ", role="bad", kind=kind, figures=", ".join([*figures, *longest]) or "-")


def _figures(page: Page, memory: LearnedMemory, lines: dict[str, int]) -> None:
    for name in _SHOWN:
        value = getattr(memory, name)
        if value is None:
            continue
        shown = f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
        where = f"   :{lines[name]}" if name in lines else ""
        page.raw(f"    {name:<22} {shown:>12}{where}")


def _details(page: Page, run: LearnedRun) -> None:
    for name, value in run.settings.items():
        page.write(f"{name} = {value}", indent="      ", first="    ", role="faint")
    for rank in run.ranks:
        page.write(f"{rank.name}:", indent="    ")
        _figures(page, rank.memory, {})
