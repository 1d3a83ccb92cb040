"""The shell lines of a way that pull and start a container, with the settings of the server that is planned."""

from __future__ import annotations

from collections.abc import Iterator

from envcheck.model.plan import ServeConfig, Setting
from envcheck.model.ways import Way
from envcheck.render.commands import quote, requoted, words

_ENGINES = ("docker ", "podman ")
_OF_THE_CONTAINER = ("--host", "--port")  # the address is published by the engine, on the loopback


def image_lines(way: Way) -> tuple[str, ...]:
    """Those of its commands that pull an image and start it."""
    return tuple(line for line in way.commands if line.startswith(_ENGINES)) if way.image else ()


def run_words(way: Way, serve: ServeConfig | None) -> tuple[list[str], list[str]] | None:
    """The words that start the container, as written, up to the model; and those behind it. None where there is no such line.

    Where a server is planned the latter are its settings.
    """
    line = next(iter(image_lines(way)[-1:]), "")
    started = [requoted(word) for word in words(line)]
    if "serve" not in started[:-1]:
        return None
    behind = started.index("serve") + 2
    planned = started[behind:] if serve is None else [quote(word) for setting in settings_of(serve) for word in argument(setting)]
    return _with_variables(started[:behind], serve), planned


def _with_variables(head: list[str], serve: ServeConfig | None) -> list[str]:
    """The words with vLLM's own variables and those of secrets that the line has not; one without a value is handed on from the caller."""
    if serve is None or "run" not in head:
        return head
    said = {word.strip("'\"").partition("=")[0] for word in head}
    wanted = [one for one in serve.environment if (one.flag.startswith("VLLM_") or one.value is None) and one.flag not in said]
    added = [word for one in wanted for word in ("-e", quote(one.flag if one.value is None else f"{one.flag}={one.value}"))]
    place = head.index("run") + 1
    return [*head[:place], *added, *head[place:]]


def settings_of(serve: ServeConfig) -> Iterator[Setting]:
    """The settings that hold inside a container too."""
    for setting in serve.settings:
        if setting.flag.split("=")[0] not in _OF_THE_CONTAINER:
            yield setting


def argument(setting: Setting) -> list[str]:
    """The words of a setting."""
    return setting.words
