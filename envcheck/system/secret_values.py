"""What a variable or an address may hold that nobody else should see: told by the variable's name and by the address's form."""

from __future__ import annotations

import re

HIDDEN = "***"
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "WEBHOOK", "_AUTH_CONFIG")
_SECRET_ENDS = ("_PWD", "_PASS", "_PAT", "_AK", "_SK", "_SAS", "_DSN")  # `PWD` and `OLDPWD` are folders
_OPTION = r"(?i)((?<!-)--[a-z-]{0,60}(?:api-key|token|secret|password)[= ]\s*)[^\s-]\S*"
_NAMED = ("key", "token", "secret", "passw", "authorization")
_ASSIGNED = (
    r"(?i)(\b\w{0,40}(?:api_?key|secret_?key|access_?key|auth_?token|hf_token|secret|password|passwd|authorization)['\"]?\s{0,3}[:=]\s{0,3}"
    r"(?:\[?['\"]|Bearer\s+)?)(?!None\b|null\b|\*)[^\s'\",)\]}]{4,}"
)
_SECRET_NAMES = ("AUTH", "PASS")
_COUNTS = ("_TOKENS", "_TOKENS_")  # `…_MAX_TOKENS` and `…_TOKENS_PER_…` are numbers, no secrets
_LONGEST = 2000  # characters shown of a value


def redacted(name: str, value: str) -> str:
    """The value of a variable as it may be shown, at most 2,000 characters."""
    if hides(name, value):
        return HIDDEN
    shown = value[:_LONGEST]
    if "--" in shown:
        shown = re.sub(_OPTION, rf"\1{HIDDEN}", shown)
    shown = redacted_urls(shown)
    from envcheck.system.token_forms import known_tokens

    return known_tokens(shown)


def redacted_line(line: str) -> str:
    """A line of somebody's log as it may be shown: no keys, no passwords, nothing behind a name that says that it is one."""
    if any(word in line.lower() for word in _NAMED):
        line = re.sub(_ASSIGNED, rf"\1{HIDDEN}", line)
    return redacted("", line)


def hides(name: str, value: str) -> bool:
    """Whether the name says that the whole value is to be kept; a number of tokens is no secret, an empty value none either."""
    return bool(value) and is_secret(name) and not (value.isdecimal() and _counts(name.upper()))


def is_secret(name: str) -> bool:
    """Whether a variable's name says that its value is to be kept."""
    upper = name.upper()
    return any(word in upper for word in _SECRET) or upper.endswith(_SECRET_ENDS) or upper in _SECRET_NAMES


def _counts(upper: str) -> bool:
    return upper.endswith(_COUNTS[0]) or _COUNTS[1] in upper


def redacted_urls(text: str) -> str:
    """Any URLs in `text` without user, password, query and fragment; a proxy may be written without a scheme."""
    if "@" in text:
        text = re.sub(r"(?<=://)[^/\s]*@", f"{HIDDEN}@", text)
        text = re.sub(r"^[^/@\s]+:[^/\s]*@", f"{HIDDEN}@", text)
    if "://" in text and ("?" in text or "#" in text):
        text = re.sub(r"(\b[A-Za-z][A-Za-z0-9+.-]*://[^\s?#]*)[?#]\S*", rf"\1?{HIDDEN}", text)
    return text
