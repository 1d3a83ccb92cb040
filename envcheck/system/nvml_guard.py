"""Calls of nvidia-ml-py that never raise, and what is made of its errors and texts. Pure of imports: the module is handed in."""

from __future__ import annotations

from typing import Any

OLD = frozenset({"FunctionNotFound", "NotInModule", "ArgumentVersionMismatch"})  # an older spelling of the same call may do

_NO_VALUE = 0xFFFFFFFF  # NVML's unsigned "not available"


def error_name(error: Exception) -> str:
    """The pynvml exception's name without its prefix; `Error<code>` for a code the module does not know."""
    name = type(error).__name__
    if name.startswith("NVMLError_"):
        return name.removeprefix("NVMLError_")
    if name == "NVMLError":
        return f"Error{getattr(error, 'value', '')}"
    return "NotInModule" if isinstance(error, AttributeError) else name


def text(value: object) -> str | None:
    """A string of NVML: bytes on old modules, and never trusted to be short or printable."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return None
    value = value[:128]
    return (value if value.isprintable() else "".join(filter(str.isprintable, value))).strip()


class Guard:
    """Calls by name that never raise: the value, or None and the error's name in `errors` under `field`.

    Catches Exception, not NVMLError: nvidia-ml-py raises NVMLLibraryMismatchError and ctypes.ArgumentError outside that class.
    """

    def __init__(self, nvml: Any) -> None:
        self.nvml = nvml
        self.errors: dict[str, str] = {}

    def read(self, field: str, function: str, *args: Any) -> Any:
        """The call's answer, None where it failed."""
        try:
            return getattr(self.nvml, function)(*args)
        except Exception as error:
            self.errors[field] = error_name(error)
            return None

    def first(self, field: str, *calls: tuple[Any, ...]) -> Any:
        """The answer of the first (function, *args) that this driver and this module know."""
        for function, *args in calls:
            self.errors.pop(field, None)
            answer = self.read(field, function, *args)
            if answer is not None or self.errors.get(field) not in OLD:
                return answer
        return None

    def number(self, field: str, *calls: tuple[Any, ...]) -> int | None:
        """As `first`; None also for what stands for "no such value"."""
        value = self.first(field, *calls) if len(calls) > 1 else self.read(field, *calls[0])
        return None if value is None or not 0 <= int(value) < _NO_VALUE else int(value)

    def switch(self, field: str, function: str, *args: Any) -> bool | None:
        """Off or on."""
        value = self.read(field, function, *args)
        return None if value is None else bool(value)
