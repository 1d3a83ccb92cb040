"""The text of a `config.json`, from whoever wrote it."""

from __future__ import annotations

from typing import Any

import msgspec

from envcheck.errors import InputError

CONFIG_LIMIT = 4 << 20  # bytes; quantization exceptions of the largest models take about 200 KiB


def parse_config(data: bytes, name: str = "config.json") -> dict[str, Any]:
    """The configuration as an object; `name` is how messages call the place it came from.

    Raises InputError on more than 4 MiB, broken JSON or anything but an object.
    """
    if len(data) > CONFIG_LIMIT:
        raise InputError("error.config-too-large", name=name, limit_mib=CONFIG_LIMIT >> 20)
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        value = _lenient(data)
        if value is None:
            raise InputError("error.config-not-json", name=name, why=str(error)[:200]) from None
    if not isinstance(value, dict):
        raise InputError("error.config-no-object", name=name, found="null" if value is None else type(value).__name__)
    return value


def _lenient(data: bytes) -> object:
    """Python writes NaN and Infinity, which JSON has not; some published configurations hold them."""
    import json  # noqa: PLC0415 - only for the rare configuration that needs it

    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
