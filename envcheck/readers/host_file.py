"""A host document from a file or standard input: `envcheck.host/1`, or the report of `envcheck check`, which carries one."""

from __future__ import annotations

import msgspec

from envcheck.errors import InputError
from envcheck.model.host import SCHEMA, HostReport
from envcheck.model.report import CHECK_SCHEMA

HOST_LIMIT = 4 << 20  # bytes; a report of an 8-GPU host is about 20 KiB
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def parse_host(data: bytes, name: str) -> HostReport:
    """The host in `data`; `name` is how messages call the place it came from.

    Raises InputError on anything else: more than 4 MiB, no text, broken JSON, a wrong type (with its path), a schema not known,
    an object without a single fact of a host.
    """
    if len(data) > HOST_LIMIT:
        raise InputError("error.host-too-large", name=name, limit_mib=HOST_LIMIT >> 20)
    keys = _object(_text(data, name), name)
    schema = _schema(keys, name)
    if schema == CHECK_SCHEMA:
        if "host" not in keys:
            raise InputError("error.host-no-facts", name=name)
        keys = _object(bytes(keys["host"]), name)
        schema = _schema(keys, name)
    if schema not in (None, SCHEMA):
        raise InputError("error.host-schema-unknown", name=name, schema=str(schema)[:60], known=SCHEMA)
    if keys and not keys.keys() & set(HostReport.__struct_fields__):
        raise InputError("error.host-no-facts", name=name)
    return _host(keys, name)


def _text(data: bytes, name: str) -> bytes:
    """UTF-8 bytes; a byte-order mark, as some Windows shells write it, is honoured."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            try:
                return data.decode(encoding).encode()
            except UnicodeDecodeError as error:
                raise InputError("error.host-not-json", name=name, why=str(error)[:200]) from None
    if b"\0" in data[:4096]:
        raise InputError("error.host-binary", name=name)
    return data


def _object(data: bytes, name: str) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError as error:
        raise InputError("error.host-invalid", name=name, why=str(error)[:300]) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError("error.host-not-json", name=name, why=str(error)[:300]) from None


def _schema(keys: dict[str, msgspec.Raw], name: str) -> str | None:
    if "schema" not in keys:
        return None
    try:
        return msgspec.json.decode(keys["schema"], type=str)
    except msgspec.ValidationError:
        raise InputError(
            "error.host-schema-unknown", name=name, schema=bytes(keys["schema"])[:60].decode("utf-8", "replace"), known=SCHEMA
        ) from None


def _host(keys: dict[str, msgspec.Raw], name: str) -> HostReport:
    try:
        return msgspec.json.decode(msgspec.json.encode(keys), type=HostReport)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise InputError("error.host-invalid", name=name, why=str(error)[:300]) from None
