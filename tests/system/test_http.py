from __future__ import annotations

import gzip
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import responses

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.system.http import get, proxies_for
from envcheck.system.port import HttpAnswer
from envcheck.system.real import RealSystem

Handler = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """A loopback server whose answer to each path is a function; it remembers the headers it was sent."""

    def __init__(self) -> None:
        self.paths: dict[str, Handler] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []
        owner = self

        class Requests(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                owner.paths[self.path](self)

            def do_CONNECT(self) -> None:
                owner.seen.append((f"CONNECT {self.path}", dict(self.headers.items())))
                self.send_error(403)

            def log_message(self, *args: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(OSError):  # the client under test went away, as it should
                    super().handle()

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def answers(self, path: str, body: bytes, status: int = 200, **headers: str) -> str:
        def handler(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            for name, value in headers.items():
                request.send_header(name.replace("_", "-"), value)
            request.send_header("Content-Length", str(len(body)))
            request.end_headers()
            request.wfile.write(body)

        self.paths[path] = handler
        return self.url + path


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture
def other() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


def ask(url: str, timeout: float = 5.0, limit: int = 1000, **headers: str) -> Fact[HttpAnswer]:
    return get(url, headers, {}, timeout, limit)


def test_an_answer(server: Server) -> None:
    url = server.answers("/model", b"{}", 404)
    assert ask(url) == Found(HttpAnswer(404, b"{}", url), "127.0.0.1")


def test_a_body_is_cut_at_the_limit_and_says_so(server: Server) -> None:
    exact, more = server.answers("/exact", b"x" * 1000), server.answers("/more", b"x" * 1001)
    assert ask(exact) == Found(HttpAnswer(200, b"x" * 1000, exact), "127.0.0.1")
    assert ask(more) == Found(HttpAnswer(200, b"x" * 1000, more, truncated=True), "127.0.0.1")


def test_a_redirect_is_followed_and_the_final_url_told(server: Server) -> None:
    target = server.answers("/there", b"here")
    fact = ask(server.answers("/start", b"", 302, Location="/there"))
    assert fact == Found(HttpAnswer(200, b"here", target), "127.0.0.1")


def test_a_token_goes_to_the_same_origin_only(server: Server, other: Server) -> None:
    away = other.answers("/away", b"")
    ask(server.answers("/near", b"", 307, Location=server.answers("/same", b"")), Authorization="Bearer hf_secret")
    ask(server.answers("/far", b"", 307, Location=away), Authorization="Bearer hf_secret", Accept="text/plain")
    assert [(path, headers.get("authorization")) for path, headers in server.seen + other.seen] == [
        ("/near", "Bearer hf_secret"),
        ("/same", "Bearer hf_secret"),
        ("/far", "Bearer hf_secret"),
        ("/away", None),
    ]
    assert other.seen[0][1]["accept"] == "text/plain"


def test_a_redirect_never_leads_to_plain_http(server: Server) -> None:
    fact = ask(server.answers("/", b"", 301, Location="http://mirror.example/simple/"))
    assert fact == Unreadable("127.0.0.1: redirect not followed: plain http, which anyone on the way can change")


def test_a_redirect_to_another_kind_of_address_is_refused(server: Server) -> None:
    fact = ask(server.answers("/", b"", 301, Location="file:///etc/passwd"))
    assert fact == Unreadable("127.0.0.1: redirect not followed: not an https URL")


def test_redirects_end(server: Server) -> None:
    fact = ask(server.answers("/loop", b"", 302, Location="/loop"))
    assert fact == Unreadable("127.0.0.1: more than 5 redirects")
    assert len(server.seen) == 6


@pytest.mark.parametrize(
    "url", ["http://hub.example/x", "http://127.0.0.1.example/", "ftp://127.0.0.1/", "file:///etc/passwd", "https://", "x", ""]
)
def test_what_is_not_https_is_not_asked(url: str) -> None:
    assert isinstance(ask(url), Unreadable)


def test_a_server_that_never_answers_is_left_at_the_time_limit(server: Server) -> None:
    server.paths["/hang"] = lambda request: time.sleep(3)
    start = time.monotonic()
    assert isinstance(ask(server.url + "/hang", timeout=0.3), Unreadable)
    assert time.monotonic() - start < 2


def test_a_server_that_drips_is_left_at_the_time_limit(server: Server) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        for _ in range(40):
            request.wfile.write(b".")
            time.sleep(0.05)

    server.paths["/drip"] = drip
    start = time.monotonic()
    assert ask(server.url + "/drip", timeout=0.4) == Unreadable("127.0.0.1: timed out after 0.4 s")
    assert time.monotonic() - start < 2


def test_a_body_that_ends_early_is_unreadable(server: Server) -> None:
    def short(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "500")
        request.end_headers()
        request.wfile.write(b"x" * 10)
        request.close_connection = True

    server.paths["/short"] = short
    assert isinstance(ask(server.url + "/short"), Unreadable)


def test_nobody_listening_is_unreadable(server: Server) -> None:
    server.close()
    assert ask(server.url) == Unreadable("127.0.0.1: connection refused")


def test_compression_that_was_not_asked_for_is_undone_up_to_the_limit(server: Server) -> None:
    server.answers("/small", gzip.compress(b"hello"), Content_Encoding="gzip")
    server.answers("/bomb", zlib.compress(b"\0" * 50_000_000), Content_Encoding="deflate")
    server.answers("/broken", b"no gzip", Content_Encoding="gzip")
    server.answers("/odd", b"?", Content_Encoding="br")
    assert isinstance(small := ask(server.url + "/small"), Found)
    assert (small.value.body, small.value.truncated) == (b"hello", False)
    assert isinstance(bomb := get(server.url + "/bomb", {}, {}, 5, 100_000), Found)
    assert (bomb.value.body, bomb.value.truncated) == (b"\0" * 100_000, True)
    assert ask(server.url + "/broken") == Unreadable("127.0.0.1: broken compression")
    assert ask(server.url + "/odd") == Unreadable("127.0.0.1: compressed in a way that was not asked for")
    assert server.seen[0][1]["accept-encoding"] == "identity"


def test_the_proxy_of_the_environment_is_asked(server: Server) -> None:
    fact = get("https://hub.example/api", {}, {"HTTPS_PROXY": server.url}, 5, 100)
    assert fact == Unreadable("hub.example: the proxy refused")
    assert server.seen[0][0] == "CONNECT hub.example:443"


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


def test_loopback_bypasses_the_proxy(server: Server, other: Server) -> None:
    url = server.answers("/", b"direct")
    assert isinstance(get(url, {}, {"http_proxy": other.url}, 5, 100), Found)
    assert other.seen == []


def test_no_password_of_a_netrc_file_is_sent(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    ask(server.answers("/", b""))
    assert "authorization" not in server.seen[0][1]


def test_no_password_of_the_url_is_told(server: Server) -> None:
    server.close()
    fact = ask(server.url.replace("//", "//me:secret@") + "/?token=hidden")
    assert isinstance(fact, Unreadable)
    assert "secret" not in fact.why
    assert "hidden" not in fact.why


def test_offline_asks_nobody(server: Server) -> None:
    url = server.answers("/", b"")
    assert RealSystem(env={}, offline=True).http_get(url, {}) == Unreadable("offline")
    assert server.seen == []
    assert RealSystem(env={}).http_get(url, {}) == Found(HttpAnswer(200, b"", url), "127.0.0.1")


def test_a_redirect_from_abroad_never_leads_to_this_machine(server: Server) -> None:
    with responses.RequestsMock() as web:
        web.add(responses.GET, "https://hub.example/x", status=302, headers={"Location": server.answers("/inside", b"secret")})
        fact = ask("https://hub.example/x")
    assert fact == Unreadable("hub.example: redirect not followed: leads to this machine")
    assert server.seen == []
