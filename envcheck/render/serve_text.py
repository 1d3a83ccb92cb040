"""The serve command in words: the environment, the command, and the reason of each setting."""

from __future__ import annotations

from envcheck.model.plan import Plan, ServeConfig, Setting
from envcheck.render.catalogue import Catalogue
from envcheck.render.page import Page


def serve_argv(serve: ServeConfig, program: str = "vllm") -> list[str]:
    """`vllm serve MODEL` and its settings as arguments. A model named with a leading dash can only be a folder: it gets `./`."""
    model = f"./{serve.model}" if serve.model.startswith("-") else serve.model
    argv = [program, "serve", model]
    for setting in serve.settings:
        argv += setting.words
    return argv


def write_serve(page: Page, plan: Plan) -> None:
    """The commands that start the server; nothing where the plan serves nothing, a sentence where the model fits with no settings."""
    if plan.serve is None:
        return
    if unfit(plan):
        page.blank()
        page.say("plan.serve-none", role="bad")
        return
    page.heading("plan.serve")
    for setting in plan.serve.environment:
        if setting.value is not None:
            page.command(["export", f"{setting.flag}={setting.value}"])
    page.command(serve_argv(plan.serve, f"{plan.environment_dir}/bin/vllm"))
    for name in dict.fromkeys(setting.flag for setting in plan.serve.environment if setting.value is None):
        page.say("serve.by-reference", indent="  ", role="caution", variable=name)


def unfit(plan: Plan) -> bool:
    """Whether a model was to be served and no settings were found with which it fits."""
    size = plan.size
    return plan.serve is not None and size is not None and size.verdict == "does-not-fit" and not size.suggested.serve_args


def served_as_said(plan: Plan, catalogue: Catalogue) -> set[str]:
    """The ways out that the serve command takes already."""
    settings = {(setting.flag, setting.value) for setting in plan.serve.settings} if plan.serve and not unfit(plan) else set()
    return {catalogue.say("remedy.dtype-half")} if ("--dtype", "half") in settings else set()


def write_reasons(page: Page, plan: Plan) -> None:
    """Each setting with its reason."""
    if plan.serve is None:
        return
    page.heading("plan.reasons")
    for setting in (*plan.serve.environment, *plan.serve.settings):
        _reason(page, setting)


def write_tokens(page: Page, plan: Plan) -> None:
    """The budget of requests, where one was asked for."""
    if plan.tokens is None:
        return
    page.heading("plan.tokens")
    for note in plan.tokens.notes:
        page.write(page.catalogue.text(note), indent="    ", first="  ")


def _reason(page: Page, setting: Setting) -> None:
    shown = " ".join(setting.words)
    page.write(page.catalogue.say("pair", name=shown, text=page.catalogue.text(setting.why)), indent="    ", first="  ", role="faint")
