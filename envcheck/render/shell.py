"""Scripts from a plan: every value quoted, each number's reason as a comment, secrets only by reference.

A comment cannot be left: it is one line by construction, whatever the names in it hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envcheck.model.plan import InstallRecipe, Plan, ServeConfig, Setting
from envcheck.planning.serve import ADDRESS, PORT
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.commands import broken, quote
from envcheck.render.layout import wrap
from envcheck.render.serve_text import serve_argv, unfit

MARKER = "Written by envcheck"  # a file with this in its head is ours and may be written anew
_COMMENT_WIDTH = 100
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SAFE_LISTENING = (("--host", ADDRESS, "plan.serve.host"), ("--port", PORT, "plan.serve.port"))
_HERE = 'here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)'


def comment(text: str, indent: str = "") -> list[str]:
    """Comment lines. A line that a shell linter would take for a directive is led by a dash."""
    lines = wrap(clean(text), _COMMENT_WIDTH - 2 - len(indent))
    return [f"{indent}# {'- ' if line.lstrip().startswith('shellcheck') else ''}{line}".rstrip() for line in lines]


def _head(catalogue: Catalogue, key: str, version: str) -> list[str]:
    return ["#!/usr/bin/env bash", *comment(f"{MARKER} {version}. {catalogue.say(key)}"), "set -euo pipefail", ""]


def _environment_dir(plan: Plan) -> list[str]:
    """The shell variable `venv`; a relative folder is one beside the script, so that the scripts may be moved together."""
    folder = quote(plan.environment_dir)
    return [f"venv={folder}"] if plan.environment_dir.startswith("/") else [_HERE, f'venv="$here"/{folder}']


def _exports(settings: Iterable[Setting], catalogue: Catalogue) -> list[str]:
    lines: list[str] = []
    for setting in settings:
        if not _VARIABLE.match(setting.flag):
            lines += comment(catalogue.say("shell.no-variable", name=setting.flag))
            continue
        lines += comment(catalogue.text(setting.why))
        if setting.value is None:
            lines += comment(catalogue.say("shell.by-reference", name=setting.flag))
        else:
            lines.append(f"export {setting.flag}={quote(setting.value)}")
    return [*lines, ""] if lines else []


def _argument(setting: Setting, catalogue: Catalogue) -> list[str]:
    words = [setting.flag] if setting.value is None else [setting.flag, setting.value]
    return [*comment(catalogue.text(setting.why), "  "), "  " + " ".join(quote(word) for word in words)]


def _listening(serve: ServeConfig, catalogue: Catalogue) -> list[str]:
    given = {setting.flag.split("=")[0] for setting in serve.settings}
    lines: list[str] = []
    for flag, value, why in _SAFE_LISTENING:
        if flag not in given:
            lines += [*comment(catalogue.say(why), "  "), f"  {flag} {value}"]
    return lines


def serve_script(plan: Plan, catalogue: Catalogue, version: str) -> str | None:
    """`serve.sh`: the environment, then `vllm serve` in place of the shell. None where the plan serves nothing."""
    serve = plan.serve
    if serve is None:
        return None
    lines = _head(catalogue, "shell.serve-head", version)
    if unfit(plan):
        lines += [*comment(catalogue.say("shell.does-not-fit")), ""]
    lines += [*_environment_dir(plan), ""]
    lines += _exports(serve.environment, catalogue)
    lines += ["arguments=("]
    for setting in serve.settings:
        lines += _argument(setting, catalogue)
    lines += [*_listening(serve, catalogue), ")", ""]
    model = serve_argv(serve)[2]
    lines += [f'exec "$venv/bin/vllm" serve {quote(model)} "${{arguments[@]}}" "$@"']
    return "\n".join(lines) + "\n"


def _steps(recipe: InstallRecipe, catalogue: Catalogue) -> list[str]:
    lines: list[str] = []
    for step in recipe.steps:
        lines += comment(catalogue.text(step.why), "  ")
        lines += broken(step.argv, _COMMENT_WIDTH, "  ")
    return lines


def install_script(plan: Plan, catalogue: Catalogue, version: str) -> str | None:
    """`install.sh`: uv where it is there, else pip. None where the plan installs nothing."""
    recipes = {recipe.tool: recipe for recipe in plan.install if recipe.steps}
    if not recipes:
        return None
    lines = _head(catalogue, "shell.install-head", version)
    if not plan.environment_dir.startswith("/"):
        lines += [*comment(catalogue.say("shell.beside")), _HERE, 'cd -- "$here"', ""]
    if "uv" in recipes and "pip" in recipes:
        lines += ["if command -v uv >/dev/null 2>&1; then", *_steps(recipes["uv"], catalogue)]
        lines += ["else", *_steps(recipes["pip"], catalogue), "fi"]
    else:
        (recipe,) = recipes.values()
        lines += [line.removeprefix("  ") for line in _steps(recipe, catalogue)]
    return "\n".join(lines) + "\n"
