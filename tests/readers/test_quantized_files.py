"""Quantized checkpoints as their formats' own writers lay them out: what is read from the headers is what the files hold, to the byte."""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from pathlib import Path

import pytest

from envcheck.errors import InputError
from envcheck.readers.gguf import parse_gguf
from envcheck.readers.model import Places, find_model

HERE = Path(__file__).parent
SHAPES = sorted((HERE.parent / "sizing" / "shapes").glob("*.json"))
BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I64": 8, "I32": 4, "I8": 1, "U8": 1, "F8_E4M3": 1}
GGUF_BYTES = json.loads((HERE / "gguf" / "bytes.json").read_text(encoding="utf-8"))
ONLINE = Places("https://hub.example")


def safetensors(tensors: list[tuple[str, str, list[int]]]) -> bytes:
    """The first bytes of a file with these tensors one after the other."""
    listed, reached = {}, 0
    for name, kind, shape in tensors:
        end = reached + BYTES[kind] * math.prod(shape)
        listed[name] = {"dtype": kind, "shape": shape, "data_offsets": [reached, end]}
        reached = end
    header = json.dumps({"__metadata__": {"format": "pt"}, **listed}).encode()
    return struct.pack("<Q", len(header)) + header


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_headers_of_a_folder_tell_every_byte(host, path):
    fixture = json.loads(path.read_text(encoding="utf-8"))
    half = len(fixture["tensors"]) // 2
    files = {
        f"/m/model-{i}.safetensors": safetensors(part) for i, part in enumerate((fixture["tensors"][:half], fixture["tensors"][half:]))
    }
    spec = find_model("/m", host({"/m/config.json": json.dumps(fixture["config"]).encode(), **files}), lambda name: None, ONLINE)
    held = Counter()
    for _, kind, shape in fixture["tensors"]:
        held[kind] += BYTES[kind] * math.prod(shape)
    assert (spec.weights_basis, spec.weights_bytes, spec.stored.bytes_by_dtype) == ("headers", sum(held.values()), dict(held))
    assert sum(group.count * group.size_bytes for group in spec.stored.groups) == spec.weights_bytes
    assert sum(group.count for group in spec.stored.groups) == spec.stored.tensors == len(fixture["tensors"])


@pytest.mark.parametrize("name", sorted(GGUF_BYTES))
def test_a_gguf_header_tells_every_tensor_s_bytes(name):
    header = parse_gguf((HERE / "gguf" / name).read_bytes())
    assert {tensor.name: tensor.size_bytes for tensor in header.tensors} == GGUF_BYTES[name]


def test_kinds_by_their_names():
    header = parse_gguf((HERE / "gguf" / "kinds.gguf").read_bytes())
    assert {tensor.name: tensor.dtype for tensor in header.tensors} == {name: name.removeprefix("of.") for name in GGUF_BYTES["kinds.gguf"]}
    assert {tensor.shape for tensor in header.tensors} == {(3, 768)}


@pytest.mark.parametrize("name", ["llama-Q4_K_M", "llama-Q8_0", "llama-BF16"])
def test_a_gguf_file_is_a_model(host, name):
    spec = find_model("/m.gguf", host({"/m.gguf": (HERE / "gguf" / f"{name}.gguf").read_bytes()}), lambda name: None, ONLINE)
    assert spec.weights_bytes == sum(GGUF_BYTES[f"{name}.gguf"].values())
    said = {"model_type": "llama", "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2}
    said |= {"num_hidden_layers": 2, "vocab_size": 1000, "max_position_embeddings": 2048, "tie_word_embeddings": False}
    assert said.items() <= spec.config.items()


def test_a_file_that_the_package_split(host):
    parts = {f"/m/{name}": (HERE / "gguf" / name).read_bytes() for name in GGUF_BYTES if "-of-" in name}
    whole = sum(size for name in GGUF_BYTES if "-of-" in name for size in GGUF_BYTES[name].values())
    assert len(parts) == 3
    for path in parts:
        spec = find_model(path, host(parts), lambda name: None, ONLINE)
        assert (spec.weights_bytes, spec.stored.files, spec.config["num_hidden_layers"]) == (whole, 3, 2)
    for missing in parts:
        left = {path: data for path, data in parts.items() if path != missing}
        with pytest.raises(InputError):
            find_model(next(iter(left)), host(left), lambda name: None, ONLINE)
