"""Configurations and weight files as bytes from anyone."""

from __future__ import annotations

import contextlib
import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.errors import ExitCode, InputError
from envcheck.readers.model_config import CONFIG_LIMIT, parse_config
from envcheck.readers.safetensors import HEADER_LIMIT, file_tensors, header_length, index_bytes, index_files, tensors_bytes
from envcheck.readers.tensors import Tensor, stored_weights

# The header of a file with two tensors, as the safetensors library writes it: data_offsets count from the end of the header.
HEADER = (
    b'{"__metadata__":{"format":"pt"},"model.embed_tokens.weight":{"dtype":"BF16","shape":[4,8],"data_offsets":[0,64]},'
    b'"lm_head.weight":{"dtype":"BF16","shape":[4,8],"data_offsets":[64,128]}}'
)
FILE = len(HEADER).to_bytes(8, "little") + HEADER + bytes(128)
# The beginning of a published model.safetensors.index.json.
INDEX = b'{"metadata": {"total_size": 15231233024}, "weight_map": {"lm_head.weight": "model-00004-of-00004.safetensors"}}'


def test_a_configuration():
    assert parse_config(b'{"hidden_size": 4096}') == {"hidden_size": 4096}
    assert parse_config(b'\xef\xbb\xbf{"hidden_size": 4096}') == {"hidden_size": 4096}


def test_infinity_as_python_writes_it():
    assert parse_config(b'{"time_step_limit": [0.0, Infinity]}')["time_step_limit"][1] == float("inf")


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"", "error.config-not-json"),
        (b"{", "error.config-not-json"),
        (b'{"a": 1} trailing', "error.config-not-json"),
        (b"\xff\xfe\x00", "error.config-not-json"),
        (b"<html>404</html>", "error.config-not-json"),
        (b"[1]", "error.config-no-object"),
        (b"null", "error.config-no-object"),
        (b'"text"', "error.config-no-object"),
        (b" " * (CONFIG_LIMIT + 1), "error.config-too-large"),
    ],
)
def test_what_is_no_configuration(data, key):
    with pytest.raises(InputError) as caught:
        parse_config(data, "x/config.json")
    assert caught.value.text.key == key
    assert caught.value.text.params["name"] == "x/config.json"
    assert caught.value.exit_code == ExitCode.INVALID_INPUT


def test_deep_nesting_is_refused():
    with pytest.raises(InputError):
        parse_config(b'{"a":' * 100_000 + b"1" + b"}" * 100_000)


@given(
    st.binary(max_size=200)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(lambda v: json.dumps(v).encode())
)
def test_any_bytes_are_read_or_refused(data):
    with contextlib.suppress(InputError):
        assert isinstance(parse_config(data), dict)


def test_the_size_in_an_index():
    assert index_bytes(INDEX) == 15231233024


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b'{"metadata": []}', b'{"metadata": {"total_size": "big"}}', b'{"metadata": {"total_size": -5}}',
     b'{"metadata": {"total_size": true}}', b'{"metadata": {"total_size": 1e300}}'],
)  # fmt: skip
def test_an_index_that_says_none(data):
    assert index_bytes(data) is None


def test_the_size_in_a_header():
    assert header_length(FILE) == len(HEADER)
    assert tensors_bytes(FILE) == 128
    assert tensors_bytes(FILE[: 8 + len(HEADER)]) == 128  # the tensors themselves are not needed


@pytest.mark.parametrize("data", [b"", FILE[:7], FILE[:40], (1 << 62).to_bytes(8, "little") + b"{}", (2).to_bytes(8, "little") + b"[]"])
def test_what_is_no_weight_file(data):
    assert tensors_bytes(data) is None


@given(st.binary(max_size=300))
def test_any_bytes_have_a_size_or_none(data):
    for read in (index_bytes, header_length, tensors_bytes):
        value = read(data)
        assert value is None or value > 0
    assert tensors_bytes(len(data).to_bytes(8, "little") + data) is None or b"data_offsets" in data


@pytest.mark.parametrize(("length", "told"), [(1, None), (2, 2), (HEADER_LIMIT, HEADER_LIMIT), (HEADER_LIMIT + 1, None), (2**63, None)])
def test_no_header_is_shorter_than_an_object_or_longer_than_we_read(length, told):
    assert header_length(length.to_bytes(8, "little") + b"{}") == told


def file_of(listed: dict[str, object]) -> bytes:
    header = json.dumps(listed).encode()
    return len(header).to_bytes(8, "little") + header


def listed(begin: object, end: object, dtype: object = "BF16", shape: object = (4, 8)) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def test_the_tensors_in_a_header():
    found = {tensor.name: (tensor.dtype, tensor.shape, tensor.size_bytes) for tensor in file_tensors(FILE)}
    assert found == {"model.embed_tokens.weight": ("BF16", (4, 8), 64), "lm_head.weight": ("BF16", (4, 8), 64)}


@pytest.mark.parametrize(
    "tensors",
    [
        {"a": listed(0, 64), "b": listed(32, 96)},  # overlapping
        {"a": listed(0, 64), "b": listed(65, 96)},  # a hole
        {"a": listed(64, 0)},
        {"a": listed(-8, 0)},
        {"a": listed(0, 1 << 60)},
        {"a": listed(0, "64")},
        {"a": listed(0, 64, shape=[1] * 40)},
        {"a": listed(0, 64, dtype=5)},
        {"a" * 5000: listed(0, 64)},
        {"a": {"dtype": "BF16", "shape": [4]}},
    ],
)
def test_a_header_that_contradicts_itself(tensors):
    assert file_tensors(file_of(tensors)) is None


def test_files_an_index_names():
    assert index_files(INDEX) == ("model-00004-of-00004.safetensors",)
    for hostile in ("../x", "a/b", "a\\\\b", ".hidden", "", "a\\u0000b", "x" * 300):
        assert index_files(b'{"weight_map": {"t": "%s"}}' % hostile.encode()) == ()
    assert index_files(b'{"weight_map": [1]}') == ()


def test_tensors_alike_are_counted():
    tensors = [
        Tensor(f"model.layers.{layer}.mlp.experts.{expert}.up.weight", "F8_E4M3", (4, 8), 32) for layer in range(3) for expert in range(5)
    ]
    stored = stored_weights([tensors, [Tensor("lm_head.weight", "BF16", (4, 8), 64)]])
    assert (stored.tensors, stored.files, stored.total_bytes) == (16, 2, 15 * 32 + 64)
    assert stored.bytes_by_dtype == {"F8_E4M3": 480, "BF16": 64}
    assert [(group.name, group.count, group.size_bytes) for group in stored.groups] == [
        ("model.layers.*.mlp.experts.*.up.weight", 15, 32),
        ("lm_head.weight", 1, 64),
    ]


def test_too_many_kinds_of_tensors_are_summed_alone():
    stored = stored_weights([[Tensor(f"t{number}", "F32", (1,), 4) for number in range(10_000)]])
    assert (stored.groups, stored.total_bytes) == ((), 40_000)


@given(st.integers(8, len(FILE) - 1), st.binary(min_size=1, max_size=8))
def test_any_damage_to_a_header_is_read_or_refused(at, damage):
    tensors = file_tensors(FILE[:at] + damage + FILE[at + len(damage) :])
    assert tensors is None or all(tensor.size_bytes >= 0 for tensor in tensors)


def test_a_header_of_entries_that_say_nothing_is_refused_before_it_is_read():
    header = b"{" + b",".join(b'"%d":{}' % number for number in range(1 << 18)) + b"}"
    data = len(header).to_bytes(8, "little") + header
    tracemalloc.start()
    try:
        assert file_tensors(data) is None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
