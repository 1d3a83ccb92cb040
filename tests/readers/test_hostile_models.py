"""Model files that somebody made to hurt: whatever stands in them is read, or refused in words; nothing crashes or fills the memory."""

from __future__ import annotations

import json
import math
import struct
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.errors import EnvcheckError
from envcheck.readers.adapter import read_adapter
from envcheck.readers.gguf import GGUF_LIMIT, TooShortError, parse_gguf
from envcheck.readers.gguf_config import config_of
from envcheck.readers.model import Places, find_model
from envcheck.readers.quantization_files import QUANTIZATION_FILES, quantization_of
from envcheck.readers.safetensors import HEADER_LIMIT, file_tensors, index_files

OFFLINE = Places("https://hub.example", offline=True)
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 1, 8, 2**31, 2**63, 2**64 - 1, 10**30])
ODD = st.none() | st.booleans() | NUMBERS | st.text(max_size=8)
JSON = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6)


def objects(*names: str):
    """Objects that have some of these fields, with anything in them, and perhaps others."""
    return st.dictionaries(st.sampled_from(names) | st.text(max_size=4), JSON, max_size=6)


CONFIGS = objects("model_type", "hidden_size", "num_hidden_layers", "quantization_config", "text_config", "vocab_size", "architectures")
HEADERS = st.dictionaries(
    st.text(max_size=12),
    st.fixed_dictionaries(
        {},
        optional={
            "dtype": st.sampled_from(["BF16", "F32", "Q4", ""]) | JSON,
            "shape": st.lists(NUMBERS, max_size=4) | JSON,
            "data_offsets": st.tuples(NUMBERS, NUMBERS) | st.sampled_from([[0, 0], [0, 8], [8, 16]]) | JSON,
        },
    ),
    max_size=4,
)
INDEXES = objects("metadata", "weight_map") | st.fixed_dictionaries(
    {"weight_map": st.dictionaries(st.text(max_size=4), st.sampled_from(["a.safetensors", "../a", "/a", ""]) | JSON, max_size=4)}
)


def bytes_of(value: object) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def file_of(header: object) -> bytes:
    data = bytes_of(header)
    return struct.pack("<Q", len(data)) + data


@given(CONFIGS, HEADERS, INDEXES | st.none(), st.sampled_from(QUANTIZATION_FILES), JSON)
def test_any_folder_is_a_model_or_refused(host, config, header, index, beside, stated):
    files = {"/m/config.json": bytes_of(config), "/m/a.safetensors": file_of(header), f"/m/{beside}": bytes_of(stated)}
    if index is not None:
        files["/m/model.safetensors.index.json"] = bytes_of(index)
    with suppress(EnvcheckError):
        spec = find_model("/m", host(files), lambda name: None, OFFLINE)
        assert spec.weights_bytes is None or 0 <= spec.weights_bytes < 1 << 60
        assert isinstance(spec.config, dict)


@given(HEADERS)
def test_any_header_lists_tensors_one_after_the_other_or_none(header):
    data = file_of(header)
    tensors = file_tensors(data)
    if tensors is not None:
        assert len(tensors) == len(header.keys() - {"__metadata__"})
        assert all(0 <= tensor.size_bytes < 1 << 50 for tensor in tensors)


@given(INDEXES)
def test_any_index_names_files_beside_it_or_none(index):
    assert not any("/" in name or name.startswith(".") for name in index_files(bytes_of(index)))


@given(objects("bits", "w_bit", "group_size", "q_group_size", "quant_method", "quantization", "zero_point"))
def test_any_file_of_another_tool_is_a_quantization_or_none(found):
    said = quantization_of(found)
    assert said is None or isinstance(said["quant_method"], str)


@given(objects("r", "rank_pattern", "target_modules", "modules_to_save", "base_model_name_or_path"), HEADERS)
def test_any_adapter_is_read_or_refused(host, config, header):
    files = {"/l/adapter_config.json": bytes_of(config), "/l/adapter_model.safetensors": file_of(header)}
    with suppress(EnvcheckError):
        adapter = read_adapter("l", "/l", host(files))
        assert 0 < adapter.rank <= 1 << 16
        assert adapter.size_bytes is None or adapter.size_bytes >= 0


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


LENGTHS = st.integers(0, 3) | st.sampled_from([1 << 20, (1 << 21) + 1, 1 << 40, (1 << 64) - 1])
VALUES = st.one_of(
    st.tuples(st.sampled_from([0, 4, 5, 6, 7, 10, 12]), st.binary(min_size=8, max_size=8)).map(lambda v: struct.pack("<I", v[0]) + v[1]),
    st.binary(max_size=9).map(lambda value: struct.pack("<I", 8) + text(value)),
    st.tuples(st.integers(0, 14), LENGTHS, st.binary(max_size=64)).map(lambda v: struct.pack("<IIQ", 9, v[0], v[1]) + v[2]),
)
KEYS = st.sampled_from(
    [b"general.architecture", b"llama.block_count", b"llama.attention.head_count", b"llama.attention.kv_lora_rank", b"split.count"]
)
ENTRIES = st.lists(st.tuples(KEYS | st.binary(max_size=6), VALUES).map(lambda entry: text(entry[0]) + entry[1]), max_size=5)
WIDTHS = st.lists(LENGTHS | st.just(256), max_size=5)
TENSORS = st.lists(
    st.tuples(st.binary(max_size=6), WIDTHS, st.integers(0, 42)).map(
        lambda t: text(t[0]) + struct.pack(f"<I{len(t[1])}QIQ", len(t[1]), *t[1], t[2], 0)
    ),
    max_size=4,
)


@given(ENTRIES, TENSORS, st.binary(max_size=8))
def test_any_gguf_is_read_or_refused(entries, tensors, behind):
    data = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries + tensors) + behind
    with suppress(TooShortError):
        header = parse_gguf(data)
        if header is not None:
            assert all(0 <= tensor.size_bytes <= 1 << 50 for tensor in header.tensors)
            json.dumps(config_of(header))


def array_of(kind: int, count: int) -> bytes:
    return text(b"a") + struct.pack("<IIQ", 9, kind, count)


HEAD = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
WORST = {
    "numbers": HEAD + array_of(0, GGUF_LIMIT - 64),
    "as many strings as are read": HEAD + array_of(8, 1 << 21),
    "numbers in many arrays": b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 16) + (array_of(0, 900) + bytes(900)) * (1 << 16),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_gguf_headers_take_a_bounded_share_of_memory(name):
    data = WORST[name] + bytes(max(0, GGUF_LIMIT - len(WORST[name])))
    tracemalloc.start()
    try:
        with suppress(TooShortError):
            parse_gguf(data)
        assert tracemalloc.get_traced_memory()[1] < 128 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("counts", [((1 << 21) + 1,), (1 << 20, 1 << 20, 1)])
def test_more_strings_than_any_vocabulary_are_not_walked_through(counts):
    arrays = b"".join(array_of(8, count) + bytes(8 * count) for count in counts)
    assert parse_gguf(b"GGUF" + struct.pack("<IQQ", 3, 0, len(counts)) + arrays) is None


@pytest.mark.parametrize("entry", [b'"%06d":{},', b'"%06d":{"dtype":"F32","shape":[1,1,1,1],"data_offsets":[0,0]},'])
def test_the_worst_safetensors_headers_take_a_bounded_share_of_memory(entry):
    count = min(HEADER_LIMIT // len(entry % 0), 999_999) - 1
    body = b"{" + b"".join(entry % number for number in range(count)).rstrip(b",") + b"}"
    data = struct.pack("<Q", len(body)) + body
    tracemalloc.start()
    try:
        tensors = file_tensors(data)
        assert tracemalloc.get_traced_memory()[1] < 512 << 20
    finally:
        tracemalloc.stop()
    assert tensors is None or math.fsum(tensor.size_bytes for tensor in tensors) == 0
