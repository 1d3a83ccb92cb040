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
from msgspec.structs import replace

from envcheck.model.fact import Fact, Found, Unreadable
from envcheck.system.http import get, get_direct
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
    return undated(get(url, headers, {}, timeout, limit))


def undated(fact: Fact[HttpAnswer]) -> Fact[HttpAnswer]:
    """The answer without its date, which is never the same twice."""
    return Found(replace(fact.value, date_ahead_s=None), fact.source) if isinstance(fact, Found) else fact


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
    assert undated(RealSystem(env={}).http_get(url, {})) == Found(HttpAnswer(200, b"", url), "127.0.0.1")


def test_a_redirect_from_abroad_never_leads_to_this_machine(server: Server) -> None:
    with responses.RequestsMock() as web:
        web.add(responses.GET, "https://hub.example/x", status=302, headers={"Location": server.answers("/inside", b"secret")})
        fact = ask("https://hub.example/x")
    assert fact == Unreadable("hub.example: redirect not followed: leads to this machine")
    assert server.seen == []


@pytest.fixture
def metadata(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The loopback server, found at the address of metadata services."""
    from urllib3.util import connection

    real = connection.create_connection

    def elsewhere(address: tuple[str, int], *args: object, **kwargs: object) -> object:
        place = server.http.server_address[:2] if address == ("169.254.169.254", 80) else address
        return real(place, *args, **kwargs)

    monkeypatch.setattr(connection, "create_connection", elsewhere)
    return server


METADATA = "http://169.254.169.254"


def test_a_metadata_service_is_asked_directly_with_its_header(metadata: Server, other: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", other.url)
    metadata.answers("/type", b"p5.48xlarge")
    fact = get_direct(METADATA + "/type", {"Metadata": "true"}, 2.0, 100)
    assert undated(fact) == Found(HttpAnswer(200, b"p5.48xlarge", METADATA + "/type"), "169.254.169.254")
    assert metadata.seen[0][1]["metadata"] == "true"
    assert other.seen == []


def test_a_metadata_service_leads_nowhere_else(metadata: Server, other: Server) -> None:
    metadata.answers("/away", b"", 302, Location=other.answers("/", b"here"))
    metadata.answers("/near", b"", 302, Location="/type")
    for path in ("/away", "/near"):
        assert get_direct(METADATA + path, {}, 2.0, 100) == Unreadable("169.254.169.254: redirect not followed")
    assert other.seen == []


def test_a_metadata_service_that_hangs_or_talks_too_much(metadata: Server) -> None:
    metadata.paths["/hang"] = lambda request: time.sleep(2)
    start = time.monotonic()
    assert isinstance(get_direct(METADATA + "/hang", {}, 0.2, 100), Unreadable)
    assert time.monotonic() - start < 1.5
    metadata.answers("/long", b"x" * 1000)
    assert isinstance(long := get_direct(METADATA + "/long", {}, 2.0, 100), Found)
    assert (len(long.value.body), long.value.truncated) == (100, True)


def test_whether_somebody_answers_may_be_asked_over_plain_http(server: Server) -> None:
    with responses.RequestsMock() as web:
        web.add(responses.GET, "http://mirror.example/simple/pip/", status=404, body=b"x" * 50)
        fact = undated(get("http://mirror.example/simple/pip/", {}, {}, 2.0, 0))
    assert fact == Found(HttpAnswer(404, b"", "http://mirror.example/simple/pip/"), "mirror.example")


@pytest.mark.parametrize(("headers", "limit"), [({}, 1), ({"Authorization": "Bearer x"}, 0), ({"Accept": "x"}, 0)])
def test_over_plain_http_nothing_is_sent_and_nothing_believed(headers: dict[str, str], limit: int) -> None:
    fact = get("http://mirror.example/", headers, {}, 2.0, limit)
    assert fact == Unreadable("plain http, which anyone on the way can change")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("169.254.169.254", "a link-local address"),
        ("[::ffff:169.254.169.254]", "a link-local address"),
        ("2852039166", "a link-local address"),
        ("0xa9.254.43518", "a link-local address"),
        ("[fe80::1]", "a link-local address"),
        ("100.100.100.200", "a link-local address"),
        ("127.1", "this machine"),
        ("2130706433", "this machine"),
        ("[::ffff:127.0.0.1]", "this machine"),
        ("0.0.0.0", "this machine"),
        ("localhost.", "this machine"),
    ],
)
def test_a_redirect_never_leads_to_what_only_this_machine_may_ask(place: str, why: str) -> None:
    with responses.RequestsMock() as web:
        web.add(responses.GET, "http://mirror.example/", status=302, headers={"Location": f"http://{place}/latest/meta-data/"})
        assert get("http://mirror.example/", {}, {}, 2.0, 0) == Unreadable(f"mirror.example: redirect not followed: leads to {why}")


def test_this_machine_does_not_lead_to_the_metadata_service(server: Server) -> None:
    url = server.answers("/", b"", status=302, Location="http://169.254.169.254/latest/")
    assert get(url, {}, {}, 2.0, 0) == Unreadable("127.0.0.1: redirect not followed: leads to a link-local address")


def test_plain_http_never_leads_to_this_machine(server: Server) -> None:
    with responses.RequestsMock() as web:
        web.add(responses.GET, "http://mirror.example/", status=302, headers={"Location": server.answers("/inside", b"")})
        assert isinstance(get("http://mirror.example/", {}, {}, 2.0, 0), Unreadable)
    assert server.seen == []


def test_an_answer_tells_the_date(server: Server) -> None:
    fact = get(server.answers("/", b""), {}, {}, 2.0, 10)
    assert isinstance(fact, Found)
    assert fact.value.date_ahead_s is not None
    assert abs(fact.value.date_ahead_s) <= 2
