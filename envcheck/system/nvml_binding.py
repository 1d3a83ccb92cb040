"""The import of nvidia-ml-py as cheaply as it can be had.

Its module makes some two hundred `ctypes` structures, of which a visit needs ten, and that is half the cost of importing it. So its
own code object runs unchanged, but each `class` statement at its top level waits until somebody asks for the name. That rests on what
the language says alone: `exec` with a mapping for the names it stores, and a look-up that ends in the module's builtins. Where
anything about the module is unusual, or any of this fails, the plain import serves.
"""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from envcheck.system.spared import stand_in, standing_in

_NAME = "pynvml"


def binding() -> Any:
    """The module `pynvml`; raises whatever a broken or foreign module raises."""
    with standing_in(*_small()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the retired package `pynvml` announces its retirement
        return _lazily() or _plainly()


def _plainly() -> Any:
    import pynvml

    return pynvml


def _lazily() -> ModuleType | None:
    """The module with its classes put off; None where it is not one ordinary source file, or where this does not work."""
    try:
        spec = _spec()
        if spec is None or type(spec.loader) is not SourceFileLoader or spec.submodule_search_locations is not None:
            return None
        code = spec.loader.get_code(_NAME)
        return _executed(spec, code) if code is not None else None
    except Exception:  # an odd module is imported in the ordinary way, and fails there in its own words if it must
        sys.modules.pop(_NAME, None)
        return None


def _spec() -> ModuleSpec | None:
    """What `import` would find: the first finder's answer."""
    for finder in sys.meta_path:
        spec = finder.find_spec(_NAME, None)
        if spec is not None:
            return spec
    return None


class _Later:
    """A class statement that has not run yet. What uses the class at once, a decorator say, fails on it; then the plain import serves."""

    __slots__ = ("arguments", "keywords")

    def __init__(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.arguments = arguments
        self.keywords = keywords


class _Builtins(dict[str, Any]):
    """The module's builtins: the last place where Python looks for a global name, and so where a class put off is made."""

    def __init__(self, space: dict[str, Any], body: CodeType) -> None:
        super().__init__(vars(builtins))
        self._space = space
        self._body = body
        self.later: dict[str, _Later] = {}
        self._build: Callable[..., Any] = self["__build_class__"]
        self["__build_class__"] = self.build_class

    def build_class(self, *arguments: Any, **keywords: Any) -> Any:
        """What a class statement calls with the function of its body, its name and its bases."""
        if len(arguments) > 2 and sys._getframe(1).f_code is self._body:
            return _Later(arguments, keywords)
        return self._build(*arguments, **keywords)

    def __missing__(self, name: str) -> Any:
        put_off = self.later.pop(name)
        self._space[name] = made = self._build(*put_off.arguments, **put_off.keywords)
        return made


class _Names(dict[str, Any]):
    """The module's top level stores its names here, and they go to the module's own dictionary. It stays empty, so that look-ups pass."""

    def __init__(self, space: dict[str, Any], later: dict[str, _Later]) -> None:
        super().__init__()
        self._space = space
        self._later = later

    def __setitem__(self, name: str, value: Any) -> None:
        if type(value) is _Later:
            self._space.pop(name, None)
            self._later[name] = value
        else:
            self._space[name] = value

    def __delitem__(self, name: str) -> None:
        if self._later.pop(name, None) is None:
            del self._space[name]


def _executed(spec: ModuleSpec, code: CodeType) -> ModuleType:
    """The module after its code ran, known to `sys.modules` as an ordinary import leaves it."""
    module = ModuleType(_NAME)
    space = vars(module)
    space.update(__file__=spec.origin, __spec__=spec, __loader__=spec.loader, __package__="")
    space["__builtins__"] = names = _Builtins(space, code)

    def attribute(name: str) -> Any:
        if name not in names.later:
            raise AttributeError(f"module {_NAME!r} has no attribute {name!r}")
        return names[name]

    space["__getattr__"] = attribute
    sys.modules[_NAME] = module
    exec(code, space, _Names(space, names.later))  # noqa: S102 - the code that `import` itself would run
    return module


def _small() -> tuple[ModuleType, ...]:
    """Stand-ins for two modules that it imports for one small function each, and that cost more than a millisecond to load."""
    return stand_in("ctypes.util", find_library=lambda name: None), stand_in("string", capwords=_capwords)


def _capwords(text: str, separator: str | None = None) -> str:
    """As `string.capwords` does."""
    return (separator or " ").join(word.capitalize() for word in text.split(separator))
