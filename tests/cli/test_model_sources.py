"""Where a model's configuration came from is said where it matters."""

from __future__ import annotations

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]
SAID = "put together from what others quote"


def test_a_configuration_in_doubt_is_said_to_be_one(envcheck: Run) -> None:
    words = ("size", "google/gemma-2-9b-it", "--gpu", "NVIDIA A10", "--offline")
    assert SAID in envcheck(*words)[2]
    assert SAID not in "".join(envcheck(*words, "-q")[1:])
    assert SAID not in envcheck("size", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "NVIDIA A10", "--offline")[2]


def test_a_gguf_file_of_a_hub_cannot_be_had_offline(envcheck: Run) -> None:
    status, _, err = envcheck("size", "acme/small-GGUF:Q4_K_M", "--gpu", "NVIDIA A10", "--offline")
    assert status == 3
    assert "acme/small-GGUF:Q4_K_M" in err
