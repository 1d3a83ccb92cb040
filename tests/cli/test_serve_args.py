"""vLLM's own arguments on our command line, and GPUs by name."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envcheck.cli.cards import host_of_cards
from envcheck.cli.serve_args import parse_serve_args, typed
from envcheck.errors import UsageError
from envcheck.matrix.load import load

MATRIX = load()


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("8192", 8192),
        ("-1", -1),
        ("0.9", 0.9),
        ("1e-3", 0.001),
        ("true", True),
        ("False", False),
        ("auto", "auto"),
        ("1.2.3", "1.2.3"),
        ("", ""),
        ("nan", "nan"),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_values_are_typed_as_vllm_reads_them(value: str, result: object) -> None:
    assert typed(value) == result
    assert type(typed(value)) is type(result)


def test_switches_values_and_negations() -> None:
    words = ["--max-model-len", "8192", "--enforce-eager", "--gpu-memory-utilization=0.85", "--no-enable-prefix-caching", "--seed", "-1"]
    assert parse_serve_args(words, ["--host"]) == {
        "max_model_len": 8192,
        "enforce_eager": True,
        "gpu_memory_utilization": 0.85,
        "enable_prefix_caching": False,
        "seed": -1,
    }


@pytest.mark.parametrize("words", [["stray"], ["-x"], ["--"], ["--a b"], ["--$(x)", "1"], ["--ofline"]])
def test_what_is_no_argument_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_serve_args(words, ["--offline"])


@given(st.lists(st.text(max_size=20), max_size=5))
def test_any_words_are_arguments_or_a_usage_error(words: list[str]) -> None:
    with suppress(UsageError):
        assert all(name.replace("_", "").replace(".", "").isascii() for name in parse_serve_args(words, ["--offline"]))


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("NVIDIA A10", "NVIDIA A10", 1),
        ("A10 x2", "NVIDIA A10", 2),
        ("A10x2", "NVIDIA A10", 2),
        ("2 x A10", "NVIDIA A10", 2),
        ("8x H20", "NVIDIA H20", 8),
        ("H20 x 8", "NVIDIA H20", 8),
        ("H20 ×8", "NVIDIA H20", 8),
        ("GTX 1080", "NVIDIA GeForce GTX 1080", 1),
        ("rtx 4090", "NVIDIA GeForce RTX 4090", 1),
        ("L20X", "NVIDIA L20X", 1),
    ],
)
def test_cards_by_name_and_number(text: str, name: str, count: int) -> None:
    gpus = host_of_cards(text, MATRIX).gpus
    assert isinstance(gpus, list)
    assert [gpu.name for gpu in gpus] == [name] * count
    assert [gpu.index for gpu in gpus] == list(range(count))


@given(st.text(max_size=60))
def test_any_text_is_cards_or_a_usage_error(text: str) -> None:
    with suppress(UsageError):
        assert host_of_cards(text, MATRIX).gpus


def test_several_words_short_names_and_what_stays_text() -> None:
    words = ["-tp", "2", "--lora-modules", "a=/x", "b=/y", "--revision", "0123", "--served-model-name", "one", "2"]
    assert parse_serve_args(words, [], lambda: MATRIX.flags) == {
        "tensor_parallel_size": 2,
        "lora_modules": ["a=/x", "b=/y"],
        "revision": "0123",
        "served_model_name": ["one", "2"],
    }


@pytest.mark.parametrize("words", [["--max-model-len", "1", "2"], ["-zz", "1"], ["--enforce-eager", "a", "b"]])
def test_several_words_behind_what_takes_one_are_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_serve_args(words, [], lambda: MATRIX.flags)
