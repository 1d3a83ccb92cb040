"""The options that say what stays as it is: a torch, an interpreter, the driver; and what is ruled out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
import msgspec

from envcheck.cli.options import Command, said

if TYPE_CHECKING:
    from envcheck.model.request import Request

_OPTIONS = (
    click.option("--torch", callback=said, metavar="SPEC", help="Keep to this torch, e.g. 2.8.0 or `>=2.7,<2.9`."),
    click.option("--with-python", callback=said, metavar="X.Y", help="Keep to this interpreter, e.g. 3.11."),
    click.option("--keep-driver", is_flag=True, help="The driver stays: ways that change it come last and say so."),
    click.option("--no-root", is_flag=True, help="Name no way that needs root on the host."),
    click.option("--no-container", is_flag=True, help="Name no container image."),
    click.option("--prefer", type=click.Choice(["newest", "stable"]), default="newest", help="Which release to plan unasked."),
)


class Wishes(msgspec.Struct, frozen=True):
    """What the options said, as they were typed; `on` puts it into a request."""

    torch: str | None = None
    python: str | None = None
    driver: bool = False
    root: bool = True
    container: bool = True
    stable: bool = False

    def on(self, request: Request) -> Request:
        """The request with these wishes. Raises UsageError for what is no version."""
        from msgspec.structs import replace

        from envcheck.model.request import Pins
        from envcheck.planning.wishes import checked

        pins = Pins(torch=self.torch, python=self.python, driver=self.driver, root=self.root, container=self.container)
        return replace(request, pins=checked(pins), prefer="stable" if self.stable else "newest")


def wishes(function: Command) -> Command:
    """Add the options and hand them over as one `Wishes`, by the name `wished`."""

    @wraps(function)
    def called(*args: Any, **values: Any) -> int:
        return function(*args, wished=_gather(values), **values)

    decorated: Callable[..., int] = called
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _gather(values: dict[str, Any]) -> Wishes:
    """Take the options out of `values`."""
    return Wishes(
        torch=values.pop("torch"),
        python=values.pop("with_python"),
        driver=values.pop("keep_driver"),
        root=not values.pop("no_root"),
        container=not values.pop("no_container"),
        stable=values.pop("prefer") == "stable",
    )
