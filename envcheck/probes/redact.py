"""Secrets stay on the host: values that look like one by name, and passwords and queries inside URLs."""

from __future__ import annotations

import re

HIDDEN = "***"
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_COUNT = re.compile(r"TOKENS(_|$)", re.IGNORECASE)  # `…_MAX_TOKENS_…` is a number, no secret
_USER = re.compile(r"(?<=://)[^/\s]*@")
_BARE_USER = re.compile(r"^[^/@\s]+:[^/\s]*@")  # proxies may be written without a scheme
_QUERY = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s?#]*)[?#]\S*", re.IGNORECASE)


def redacted(name: str, value: str) -> str:
    """The value of a variable as it may be shown, at most 2,000 characters."""
    if _SECRET.search(name) and value and not (_COUNT.search(name) and value.isdecimal()):
        return HIDDEN
    return redacted_urls(value[:2000])


def redacted_urls(text: str) -> str:
    """Any URLs in `text` without user, password, query and fragment."""
    if "@" in text:
        text = _BARE_USER.sub(f"{HIDDEN}@", _USER.sub(f"{HIDDEN}@", text))
    return _QUERY.sub(rf"\1?{HIDDEN}", text) if "://" in text else text
