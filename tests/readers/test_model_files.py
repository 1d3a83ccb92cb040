"""Configurations and weight files as bytes from anyone."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.errors import ExitCode, InputError
from envcheck.readers.model_config import CONFIG_LIMIT, parse_config
from envcheck.readers.safetensors import HEADER_LIMIT, header_length, index_bytes, tensors_bytes

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
