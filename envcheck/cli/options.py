"""The options every command shares, gathered into one value."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from envcheck.cli.asked import Common, language
from envcheck.errors import UsageError

Command = Callable[..., int]


def said(_: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The option's text. Raises UsageError for an empty one: `--host "$UNSET"` must not be answered for another host."""
    if value is not None and not value.strip():
        raise UsageError("error.option-empty", option=param.opts[-1])
    return value


# A command that takes vLLM's own arguments too: what click does not know is handed on.
SERVE_SETTINGS: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}


_HOST = (
    click.option(
        "--host", callback=said, metavar="SRC", help="A host report (JSON file or `-`) or a recorded directory, instead of this machine."
    ),
    click.option("--python", callback=said, metavar="PATH", help="The interpreter whose packages are looked at."),
    click.option("--network", is_flag=True, help="Also ask the package index, the model hub and the cloud's metadata service."),
    click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="State a host fact, e.g. driver.version=550.54.15. Repeatable."),
)
_SHARED = (
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    click.option("--lang", type=click.Choice(["en", "zh"]), help="Language of the sentences; otherwise ENVCHECK_LANG or the locale."),
    click.option("--offline", is_flag=True, help="Ask nothing over the network."),
    click.option("--matrix-dir", callback=said, metavar="DIR", help="Another folder of compatibility facts."),
    click.option("-v", "--verbose", is_flag=True, help="Everything, with evidence and sources."),
    click.option("-q", "--quiet", is_flag=True, help="The verdict only."),
    click.option("--schema", is_flag=True, help="Print the JSON Schema of this command's JSON and exit."),
)


def own_options(command: click.Command) -> list[str]:
    """The long options of a command of ours."""
    return [name for parameter in command.params for name in parameter.opts if name.startswith("--")]


def common(host: bool = True, formats: tuple[str, ...] = ("text", "json")) -> Callable[[Command], Command]:
    """Add the shared options and hand them over as one `Common`, the first argument; those about the host where `host`.

    `formats` = those of the command; one beside text and JSON is handed over as `output`.
    """
    shape = click.option("--format", "output", type=click.Choice(formats), default="text", help="How to answer.")

    def decorate(function: Command) -> Command:
        @wraps(function)
        def called(**values: Any) -> int:
            return function(_gather(values), **values)

        for option in reversed((*_HOST, shape, *_SHARED) if host else (shape, *_SHARED)):
            called = option(called)
        return called

    return decorate


def _gather(values: dict[str, Any]) -> Common:
    """Take the shared options out of `values`."""
    output = values.pop("output")
    as_json = values.pop("as_json") or output == "json"
    option = values.pop("lang")
    offline = values.pop("offline")
    return Common(
        host=values.pop("host", None),
        output="json" if as_json else output,
        lang=language(option, as_json=as_json),
        offline=offline,
        network=values.pop("network", False) and not offline,
        matrix_dir=values.pop("matrix_dir"),
        verbose=values.pop("verbose"),
        quiet=values.pop("quiet"),
        python=values.pop("python", None),
        overrides=_overrides(values.pop("sets", ())),
        schema=values.pop("schema"),
    )


def _overrides(sets: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for text in sets:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError("error.set-malformed", text=text[:100])
        found[key.strip()] = value.strip()
    return found
