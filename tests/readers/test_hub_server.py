"""A hub as it behaves on a bad day, played on loopback: what is read, what is said, and that nothing is believed or waited for too long."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from envcheck.errors import CannotTellError, EnvcheckError, UsageError
from envcheck.readers import ranges
from envcheck.readers.hub import Hub
from envcheck.readers.hub_model import fetch_model
from envcheck.readers.model import Places, find_model
from envcheck.readers.safetensors import HEADER_LIMIT
from envcheck.system.real import RealSystem
from envcheck.system.store import FolderStore

NAME = "acme/small"
CONFIG = b'{"model_type": "qwen2", "hidden_size": 64}'
INDEX = json.dumps({"metadata": {"total_size": 10**12}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}).encode()
Handler = Callable[[BaseHTTPRequestHandler], None]


def weight_file(dtype: str, elements: int, width: int, padding: int = 0) -> bytes:
    """The bytes of a file with one tensor; `padding` = spaces that make its header long."""
    listed = {"t.0.weight": {"dtype": dtype, "shape": [elements], "data_offsets": [0, elements * width]}}
    header = json.dumps(listed).encode() + b" " * padding
    return len(header).to_bytes(8, "little") + header + bytes(elements * width)


class Hubs:
    """A loopback server that answers by path, with ranges where `ranged`, and remembers what it was asked and how much it sent."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Handler] = {}
        self.ranged = True
        self.asked: list[tuple[str, str | None, str | None]] = []
        owner = self

        class Requests(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append((self.path, self.headers.get("Authorization"), self.headers.get("Range")))
                owner.reply(self, owner.files.get(self.path))

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

    def put(self, file: str, content: bytes | Handler) -> None:
        self.files[f"/{NAME}/resolve/main/{file}"] = content

    def reply(self, request: BaseHTTPRequestHandler, content: bytes | Handler | None) -> None:
        if callable(content):
            content(request)
            return
        told = request.headers.get("Range")
        body = content or b"Entry not found"
        if content is not None and told and self.ranged:
            send(request, 206, body[: int(told.rpartition("-")[2]) + 1])
        else:
            send(request, 404 if content is None else 200, body)

    def files_asked(self) -> list[str]:
        return [path.rpartition("/")[2] for path, _, _ in self.asked]


def send(request: BaseHTTPRequestHandler, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(body) if length is None else length))
    request.end_headers()
    request.wfile.write(body)


@pytest.fixture
def hub() -> Iterator[Hubs]:
    running = Hubs()
    running.put("config.json", CONFIG)
    yield running
    running.close()


@pytest.fixture
def sharded(hub: Hubs) -> Hubs:
    hub.put("model.safetensors.index.json", INDEX)
    hub.put("one.safetensors", weight_file("BF16", 500, 2))
    hub.put("two.safetensors", weight_file("F32", 30, 4))
    return hub


def ask(hub: Hubs, store=None, official: str = "", env=None, offline: bool = False):
    system = RealSystem(env={"HF_ENDPOINT": hub.url, **(env or {})})
    return find_model(
        NAME, system, lambda name: None, Places(official or "https://hub.example", offline), (lambda: store) if store else None
    )


def test_the_headers_of_all_shards_are_added_up(sharded: Hubs) -> None:
    spec = ask(sharded)
    assert spec.weights_bytes == 500 * 2 + 30 * 4  # and not what the index claims
    assert spec.weights_basis == "headers"
    assert spec.stored.bytes_by_dtype == {"BF16": 1000, "F32": 120}
    assert {(group.name, group.shape, group.count) for group in spec.stored.groups} == {("t.*.weight", (500,), 1), ("t.*.weight", (30,), 1)}


def test_a_model_in_one_file(hub: Hubs) -> None:
    hub.put("model.safetensors", weight_file("F16", 9, 2))
    assert ask(hub).weights_bytes == 18


def test_a_hub_without_ranges_is_read_no_further_than_needed(sharded: Hubs) -> None:
    sharded.ranged = False
    sharded.put("one.safetensors", weight_file("BF16", 20_000_000, 2))
    assert ask(sharded).weights_bytes == 20_000_000 * 2 + 120


def test_a_header_longer_than_the_first_request(hub: Hubs) -> None:
    hub.put("model.safetensors", weight_file("F16", 9, 2, padding=300_000))
    assert ask(hub).weights_bytes == 18
    assert hub.files_asked().count("model.safetensors") == 2


@pytest.mark.parametrize("length", [HEADER_LIMIT + 1, 1 << 62, (1 << 64) - 1])
def test_a_hostile_length_is_asked_for_by_nobody(sharded: Hubs, length: int) -> None:
    sharded.put("one.safetensors", length.to_bytes(8, "little") + b"{}" * 9)
    spec = ask(sharded)
    assert (spec.weights_bytes, spec.weights_basis, spec.stored) == (10**12, "index", None)
    assert sharded.files_asked().count("one.safetensors") == 1


@pytest.mark.parametrize("broken", [b"", b"<html>", weight_file("F16", 9, 2)[:40], (40).to_bytes(8, "little") + b"[" * 40])
def test_one_broken_shard_leaves_the_index_s_word(sharded: Hubs, broken: bytes) -> None:
    sharded.put("two.safetensors", broken)
    spec = ask(sharded)
    assert (spec.weights_bytes, spec.weights_basis) == (10**12, "index")


def test_an_answer_cut_off_is_no_configuration(hub: Hubs) -> None:
    hub.put("config.json", lambda request: send(request, 200, CONFIG[:10], length=len(CONFIG)))
    with pytest.raises(EnvcheckError):
        ask(hub)


def test_compression_that_nobody_asked_for(hub: Hubs) -> None:
    hub.put("config.json", lambda request: send(request, 200, gzip.compress(CONFIG), Content_Encoding="gzip"))
    assert ask(hub).config["hidden_size"] == 64


def test_a_redirect_to_another_host_is_followed_without_the_token(hub: Hubs) -> None:
    other = Hubs()
    try:
        other.files["/blob"] = CONFIG
        hub.put("config.json", lambda request: send(request, 302, Location=f"{other.url}/blob"))
        assert ask(hub, official=hub.url, env={"HF_TOKEN": "hf_secret"}).config["hidden_size"] == 64
    finally:
        other.close()
    assert hub.asked[0][1] == "Bearer hf_secret"
    assert [token for _, token, _ in other.asked] == [None]


def test_redirects_in_a_circle_end(hub: Hubs) -> None:
    hub.put("config.json", lambda request: send(request, 302, Location=request.path))
    with pytest.raises(CannotTellError):
        ask(hub)
    assert len(hub.asked) < 10


@pytest.mark.parametrize(
    ("status", "key"),
    [(401, "error.model-gated"), (403, "error.model-gated"), (429, "error.model-rate-limited"), (503, "error.model-hub-broken")],
)
def test_refusals_in_their_own_words(hub: Hubs, status: int, key: str) -> None:
    hub.put("config.json", lambda request: send(request, status))
    with pytest.raises(EnvcheckError) as caught:
        ask(hub, env={"HF_TOKEN": "hf_secret"})
    assert caught.value.text.key == key
    assert "secret" not in str(caught.value.args)


def test_a_page_instead_of_json(hub: Hubs) -> None:
    hub.put("config.json", b"<!doctype html><title>Sign in</title>")
    with pytest.raises(CannotTellError) as caught:
        ask(hub)
    assert caught.value.text.key == "error.model-hub-page"


def test_a_slow_hub_is_not_waited_for(hub: Hubs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envcheck.readers.remote_file.TIMEOUT_S", 0.2)
    over = threading.Event()
    hub.put("config.json", lambda request: (over.wait(20), send(request, 200, CONFIG))[1])
    begun = time.monotonic()
    with pytest.raises(CannotTellError):
        ask(hub)
    over.set()
    assert time.monotonic() - begun < 10  # the server would have taken 20


def test_more_shards_than_are_worth_asking(sharded: Hubs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "MOST_FILES", 1)
    assert ask(sharded).weights_basis == "index"
    assert "one.safetensors" not in sharded.files_asked()


def test_an_index_that_names_files_elsewhere(hub: Hubs) -> None:
    hub.put("model.safetensors.index.json", INDEX.replace(b"one.safetensors", b"../../evil/x"))
    assert ask(hub).weights_basis == "index"
    assert [name for name in hub.files_asked() if name.endswith("x")] == []


def test_quantization_that_only_another_file_states(hub: Hubs) -> None:
    hub.put("model.safetensors", weight_file("I32", 4, 4))
    hub.put("quantize_config.json", b'{"bits": 4, "group_size": 128, "desc_act": false}')
    assert ask(hub).config["quantization_config"]["quant_method"] == "gptq"


def test_a_plain_model_is_asked_for_no_more(hub: Hubs) -> None:
    hub.put("model.safetensors", weight_file("BF16", 4, 2))
    assert "quantization_config" not in ask(hub).config
    assert hub.files_asked() == ["config.json", "model.safetensors.index.json", "model.safetensors"]


def test_modelscope_where_the_environment_says_so(hub: Hubs) -> None:
    hub.files[f"/models/{NAME}/resolve/master/config.json"] = CONFIG
    system = RealSystem(env={"VLLM_USE_MODELSCOPE": "True", "HF_TOKEN": "hf_secret"})
    spec = find_model(NAME, system, lambda name: None, Places("https://hub.example", modelscope_url=hub.url))
    assert spec.source.place == f"{hub.url}/models/{NAME}"
    assert {token for _, token, _ in hub.asked} == {None}


def test_a_token_that_signing_in_left_goes_to_the_official_hub_alone(hub: Hubs, tmp_path) -> None:
    (tmp_path / "token").write_text("hf_left\n")
    ask(hub, env={"HF_HOME": str(tmp_path)})
    assert {token for _, token, _ in hub.asked} == {None}
    ask(hub, official=hub.url, env={"HF_HOME": str(tmp_path), "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"})
    assert {token for _, token, _ in hub.asked} == {None}
    ask(hub, official=hub.url, env={"HF_HOME": str(tmp_path)})
    assert hub.asked[-1][1] == "Bearer hf_left"


def test_what_was_fetched_is_not_fetched_again(sharded: Hubs, tmp_path) -> None:
    store = FolderStore(str(tmp_path / "kept"))
    first = ask(sharded, store)
    sharded.asked.clear()
    assert ask(sharded, store).stored == first.stored
    assert sharded.files_asked() == ["config.json", "model.safetensors.index.json"]


def test_a_fetch_cut_off_goes_on_where_it_stopped(sharded: Hubs, tmp_path) -> None:
    store = FolderStore(str(tmp_path / "kept"))
    sharded.put("two.safetensors", lambda request: send(request, 503))
    assert ask(sharded, store).stored is None
    sharded.put("two.safetensors", weight_file("F32", 30, 4))
    sharded.asked.clear()
    assert ask(sharded, store).weights_bytes == 1120
    assert sharded.files_asked().count("one.safetensors") == 0


def test_another_index_means_other_headers(sharded: Hubs, tmp_path) -> None:
    store = FolderStore(str(tmp_path / "kept"))
    ask(sharded, store)
    sharded.put("one.safetensors", weight_file("BF16", 700, 2))
    sharded.put("model.safetensors.index.json", INDEX.replace(b"1000000000000", b"1520"))
    assert ask(sharded, store).weights_bytes == 700 * 2 + 120


def test_without_the_hub_what_it_said_earlier_counts(sharded: Hubs, tmp_path) -> None:
    store = FolderStore(str(tmp_path / "kept"))
    ask(sharded, store)
    sharded.put("config.json", lambda request: send(request, 503))
    for spec in (ask(sharded, store), ask(sharded, store, offline=True), ask(sharded, store, env={"HF_HUB_OFFLINE": "1"})):
        assert (spec.config["hidden_size"], spec.weights_bytes) == (64, 1120)
        assert spec.source.cached_s is not None
    with pytest.raises(CannotTellError):
        ask(sharded, FolderStore(str(tmp_path / "empty")), offline=True)


def test_a_damaged_copy_is_fetched_anew(sharded: Hubs, tmp_path) -> None:
    store = FolderStore(str(tmp_path / "kept"))
    ask(sharded, store)
    for file in (tmp_path / "kept").iterdir():
        data = file.read_bytes()
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    sharded.asked.clear()
    assert ask(sharded, store).weights_bytes == 1120
    assert sharded.files_asked().count("one.safetensors") == 1


def test_a_model_that_is_gone_is_not_replaced_by_its_copy(sharded: Hubs, tmp_path) -> None:
    store = FolderStore(str(tmp_path / "kept"))
    ask(sharded, store)
    sharded.put("config.json", lambda request: send(request, 404, b"Repository not found"))
    with pytest.raises(UsageError):
        ask(sharded, store)


def test_a_revision(sharded: Hubs) -> None:
    sharded.files[f"/{NAME}/resolve/v1.0/config.json"] = b'{"hidden_size": 1}'
    hub = Hub(sharded.url, "https://hub.example")
    assert fetch_model(NAME, RealSystem(env={}), hub, "v1.0").config == {"hidden_size": 1}
    with pytest.raises(UsageError) as caught:
        find_model(NAME, RealSystem(env={}), lambda name: None, Places(sharded.url, revision="a b"))
    assert caught.value.text.key == "error.model-revision-name"
