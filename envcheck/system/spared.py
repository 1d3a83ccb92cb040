"""Modules that others import for one small function each, stood in for while those are imported: a start pays for each module.

A stand-in has that function. Whatever else is asked of it comes from the real module, which is loaded then.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def standing_in(*modules: ModuleType) -> Iterator[None]:
    """Have the stand-ins imported in place of those modules that are not loaded yet, for the time of a `with` block."""
    spare = {module.__name__: module for module in modules if module.__name__ not in sys.modules}
    sys.modules.update(spare)
    try:
        yield
    finally:
        for name, module in spare.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


def stand_in(name: str, **functions: Callable[..., Any]) -> ModuleType:
    """A module of these functions; whatever else is asked of it comes from the real one."""
    module = ModuleType(name)

    def rest(attribute: str) -> Any:
        if attribute.startswith("__"):  # the import system asks for `__path__`
            raise AttributeError(attribute)
        from importlib import import_module

        if sys.modules.get(name) is module:
            del sys.modules[name]
        return getattr(import_module(name), attribute)

    module.__dict__.update(functions, __getattr__=rest)
    return module


def load_msgspec() -> None:
    """Import msgspec without two modules that take a seventh of its time: `uuid` asks `platform` for the system's name alone.

    `textwrap` is for the JSON Schema of a class with a docstring.
    """
    if "msgspec" not in sys.modules:
        with standing_in(stand_in("platform", system=_system), stand_in("textwrap", dedent=_dedent)):
            import msgspec  # noqa: F401  # only loaded here


def _system() -> str:
    return os.uname().sysname


def _dedent(text: str) -> str:
    import textwrap

    return textwrap.dedent(text)
