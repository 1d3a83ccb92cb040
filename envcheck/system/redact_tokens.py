"""Keys, passwords, identities of devices and instances in text: told by their form, or by the word before them."""

from __future__ import annotations

import re
from collections.abc import Callable

from envcheck.system.secret_values import HIDDEN, hides
from envcheck.system.token_forms import known_tokens

Rename = Callable[[str, str], str]  # (kind, original) → stand-in

_AUTHORIZATION = re.compile(
    r"((?:authorization|x-api-key|cookie)[\"']?\s*[:=]\s*[\"']?)[^\r\n\"'\0]+|(\b(?:bearer|basic)\s+)[\w+/=.~-]{8,}", re.I
)
_OPTION = re.compile(r"(--[a-z-]{0,40}?(?:api-key|token|secret|password)(?:[= ]\s*|\0))[^\s\-\0][^\s\0]*", re.IGNORECASE)
# `API_KEY=x`, `"api_key": "x"`; a name that begins a longer one (`tokenizers==…`) is another name.
_ASSIGNED = re.compile(
    r"((?:^|[^\w])([A-Z][A-Z0-9_]{0,127}|[a-z_.-]{0,40}?(?:api_?key|access_?key|secret_?key|private_?key|auth_?token|password|passwd"
    r"|passphrase|secret|token|_pwd|pass|auth))"
    r"[\"']?(?:=|\s*:\s+|\s=\s|\":))(?:\"((?:\\.|[^\"\\\n\0])*)\"|'([^'\n\0]*)'|([^\s\"'=,;\0\\](?:\\.|[^\s\"'\0\\])*))",
    re.MULTILINE,
)
_URL_USER = re.compile(r"(?<=://)(?:\\.|[^/\s\"'<>\\\0]){0,512}@")
_URL_QUERY = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]{0,20}://(?:\\.|[^\s?#\"'<>\\\0])*)[?#](?:\\.|(?<==)\"[^\"\s]*\"|[^\s\"'<>\\\0])*")
_MAIL = re.compile(
    r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+(?!(?:service|socket|slice|scope|timer|target|mount|conf|so)\b)[A-Za-z]{2,24}\b"
)

_DEVICE = re.compile(r"\b(MIG-GPU|GPU|MIG)-([0-9a-fA-F]{4,8}(?:-[0-9a-fA-F]{0,12}){0,4})(?![\w-])")
# A slice of systemd's has underscores in it: `kubepods-pod0a1b2c3d_…`.
_UUID = re.compile(
    r"(?:(?<![0-9A-Fa-f-])|(?<=pod))[0-9A-Fa-f]{8}([-_])[0-9A-Fa-f]{4}(?:\1[0-9A-Fa-f]{4}){2}\1[0-9A-Fa-f]{12}(?![0-9A-Fa-f-])"
)
_LONG_HEX = re.compile(r"(?<![\w:+=])(?:[0-9a-f]{64}|[0-9a-f]{32})(?![\w+=])")
# Names of firmware variables are the same on every machine.
_FIRMWARE = frozenset({"8be4df61-93ca-11d2-aa0d-00e098032b8c", "d719b2cb-3d3a-4596-a3bc-dad00e67656f"})
_INSTANCE = re.compile(
    r"\b(?:i-(?:[0-9a-f]{17}|[0-9a-f]{8}|[0-9a-z]{20})|ins-[0-9a-z]{8}|(?:vol|eni|vpc|subnet|sg|snap)-[0-9a-f]{8,17}|ocid1\.[\w.-]{20,200})\b"
)
_ACCOUNT = re.compile(r"(\barn:[\w-]*:[\w-]*:[\w-]*:)(\d{12})\b")
_LABELLED = re.compile(
    r"((?:serial[ _-]?(?:number|no)|\"serial|instance[ _-]?id|(?:owner[ _-]?)?account[ _-]?id|owner[ _-]?id|subscription[ _-]?id"
    r"|tenant[ _-]?id|project[ _-]?id|machine[ _-]?id|vm[ _-]?id|board[ _-]?id)[\"']?\s{0,40}[:=]\s{0,8}[\"']?)"
    r"([A-Za-z0-9][\w./-]{3,200})",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(\b(?:s/n|serial)(?:\s{1,8}#?|\s{0,8}[:=#]\s{0,8}))((?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{6,80})\b", re.IGNORECASE)
_NOT_NAMED = frozenset({"none", "null", "true", "false", "n/a", "unknown", "not", "default", "string"})


def secrets(text: str) -> str:
    """The text with `***` in place of keys, tokens, passwords, and whatever a variable named like a secret is set to."""
    if "@" in text:
        text = _URL_USER.sub(f"{HIDDEN}@", text)
    if "://" in text and ("?" in text or "#" in text):
        text = _URL_QUERY.sub(rf"\1?{HIDDEN}", text)
    text = known_tokens(text)
    lower = text.lower()
    if any(sign in lower for sign in ("authorization", "x-api-key", "cookie", "bearer", "basic")):
        text = _AUTHORIZATION.sub(lambda found: (found[1] or found[2]) + HIDDEN, text)
    text = _OPTION.sub(rf"\1{HIDDEN}", text)
    return _ASSIGNED.sub(_assigned, text)


def _assigned(found: re.Match[str]) -> str:
    value = next((group for group in found.groups()[2:] if group), "")
    if not hides(found[2], value) or value.lower() in _NOT_NAMED:
        return found[0]
    mark = found[0][len(found[1])] if found[5] is None else ""
    return f"{found[1]}{mark}{HIDDEN}{mark}"


def _device(kind: str, number: str, rename: Rename) -> str:
    """Old drivers name a part of a GPU by the GPU's own number: `MIG-GPU-…/1/0`."""
    return "MIG-" + rename("device", f"GPU-{number}") if kind == "MIG-GPU" else rename("device", f"{kind}-{number}")


def _uuid(found: str, sign: str, rename: Rename) -> str:
    plain = found.lower().replace(sign, "-")
    return found if plain in _FIRMWARE else rename("uuid", plain).replace("-", sign)


def identities(text: str, rename: Rename) -> str:
    """The text with mail addresses, device and machine identifiers, serial and account numbers replaced."""
    if "@" in text:
        text = _MAIL.sub(lambda found: found[0] if found[0].endswith("@example.com") else rename("mail", found[0].lower()), text)
    if "-" in text:
        text = _DEVICE.sub(lambda found: _device(found[1], found[2].lower(), rename), text)
    if text.count("-") > 3 or text.count("_") > 3:
        text = _UUID.sub(lambda found: _uuid(found[0], found[1], rename), text)
    text = _INSTANCE.sub(lambda found: rename("instance", found[0]), text)
    text = _LONG_HEX.sub(lambda found: rename("hex", found[0]), text)
    text = _ACCOUNT.sub(lambda found: found[1] + rename("account", found[2]), text)
    lower = text.lower()
    if "serial" in lower or "s/n" in lower:
        text = _NUMBERED.sub(lambda found: found[1] + rename("serial", found[2]), text)
    if "serial" not in lower and "id" not in lower:
        return text
    return _LABELLED.sub(lambda found: found[0] if found[2].lower() in _NOT_NAMED else found[1] + rename("serial", found[2]), text)
