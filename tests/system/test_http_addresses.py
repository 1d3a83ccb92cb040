"""What is decided before anybody is asked: which proxy, which addresses, how far two clocks differ."""

from __future__ import annotations

import pytest

from envcheck.model.fact import Unreadable
from envcheck.system.http import date_ahead_s, get_direct, is_link_local, proxies_for


@pytest.mark.parametrize(
    ("url", "env", "proxies"),
    [
        ("https://hub.example/", {"https_proxy": "http://p:1", "HTTPS_PROXY": "http://q:1"}, {"https": "http://p:1"}),
        ("https://hub.example/", {"ALL_PROXY": "socks5://p:1"}, {"https": "socks5://p:1"}),
        ("https://hub.example/", {"http_proxy": "http://p:1"}, {}),
        ("https://hub.example/", {"https_proxy": "http://p:1", "no_proxy": ".internal,hub.example"}, {}),
        ("https://a.internal/", {"https_proxy": "http://p:1", "NO_PROXY": ".internal,hub.example"}, {}),
        ("https://hub.example/", {"https_proxy": "http://p:1", "no_proxy": "*"}, {}),
        ("http://127.0.0.1:8000/", {"http_proxy": "http://p:1"}, {}),
        ("https://hub.example/", {}, {}),
    ],
)
def test_which_proxy_is_asked(url: str, env: dict[str, str], proxies: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://of-this-process:1")
    monkeypatch.setenv("no_proxy", "")
    assert proxies_for(url, env) == proxies


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("http://169.254.169.254/latest/", True),
        ("http://169.254.0.23/", True),
        ("http://100.100.100.200/latest/meta-data/", True),
        ("http://100.96.0.96/", True),
        ("http://100.80.80.80/", True),
        ("http://[fd00:ec2::254]/latest/", True),
        ("http://100.100.100.201/", False),
        ("http://127.0.0.1/", False),
        ("http://10.0.0.1/", False),
        ("http://metadata.google.internal/", False),
        ("http://169.254.169.254.example.com/", False),
        ("http://2852039166/", False),
        ("http://169.254.169.254@example.com/", False),
        ("http://example.com/169.254.169.254", False),
        ("ftp://169.254.169.254/", False),
        ("file:///169.254.169.254", False),
        ("", False),
    ],
)
def test_which_addresses_are_asked_without_a_proxy(url: str, near: bool) -> None:
    assert is_link_local(url) == near
    if not near:
        assert get_direct(url, {}, 0.1, 100) == Unreadable("not a link-local address")


NOON = 1_790_510_400  # 2026-09-27 12:00:00 UTC


@pytest.mark.parametrize(
    ("headers", "ahead"),
    [
        ({"Date": "Sun, 27 Sep 2026 12:00:00 GMT"}, 0),
        ({"Date": "Sun, 27 Sep 2026 12:10:00 GMT"}, 600),
        ({"Date": "Sun, 27 Sep 2026 11:00:00 GMT", "Age": "3600"}, 0),
        ({"Date": "Sun, 27 Sep 2026 12:00:00 GMT", "Age": "9" * 400}, 0),
        ({"Date": "Sun, 27 Sep 2026 12:00:00 GMT", "Age": "-5"}, 0),
        ({}, None),
        ({"Date": ""}, None),
        ({"Date": "yesterday"}, None),
        ({"Date": "Sun, 99 Sep 9999999 12:00:00 GMT"}, None),
    ],
)
def test_how_far_the_clocks_differ(headers: dict[str, str], ahead: int | None) -> None:
    assert date_ahead_s(headers, NOON) == ahead
