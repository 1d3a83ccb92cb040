"""Scripts from a plan: every value quoted, each number's reason as a comment, secrets only by reference.

A comment cannot be left: it is one line by construction, whatever the names in it hold.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from envcheck.model.plan import InstallRecipe, Plan, ServeConfig, Setting
from envcheck.planning.serve import ADDRESS, PORT
from envcheck.render.catalogue import Catalogue, clean
from envcheck.render.commands import broken, laid, line, quote, words
from envcheck.render.container import argument, image_lines, run_words, settings_of
from envcheck.render.layout import wrap
from envcheck.render.serve_text import serve_argv, unfit
from envcheck.render.ways_text import lead, variables

MARKER = "Written by envcheck"  # a file with this in its head is ours and may be written anew
_COMMENT_WIDTH = 100
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SAFE_LISTENING = (("--host", ADDRESS, "plan.serve.host"), ("--port", PORT, "plan.serve.port"))
# A value that may stand as it was given: plain characters, or a list before what the variable holds already.
_PLAIN_EXPORT = re.compile(r"export [A-Za-z_]\w*=(?:[\w./:,+@%=-]|\$\{[A-Z_]+:\+:\$[A-Z_]+\})*\Z", re.ASCII)
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


def safe_setting(told: str) -> str | None:
    """A shell line that only sets or removes variables, its values quoted anew; None where it might do more."""
    if _PLAIN_EXPORT.match(told):
        return told
    try:
        command, *rest = shlex.split(told)
    except ValueError:
        return None
    pairs = [word.partition("=") for word in rest]
    if command not in ("export", "unset") or not rest or set("$`") & set(told) or not all(_VARIABLE.match(name) for name, _, _ in pairs):
        return None
    if command == "unset":
        return line((command, *rest)) if not any(sign for _, sign, _ in pairs) else None
    return "export " + " ".join(f"{name}={quote(value)}" for name, _, value in pairs) if all(sign for _, sign, _ in pairs) else None


def _of_the_way(plan: Plan, catalogue: Catalogue) -> list[str]:
    """The variables that the planned way sets."""
    first = lead(plan)
    told = variables(first) if first else ()
    lines = comment(catalogue.say("shell.way-variables")) if told else []
    for each in told:
        lines += [safe] if (safe := safe_setting(each)) else comment(catalogue.say("shell.left-out", line=each))
    return [*lines, ""] if lines else []


def _argument(setting: Setting, catalogue: Catalogue) -> list[str]:
    return [*comment(catalogue.text(setting.why), "  "), "  " + line(argument(setting))]


def _listening(serve: ServeConfig, catalogue: Catalogue) -> list[str]:
    given = {setting.flag.split("=")[0] for setting in serve.settings}
    lines: list[str] = []
    for flag, value, why in _SAFE_LISTENING:
        if flag not in given:
            lines += [*comment(catalogue.say(why), "  "), f"  {flag} {value}"]
    return lines


def serve_script(plan: Plan, catalogue: Catalogue, version: str) -> str | None:
    """`serve.sh`: the environment, then `vllm serve` in its place. None without what serves it, or from an image."""
    serve, first = plan.serve, lead(plan)
    if serve is None or (first and first.image) or not (plan.stack or plan.install):
        return None
    lines = _head(catalogue, "shell.serve-head", version)
    if unfit(plan):
        lines += [*comment(catalogue.say("shell.does-not-fit")), ""]
    lines += [*_environment_dir(plan), ""]
    lines += _of_the_way(plan, catalogue)
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
    """`install.sh`: uv where it is there, else pip. None where the plan installs nothing, or runs an image."""
    recipes, first = {recipe.tool: recipe for recipe in plan.install if recipe.steps}, lead(plan)
    if not recipes or (first and first.image):
        return None
    lines = _head(catalogue, "shell.install-head", version)
    if not plan.environment_dir.startswith("/"):
        lines += [*comment(catalogue.say("shell.beside")), _HERE, 'cd -- "$here"', ""]
    lines += _of_the_way(plan, catalogue)  # the last step asks CUDA, as the server will
    if "uv" in recipes and "pip" in recipes:
        lines += ["if command -v uv >/dev/null 2>&1; then", *_steps(recipes["uv"], catalogue)]
        lines += ["else", *_steps(recipes["pip"], catalogue), "fi"]
    else:
        (recipe,) = recipes.values()
        lines += [line.removeprefix("  ") for line in _steps(recipe, catalogue)]
    return "\n".join(lines) + "\n"


def run_script(plan: Plan, catalogue: Catalogue, version: str) -> str | None:
    """`run.sh`: pulls the image that is planned and starts the server in it. None where no image is planned that is started here."""
    way = lead(plan)
    serve = None if unfit(plan) else plan.serve
    run = run_words(way, serve) if way else None
    if way is None or run is None or any(clean(line) != line for line in image_lines(way)):
        return None
    head, behind = run
    lines = _head(catalogue, "shell.run-head", version)
    if unfit(plan):
        lines += [*comment(catalogue.say("shell.does-not-fit")), ""]
    if plan.serve is None:
        lines += comment(catalogue.say("shell.run-model"))
    for why in way.why:
        lines += comment(catalogue.text(why))
    for pull in image_lines(way)[:-1]:
        lines += laid(words(pull), _COMMENT_WIDTH)
    given = (
        [part for setting in settings_of(serve) for part in _argument(setting, catalogue)] if serve else [f"  {word}" for word in behind]
    )
    # An empty list counts as unset in the bash of older systems.
    lines += ["", "arguments=(", *given, ")"] if given else []
    lines += ["", *laid(["exec", *head, *(['"${arguments[@]}"'] if given else []), '"$@"'], _COMMENT_WIDTH)]
    return "\n".join(lines) + "\n"
