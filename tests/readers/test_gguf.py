"""GGUF headers, written here as the format's description says, and read back."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.errors import CannotTellError, EnvcheckError, InputError
from envcheck.readers.gguf import TooShortError, parse_gguf
from envcheck.readers.gguf_config import config_of
from envcheck.readers.model import Places, find_model

U32, FLOAT, STRING, ARRAY = 4, 6, 8, 9
F32, F16, Q4_K, Q6_K = 0, 1, 12, 14
ONLINE = Places("https://hub.example")


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key: str, value: int | str | float | list[int] | list[str]) -> bytes:
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", FLOAT, value)
    if isinstance(value, int):
        return text(key) + struct.pack("<II", U32, value)
    kind = STRING if value and isinstance(value[0], str) else U32
    items = b"".join(text(item) if isinstance(item, str) else struct.pack("<I", item) for item in value)
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) + items


def tensor(name: str, widths: tuple[int, ...], kind: int) -> bytes:
    return text(name) + struct.pack(f"<I{len(widths)}QIQ", len(widths), *widths, kind, 0)


def gguf(values: dict[str, object], tensors: list[bytes], version: int = 3) -> bytes:
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    return head + b"".join(entry(key, value) for key, value in values.items()) + b"".join(tensors)


VALUES = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.embedding_length": 512,
    "llama.feed_forward_length": 1024,
    "llama.context_length": 8192,
    "llama.attention.head_count": 8,
    "llama.attention.head_count_kv": [2, 4],
    "llama.rope.freq_base": 500000.0,
    "tokenizer.ggml.tokens": ["a", "bc", "def"],
}
TENSORS = [
    tensor("token_embd.weight", (512, 1000), Q4_K),
    tensor("output.weight", (512, 1000), Q6_K),
    tensor("blk.0.attn_norm.weight", (512,), F32),
    tensor("blk.1.attn_norm.weight", (512,), F32),
    tensor("blk.0.ffn_up.weight", (512, 1024), F16),
]
# A block of 256 weights takes 144 bytes as Q4_K and 210 as Q6_K (llama.cpp, ggml-common.h).
EMBEDDING, HEAD, NORM, UP = 512 * 1000 // 256 * 144, 512 * 1000 // 256 * 210, 512 * 4, 512 * 1024 * 2


def test_what_a_header_says():
    header = parse_gguf(gguf(VALUES, TENSORS))
    assert [found.size_bytes for found in header.tensors] == [EMBEDDING, HEAD, NORM, NORM, UP]
    assert header.tensors[0].shape == (1000, 512)
    assert header.values["tokenizer.ggml.tokens"] == 3


def test_the_configuration_it_stands_for():
    config = config_of(parse_gguf(gguf(VALUES, TENSORS)))
    assert config["quantization_config"] == {"quant_method": "gguf"}
    assert (config["model_type"], config["num_hidden_layers"], config["hidden_size"], config["vocab_size"]) == ("llama", 2, 512, 1000)
    assert (config["num_attention_heads"], config["num_key_value_heads"], config["intermediate_size"]) == (8, 4, 1024)
    assert (config["max_position_embeddings"], config["tie_word_embeddings"]) == (8192, False)
    assert config_of(parse_gguf(gguf(VALUES, [TENSORS[0]])))["tie_word_embeddings"] is True


def test_latent_attention():
    values = {
        "general.architecture": "deepseek2",
        "deepseek2.attention.kv_lora_rank": 512,
        "deepseek2.attention.key_length": 576,
        "deepseek2.attention.value_length": 512,
        "deepseek2.attention.key_length_mla": 192,
        "deepseek2.attention.value_length_mla": 128,
        "deepseek2.rope.dimension_count": 64,
    }
    config = config_of(parse_gguf(gguf(values, [])))
    assert (config["model_type"], config["kv_lora_rank"]) == ("deepseek_v2", 512)
    # The published configuration of the model: 128 without rotation, 64 with, 128 of value.
    assert (config["qk_nope_head_dim"], config["qk_rope_head_dim"], config["v_head_dim"]) == (128, 64, 128)


@pytest.mark.parametrize("name", ["/m/model.gguf", "model.gguf"])
def test_a_gguf_file_is_a_model(host, name):
    system = host({"/m/model.gguf": gguf(VALUES, TENSORS) + bytes(10)})
    spec = find_model(name, system, lambda name: None, Places("https://hub.example", working_dir="/m"))
    assert spec.weights_bytes == EMBEDDING + HEAD + 2 * NORM + UP
    assert spec.stored.bytes_by_dtype == {"Q4_K": EMBEDDING, "Q6_K": HEAD, "F32": 2 * NORM, "F16": UP}
    assert ("blk.*.attn_norm.weight", 2) in {(group.name, group.count) for group in spec.stored.groups}


def test_a_header_longer_than_the_first_read(host):
    values = {**VALUES, "tokenizer.ggml.tokens": ["token" * 20] * 20_000}
    data = gguf(values, TENSORS)
    assert len(data) > 1 << 20
    assert find_model("/m.gguf", host({"/m.gguf": data}), lambda name: None, ONLINE).stored.tensors == len(TENSORS)


@pytest.mark.parametrize(
    "data",
    [b"", b"GG", b"PK\3\4" + bytes(80), gguf(VALUES, TENSORS)[:-1], gguf(VALUES, TENSORS, version=1), gguf(VALUES, TENSORS, version=4),
     gguf(VALUES, [tensor("x", (512,), 99)]), gguf(VALUES, [tensor("x", (100,), Q4_K)]),
     gguf(VALUES, [tensor("x", (1 << 40, 1 << 40), F32)]),
     b"GGUF" + struct.pack("<IQQ", 3, 1 << 63, 0), b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63),
     b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 63), gguf({}, [])[:-1]],
)  # fmt: skip
def test_what_is_no_gguf_file(host, data):
    with pytest.raises(InputError) as caught:
        find_model("/m.gguf", host({"/m.gguf": data}), lambda name: None, ONLINE)
    assert caught.value.text.key == "error.model-gguf"


def test_a_gguf_file_that_may_not_be_read(host):
    with pytest.raises(CannotTellError):
        find_model("/m.gguf", host(unreadable=["/m.gguf"]), lambda name: None, ONLINE)


@given(st.integers(0, len(gguf(VALUES, TENSORS)) - 1), st.binary(min_size=1, max_size=12))
def test_any_damage_is_read_or_refused(at, damage):
    data = gguf(VALUES, TENSORS)
    with contextlib.suppress(TooShortError):
        header = parse_gguf(data[:at] + damage + data[at + len(damage) :])
        if header is not None:
            assert all(0 <= found.size_bytes <= 1 << 50 for found in header.tensors)
            assert isinstance(config_of(header), dict)


@given(st.binary(max_size=300))
def test_any_bytes_behind_the_magic(host, data):
    with contextlib.suppress(EnvcheckError):
        find_model("/m.gguf", host({"/m.gguf": b"GGUF\3\0\0\0" + data}), lambda name: None, ONLINE)


def parts(count: int, **changes: object) -> dict[str, bytes]:
    """A model split as llama.cpp's gguf-split does it: only the first part has the model's values."""
    split = {"split.count": count, "split.tensors.count": len(TENSORS), **changes}
    paths = [f"/m/q-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
    return {
        path: gguf({**(VALUES if number == 0 else {}), "split.no": number, **split}, TENSORS[number::count])
        for number, path in enumerate(paths)
    }


@pytest.mark.parametrize("asked", [1, 2, 3])
def test_any_part_stands_for_the_whole_model(host, asked):
    spec = find_model(f"/m/q-0000{asked}-of-00003.gguf", host(parts(3)), lambda name: None, ONLINE)
    assert (spec.weights_bytes, spec.stored.files) == (EMBEDDING + HEAD + 2 * NORM + UP, 3)
    assert (spec.config["num_hidden_layers"], spec.config["vocab_size"], spec.config["tie_word_embeddings"]) == (2, 1000, False)


def test_a_missing_part_is_named(host):
    files = parts(3)
    del files["/m/q-00002-of-00003.gguf"]
    with pytest.raises(InputError) as caught:
        find_model("/m/q-00001-of-00003.gguf", host(files), lambda name: None, ONLINE)
    assert (caught.value.text.key, caught.value.text.params["part"]) == ("error.model-gguf-part", "/m/q-00002-of-00003.gguf")


def test_parts_that_hold_fewer_tensors_than_announced(host):
    with pytest.raises(InputError) as caught:
        find_model("/m/q-00001-of-00002.gguf", host(parts(2, **{"split.tensors.count": 9})), lambda name: None, ONLINE)
    assert caught.value.text.key == "error.model-gguf"


@pytest.mark.parametrize(
    ("name", "count"), [("/m/renamed.gguf", 2), ("/m/q-00001-of-00003.gguf", 2), ("/m/q-00001-of-00000.gguf", 0), ("/q-1-of-2.gguf", 2)]
)
def test_a_part_whose_name_does_not_lead_to_the_others(host, name, count):
    system = host({name: gguf({**VALUES, "split.count": count}, TENSORS)})
    with pytest.raises(InputError) as caught:
        find_model(name, system, lambda name: None, ONLINE)
    assert caught.value.text.key == "error.model-gguf-name"


def test_arrays_are_kept_only_up_to_a_bound():
    values = {f"k{number}": [7] * 4096 for number in range(200)}
    header = parse_gguf(gguf(values, []))
    kept = sum(len(value) for value in header.values.values() if isinstance(value, list))
    assert 0 < kept <= 1 << 18
    assert header.values["k199"] == 4096
