"""GGUF files of a hub that is played on loopback: which file is meant, how much of it is read, and what a hub in trouble gets."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.errors import CannotTellError, EnvcheckError, InputError, UsageError
from envcheck.readers.gguf_names import GgufName, chosen_file, gguf_name, quantizations
from envcheck.readers.hub_gguf import file_list
from envcheck.readers.model import Places, find_model
from envcheck.system.real import RealSystem
from envcheck.system.store import FolderStore

NAME = "acme/small-GGUF"
FILE = "small-Q4_K_M.gguf"
SHA = "a" * 40
Q4_K, F32 = 12, 0
NORM = 512 * 4
EMBEDDING = 512 * 1000 // 256 * 144  # a block of 256 weights takes 144 bytes as Q4_K (llama.cpp, ggml-common.h)
Handler = Callable[[BaseHTTPRequestHandler], None]


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def gguf(tensors: dict[str, tuple[tuple[int, ...], int]], words: int = 3, **values: int) -> bytes:
    """A header with a vocabulary of so many words; `values` behind `split.`, 16 bit each."""
    entries = [text("general.architecture") + struct.pack("<I", 8) + text("llama")]
    entries += [text(f"llama.{key}") + struct.pack("<II", 4, value) for key, value in (("block_count", 2), ("embedding_length", 512))]
    entries += [text(f"split.{key}") + struct.pack("<IH", 2, value) for key, value in values.items()]
    entries.append(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, words) + text("w" * 92) * words)
    listed = [text(name) + struct.pack(f"<I{len(wide)}QIQ", len(wide), *wide, kind, 0) for name, (wide, kind) in tensors.items()]
    return b"GGUF" + struct.pack("<IQQ", 3, len(listed), len(entries)) + b"".join(entries) + b"".join(listed)


WHOLE = gguf({"token_embd.weight": ((512, 1000), Q4_K), "output_norm.weight": ((512,), F32)})


class Hub:
    """A hub with one repository; counts what it sends."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Handler] = {}
        self.also: list[str] = ["README.md", "mmproj-F16.gguf"]
        self.replies: dict[str, Handler] = {}
        self.ranged = True
        self.asked: list[tuple[str, str | None, str | None]] = []
        self.sent = 0
        owner = self

        class Requests(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append((self.path, self.headers.get("Authorization"), self.headers.get("Range")))
                owner.reply(self)

            def log_message(self, *args: object) -> None:
                pass

            def handle(self) -> None:
                with suppress(OSError):  # the client went away, as it should
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

    def listing(self) -> bytes:
        return json.dumps({"sha": SHA, "siblings": [{"rfilename": name} for name in (*self.files, *self.also)]}).encode()

    def reply(self, request: BaseHTTPRequestHandler) -> None:
        if request.path in self.replies:
            self.replies[request.path](request)
        elif request.path == f"/api/models/{NAME}/revision/main":
            self.send(request, 200, self.listing())
        else:
            content = self.files.get(request.path.removeprefix(f"/{NAME}/resolve/main/"))
            if callable(content):
                content(request)
            else:
                self.send_file(request, content)

    def send_file(self, request: BaseHTTPRequestHandler, content: bytes | None) -> None:
        told = request.headers.get("Range")
        if content is None:
            self.send(request, 404, b"Entry not found")
        elif told and self.ranged:
            begin, end = told.removeprefix("bytes=").split("-")
            part = content[int(begin) : int(end) + 1]
            self.send(request, 206 if part else 416, part)
        else:
            self.send(request, 200, content)

    def send(self, request: BaseHTTPRequestHandler, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body) if length is None else length))
        request.end_headers()
        request.wfile.write(body)
        self.sent += len(body)

    def files_asked(self) -> list[str]:
        return [path.rpartition("/")[2] for path, _, _ in self.asked]


@pytest.fixture
def hub() -> Iterator[Hub]:
    running = Hub()
    running.files[FILE] = WHOLE
    yield running
    running.close()


def ask(hub: Hub, name: str = f"{NAME}:Q4_K_M", store=None, official: str = "", offline: bool = False, **env: str):
    system = RealSystem(env={"HF_ENDPOINT": hub.url, **env})
    places = Places(official or "https://hub.example", offline)
    return find_model(name, system, lambda name: None, places, (lambda: store) if store else None)


def refused(hub: Hub, name: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        ask(hub, name)
    return caught.value


@pytest.mark.parametrize("name", [f"{NAME}:Q4_K_M", f"{NAME}/{FILE}"])
def test_a_file_by_its_quantization_or_its_name(hub: Hub, name: str) -> None:
    spec = ask(hub, name)
    assert (spec.name, spec.weights_bytes, spec.weights_basis) == (name, EMBEDDING + NORM, "headers")
    assert (spec.config["model_type"], spec.config["hidden_size"], spec.config["vocab_size"]) == ("llama", 512, 1000)
    assert (spec.source.kind, spec.source.place) == ("hub", f"{hub.url}/{NAME}")
    assert hub.files_asked() == ["main", FILE]


def test_a_file_in_a_folder(hub: Hub) -> None:
    hub.files = {f"Q4_K_M/{FILE}": WHOLE}
    assert ask(hub).weights_bytes == EMBEDDING + NORM


def test_all_parts_of_a_split_file_count(hub: Hub) -> None:
    first = gguf({"token_embd.weight": ((512, 1000), Q4_K)}, count=2, no=0)
    hub.files = {
        "small-Q4_K_M-00001-of-00002.gguf": first,
        "small-Q4_K_M-00002-of-00002.gguf": gguf({"output_norm.weight": ((512,), F32)}, count=2, no=1),
    }
    assert ask(hub).weights_bytes == EMBEDDING + NORM
    assert ask(hub, f"{NAME}/small-Q4_K_M-00002-of-00002.gguf").config["hidden_size"] == 512
    del hub.files["small-Q4_K_M-00002-of-00002.gguf"]
    with pytest.raises(InputError) as caught:
        ask(hub)
    assert caught.value.text.key == "error.model-gguf-part"


def test_more_parts_than_are_worth_asking(hub: Hub) -> None:
    hub.files = {"small-Q4_K_M-00001-of-01000.gguf": gguf({}, count=1000, no=0)}
    with pytest.raises(CannotTellError):
        ask(hub)
    assert len(hub.asked) == 2


@pytest.mark.parametrize(
    ("name", "key", "said"),
    [
        (f"{NAME}:Q8_0", "error.model-gguf-quant", FILE),
        (f"{NAME}:q4_k_m", "error.model-gguf-quant", FILE),
        (f"{NAME}/other.gguf", "error.model-gguf-file", FILE),
        (NAME, "error.model-gguf-which", "Q4_K_M"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(hub: Hub, name: str, key: str, said: str) -> None:
    error = refused(hub, name)
    assert error.text.key == key
    assert said in error.text.params["found"]
    assert "mmproj" not in error.text.params["found"]


def test_files_that_nothing_tells_apart(hub: Hub) -> None:
    hub.files["tiny-Q4_K_M.gguf"] = WHOLE
    error = refused(hub, f"{NAME}:Q4_K_M")
    assert (error.text.key, error.text.params["found"]) == ("error.model-gguf-several", f"{FILE}, tiny-Q4_K_M.gguf")
    assert error.text.params["example"] == f"{NAME}/{FILE}"


def test_of_several_the_one_that_vllm_takes(hub: Hub) -> None:
    hub.files = {"small-UD-Q4_K_M.gguf": b"", FILE: WHOLE}
    assert ask(hub).weights_bytes == EMBEDDING + NORM


def test_no_gguf_file_at_all(hub: Hub) -> None:
    hub.files = {}
    assert refused(hub, f"{NAME}:Q4_K_M").text.key == "error.model-gguf-none"
    assert refused(hub, NAME).text.key == "error.model-no-file"


def test_a_header_longer_than_the_first_request_is_read_on_where_it_stopped(hub: Hub) -> None:
    long = gguf({"token_embd.weight": ((512, 1000), Q4_K)}, words=60_000)
    assert 5 << 20 < len(long) < 8 << 20
    hub.files[FILE] = long + bytes(4 << 20)
    assert ask(hub).weights_bytes == EMBEDDING
    assert [told for _, _, told in hub.asked[1:]] == ["bytes=0-1048575", "bytes=1048576-4194303", "bytes=4194304-8388607"]
    assert hub.sent < 9 << 20


def test_a_hub_without_ranges(hub: Hub) -> None:
    hub.ranged = False
    hub.files[FILE] = gguf({"token_embd.weight": ((512, 1000), Q4_K)}, words=60_000)
    assert ask(hub).weights_bytes == EMBEDDING


def test_a_hub_that_sends_more_than_was_asked_for(hub: Hub) -> None:
    long = gguf({"token_embd.weight": ((512, 1000), Q4_K)}, words=60_000)

    def more(request: BaseHTTPRequestHandler) -> None:
        begin = int(request.headers["Range"].removeprefix("bytes=").split("-")[0])
        hub.send(request, 206, long[begin:])

    hub.files[FILE] = more
    assert ask(hub).weights_bytes == EMBEDDING


@pytest.mark.parametrize("content", [b"", b"GG", WHOLE[:-1], b"<html>sign in</html>", b"GGUF" + struct.pack("<IQQ", 3, 1, 1 << 63)])
def test_a_file_cut_off_or_of_another_kind(hub: Hub, content: bytes) -> None:
    hub.files[FILE] = lambda request: hub.send(request, 206, content)
    with pytest.raises(InputError) as caught:
        ask(hub)
    assert (caught.value.text.key, caught.value.text.params["path"]) == ("error.model-gguf", f"{hub.url}/{NAME}/resolve/main/{FILE}")


def test_a_header_without_end_is_left(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envcheck.readers.hub_gguf._STEPS", (1 << 16, 1 << 17))
    hub.files[FILE] = gguf({}, words=10_000)
    with pytest.raises(InputError):
        ask(hub)
    assert hub.sent < 1 << 18


def test_an_answer_shorter_than_its_length_says(hub: Hub) -> None:
    hub.files[FILE] = lambda request: hub.send(request, 206, WHOLE[:100], length=len(WHOLE))
    with pytest.raises(EnvcheckError):
        ask(hub)


def test_a_slow_hub_is_not_waited_for(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envcheck.readers.remote_file.TIMEOUT_S", 0.2)
    over = threading.Event()
    hub.files[FILE] = lambda request: (over.wait(20), hub.send(request, 206, WHOLE))[1]
    begun = time.monotonic()
    with pytest.raises(CannotTellError):
        ask(hub)
    over.set()
    assert time.monotonic() - begun < 10  # the server would have taken 20


def test_the_token_stays_with_the_official_hub(hub: Hub) -> None:
    other = Hub()
    try:
        other.replies["/blob"] = lambda request: other.send_file(request, WHOLE)
        hub.files[FILE] = lambda request: hub.send(request, 302, Location=f"{other.url}/blob")
        assert ask(hub, official=hub.url, HF_TOKEN="hf_secret").weights_bytes == EMBEDDING + NORM
        assert {token for _, token, _ in hub.asked} == {"Bearer hf_secret"}
        assert [(token, told) for _, token, told in other.asked] == [(None, "bytes=0-1048575")]
        hub.asked.clear()
        ask(hub, HF_TOKEN="hf_secret")
        assert {token for _, token, _ in hub.asked} == {None}
    finally:
        other.close()


@pytest.mark.parametrize(
    ("status", "key"),
    [(401, "error.model-gated"), (404, "error.model-unknown"), (429, "error.model-rate-limited"), (503, "error.model-hub-broken")],
)
def test_a_list_that_is_refused(hub: Hub, status: int, key: str) -> None:
    hub.replies[f"/api/models/{NAME}/revision/main"] = lambda request: hub.send(request, status)
    with pytest.raises(EnvcheckError) as caught:
        ask(hub)
    assert caught.value.text.key == key


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"siblings": 1}', b"<html>", b'{"siblings":' + b"[" * 9999])
def test_a_list_that_is_none(hub: Hub, body: bytes) -> None:
    hub.replies[f"/api/models/{NAME}/revision/main"] = lambda request: hub.send(request, 200, body)
    with pytest.raises(CannotTellError):
        ask(hub)


def test_names_that_lead_elsewhere_are_no_files(hub: Hub) -> None:
    hub.also = ["../../x-Q4_K_M.gguf", "/etc/x-Q4_K_M.gguf", ".git/x-Q4_K_M.gguf", "a\\x-Q4_K_M.gguf", "a//x-Q4_K_M.gguf", "\n-Q4_K_M.gguf"]
    assert ask(hub).weights_bytes == EMBEDDING + NORM
    hub.files = {}
    assert refused(hub, f"{NAME}:Q4_K_M").text.key == "error.model-gguf-none"


def test_what_was_read_is_kept_while_the_commit_is_the_same(hub: Hub, tmp_path) -> None:
    store = FolderStore(str(tmp_path / "kept"))
    first = ask(hub, store=store)
    hub.asked.clear()
    assert ask(hub, store=store) == first
    assert hub.files_asked() == ["main"]
    for spec in (ask(hub, store=store, offline=True), ask(hub, store=store, HF_HUB_OFFLINE="1")):
        assert (spec.weights_bytes, spec.source.cached_s is None) == (EMBEDDING + NORM, False)
    with pytest.raises(CannotTellError):
        ask(hub, f"{NAME}:Q8_0", store=store, offline=True)
    hub.files[FILE] = gguf({"output_norm.weight": ((512,), F32)})
    hub.replies[f"/api/models/{NAME}/revision/main"] = lambda request: hub.send(request, 200, hub.listing().replace(b"aaaa", b"bbbb"))
    assert ask(hub, store=store).weights_bytes == NORM


def test_a_downloaded_file_is_not_asked_for(hub: Hub, tmp_path) -> None:
    kept = tmp_path / f"models--{NAME.replace('/', '--')}"
    (kept / "refs").mkdir(parents=True)
    (kept / "refs" / "main").write_text(SHA)
    (kept / "snapshots" / SHA / "Q4").mkdir(parents=True)
    (kept / "snapshots" / SHA / "Q4" / FILE).write_bytes(WHOLE)
    spec = ask(hub, HF_HUB_CACHE=str(tmp_path))
    assert (spec.name, spec.source.kind, spec.weights_bytes, hub.asked) == (f"{NAME}:Q4_K_M", "folder", EMBEDDING + NORM, [])
    hub.files["small-Q8_0.gguf"] = WHOLE
    assert ask(hub, f"{NAME}:Q8_0", HF_HUB_CACHE=str(tmp_path)).source.kind == "hub"


def test_modelscope_lists_in_its_own_way() -> None:
    body = b'{"Code": 200, "Data": {"Files": [{"Path": "x-Q4_K_M.gguf", "Type": "blob", "Revision": "abc", "Size": 5}]}}'
    listed = file_list(body, "modelscope")
    assert (listed.files, listed.state) == (["x-Q4_K_M.gguf"], "abc")
    assert file_list(b'{"Code": 404, "Data": null}', "modelscope") is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("a/b:Q4_K_M", GgufName("a/b", "Q4_K_M")),
        ("a/b:UD-Q4_K_XL", GgufName("a/b", "UD-Q4_K_XL")),
        ("a/b/c/d.gguf", GgufName("a/b", None, "c/d.gguf")),
        *(
            (name, None)
            for name in ("a/b", "a", "a:b", "a/b:", "a/b:Q4 K", "a/b/../c.gguf", "a/b/.c.gguf", "https://x/a/b.gguf", "a/b/c.bin")
        ),
    ],
)
def test_names(name: str, meant: GgufName | None) -> None:
    assert gguf_name(name) == meant


def test_quantizations_in_the_names_of_files() -> None:
    files = ["x-Q4_K_M.gguf", "x-UD-IQ2_XXS-00001-of-00003.gguf", "d/x.q8_0.gguf", "x-BF16.gguf", "x-4bit.gguf"]
    assert quantizations(files) == ["Q4_K_M", "UD-IQ2_XXS", "q8_0", "BF16"]


@given(st.lists(st.text(max_size=40) | st.from_regex(r"[a-z]{0,3}-Q[48]_K(-0000[12]-of-00002)?\.gguf", fullmatch=True), max_size=12))
def test_any_names_lead_to_one_of_them_or_to_words(files: list[str]) -> None:
    with suppress(UsageError):
        assert chosen_file(GgufName("a/b", "Q4_K"), "hub", files) in files


LISTS = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["siblings", "sha", "rfilename", "Data", "Files", "Path"]), inner),
)


@given(st.binary(max_size=200) | LISTS.map(lambda value: json.dumps(value).encode()))
def test_any_list_is_read_or_refused(body: bytes) -> None:
    for kind in ("hub", "modelscope"):
        listed = file_list(body, kind)
        assert listed is None or all(isinstance(name, str) for name in listed.files)
