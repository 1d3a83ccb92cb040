"""One bounded GET. Whoever answers is not trusted: not with our time, not with our memory, not with another host's token."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import msgspec
import requests
from requests import Response, Session
from requests.utils import should_bypass_proxies
from urllib3.exceptions import HTTPError

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.system import reasons
from envcheck.system.port import HttpAnswer
from envcheck.system.within import within

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
_CHUNK = 65_536
# Alibaba Cloud, Volcano Engine, UCloud; AWS over IPv6. Any other address of 100.64.0.0/10 may be a neighbour's in an overlay network.
_LIKE_LINK_LOCAL = frozenset({"100.100.100.200", "100.96.0.96", "100.80.80.80", "fd00:ec2::254"})
_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})


class _Bounds(msgspec.Struct, frozen=True):
    """The environment whose proxies count, the moment (monotonic, seconds) when it must be over, the bytes of body to keep.

    `plain` = plain http may be asked.
    """

    env: Mapping[str, str]
    end: float
    limit: int
    plain: bool = False


def get(url: str, headers: Mapping[str, str], env: Mapping[str, str], timeout: float, limit: int) -> Fact[HttpAnswer]:
    """GET `url`: https, or http on loopback; proxies and CA bundle of `env`; `timeout` seconds in all, `limit` bytes of body.

    Nothing of the URL but its host is ever cited, for a URL can hold a password. Where no header is sent and no byte of the body is wanted,
    plain http is allowed: there is nothing to steal and nothing to forge but that somebody answers.
    """
    bounds = _Bounds(env, time.monotonic() + timeout, limit, plain=not limit and not headers)
    refusal = _refusal(url, bounds.plain)
    if refusal:
        return Unreadable(refusal)
    answer: Fact[HttpAnswer] | None = within(timeout, lambda: _fetch(url, headers, bounds))
    return Unreadable(f"{_host(url)}: timed out after {timeout:g} s") if answer is None else answer


def get_direct(url: str, headers: Mapping[str, str], timeout: float, limit: int) -> Fact[HttpAnswer]:
    """GET on a link-local address, where clouds answer questions about the machine: no proxy, no redirect followed, plain http allowed.

    Another address is refused, for there plain http would be anyone's word.
    """
    if not is_link_local(url):
        return Unreadable("not a link-local address")
    bounds = _Bounds({}, time.monotonic() + timeout, limit)
    answer: Fact[HttpAnswer] | None = within(timeout, lambda: _fetch(url, headers, bounds, redirects=0))
    return Unreadable(f"{_host(url)}: timed out after {timeout:g} s") if answer is None else answer


def _fetch(url: str, headers: Mapping[str, str], bounds: _Bounds, redirects: int = _MAX_REDIRECTS) -> Fact[HttpAnswer]:
    bundle = [bounds.env.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")]
    try:
        with Session() as session:
            session.trust_env = False  # it would add passwords of ~/.netrc unasked; proxies and CA bundle are set here
            session.verify = next(filter(None, bundle), True)
            return _follow(session, url, dict(headers), bounds, redirects)
    except (requests.RequestException, HTTPError, OSError, ValueError) as error:  # HTTPError: the raw body is read past requests
        return Unreadable(f"{_host(url)}: {_reason(error)}")


def _follow(session: Session, url: str, headers: dict[str, str], bounds: _Bounds, redirects: int) -> Fact[HttpAnswer]:
    for _ in range(redirects + 1):
        left = max(bounds.end - time.monotonic(), 0.01)
        response = session.get(
            url,
            headers={**headers, "Accept-Encoding": "identity"},
            proxies=proxies_for(url, bounds.env),
            timeout=(min(left, 3.0), left),
            allow_redirects=False,
            stream=True,
        )
        with response:
            target = response.headers.get("Location")
            if response.status_code not in _REDIRECTS or not target:
                return _answer(response, url, bounds)
        if not redirects:
            return Unreadable(f"{_host(url)}: redirect not followed")
        following = urljoin(url, target)
        refusal = _refusal(following, bounds.plain) or _leads_inside(url, following)
        if refusal:
            return Unreadable(f"{_host(url)}: redirect not followed: {refusal}")
        if urlsplit(following)[:2] != urlsplit(url)[:2]:
            headers = {name: value for name, value in headers.items() if name.lower() not in _SECRET_HEADERS}
        url = following
    return Unreadable(f"{_host(url)}: more than {redirects} redirects")


def _answer(response: Response, url: str, bounds: _Bounds) -> Fact[HttpAnswer]:
    """The body as sent, one byte more than `limit` read to know whether it went on."""
    parts: list[bytes] = []
    limit, ahead = bounds.limit, date_ahead_s(response.headers, time.time())
    left = limit + 1 if limit else 0
    while left > 0:
        if time.monotonic() > bounds.end:
            return Unreadable(f"{_host(url)}: timed out")
        part = response.raw.read(min(_CHUNK, left), decode_content=False)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    body = _plain(b"".join(parts), response.headers.get("Content-Encoding", "identity"), limit)
    if isinstance(body, Unreadable):
        return Unreadable(f"{_host(url)}: {body.why}")
    return Found(HttpAnswer(response.status_code, body[:limit], url, len(body) > limit, ahead), _host(url))


def date_ahead_s(headers: Mapping[str, str], now: float) -> int | None:
    """By how many seconds an answer's date is ahead of `now` (seconds since 1970); the age of a copy out of a cache is added."""
    from email.utils import parsedate_to_datetime

    date, age = headers.get("Date", ""), headers.get("Age", "").strip()
    try:
        told = parsedate_to_datetime(date[:64]).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    if len(age) < 8 and age.isascii() and age.isdecimal():
        told += int(age)
    return round(told - now)


def _plain(body: bytes, encoding: str, limit: int) -> bytes | Unreadable:
    """We ask for no compression; who compresses all the same is unpacked up to the limit and no further."""
    if encoding.strip().lower() in {"", "identity"}:
        return body
    if encoding.strip().lower() not in {"gzip", "x-gzip", "deflate"}:
        return Unreadable("compressed in a way that was not asked for")
    import zlib

    try:
        return zlib.decompressobj(47).decompress(body, limit + 1)  # 47: gzip or zlib header, whichever is there
    except zlib.error:
        return Unreadable("broken compression")


def _refusal(url: str, plain: bool = False) -> str | None:
    """Why the URL may not be asked, citing its scheme at most; `plain` = http may be."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return reasons.NOT_A_URL
    if not host or parts.scheme not in {"https", "http"}:
        return reasons.NOT_HTTPS
    return None if parts.scheme == "https" or plain or _is_loopback(url) else reasons.PLAIN_HTTP


def _leads_inside(url: str, following: str) -> str | None:
    """Why a redirect may not be followed: nobody outside may make us ask this machine, or the cloud what it keeps for this machine."""
    if _is_loopback(following) and not _is_loopback(url):
        return "leads to this machine"
    return "leads to a link-local address" if _is_near(_address(following)) else None


def is_link_local(url: str) -> bool:
    """169.254.0.0/16 and fe80::/10, and the few addresses of the shared space where clouds serve the same to their machines alone."""
    import ipaddress

    try:
        address = ipaddress.ip_address(urlsplit(url).hostname or "")
    except ValueError:
        return False
    return urlsplit(url).scheme in {"http", "https"} and _is_near(address)


def _is_near(address: IPv4Address | IPv6Address | None) -> bool:
    return address is not None and (address.is_link_local or str(address) in _LIKE_LINK_LOCAL)


def _is_loopback(url: str) -> bool:
    host = (urlsplit(url).hostname or "").rstrip(".")
    address = _address(url)
    return host == "localhost" or (address is not None and (address.is_loopback or address.is_unspecified))


def _address(url: str) -> IPv4Address | IPv6Address | None:
    """The address that a URL names in any spelling the C library takes (`127.1`, `0x7f000001`, `[::ffff:127.0.0.1]`), else None."""
    import ipaddress
    import socket

    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
        except (OSError, UnicodeError):
            return None
    return getattr(address, "ipv4_mapped", None) or address


def _host(url: str) -> str:
    return urlsplit(url).hostname or "?"


def proxies_for(url: str, env: Mapping[str, str]) -> dict[str, str]:
    """The proxy that `env` names for this URL, lower-case spelling first, as curl and requests do."""

    def value(name: str) -> str | None:
        return env.get(name) or env.get(name.upper())

    no_proxy = value("no_proxy")
    proxy = value(f"{urlsplit(url).scheme}_proxy") or value("all_proxy")
    if not proxy or _is_loopback(url) or should_bypass_proxies(url, no_proxy=no_proxy or ""):
        return {}
    return {urlsplit(url).scheme: proxy}


def _reason(error: Exception) -> str:
    """The failure in words, without the URL that the library's own message holds."""
    text = str(error).lower()
    for sign, words in (
        ("name or service not known", "its name cannot be resolved"),
        ("name resolution", "its name cannot be resolved"),
        ("certificate", reasons.UNTRUSTED),
        ("proxy", reasons.PROXY_REFUSED),
        ("refused", reasons.CONNECTION_REFUSED),
        ("timed out", "timed out"),
        ("reset", "connection reset"),
        ("unreachable", "network unreachable"),
    ):
        if sign in text:
            return words
    return type(error).__name__
