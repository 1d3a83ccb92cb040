"""`envcheck size` with a load: served or not, what else would serve it, and numbers that are none."""

from __future__ import annotations

import json

import msgspec
import pytest

from envcheck.render.jsonsize import CardsOut, SizeCommandOut
from envcheck.render.layout import cells

QWEN = "Qwen/Qwen2.5-7B-Instruct"


@pytest.fixture
def run(envcheck):
    """`run(*words)`: status, standard output, standard error."""
    return lambda *words: envcheck("size", *words, "--offline", "--lang", "en")


@pytest.fixture
def answer(run):
    """`answer(*words)`: the JSON by its published type."""
    return lambda *words: msgspec.json.decode(run(*words, "--json")[1], type=SizeCommandOut)


def test_a_load_that_is_served_needs_no_steps(answer):
    found = answer(QWEN, "--gpu", "H20", "--vllm", "0.14.1", "--concurrency", "8", "--context", "4096")
    assert found.relief.asked_for
    assert found.relief.steps == []


def test_what_serves_the_load_is_served_when_asked_for(answer):
    load = ("--gpu", "NVIDIA L20", "--vllm", "0.14.1", "--concurrency", "64", "--context", "8K")
    found = answer(QWEN, *load)
    assert not found.relief.asked_for
    assert found.relief.served
    typed = [word for name, value in found.suggested.serve_args.items() for word in ("--" + name.replace("_", "-"), str(value))]
    assert answer(QWEN, *load, *typed).relief.asked_for


def test_a_load_that_nothing_serves_is_status_1_and_names_how_many_cards_do(run, answer):
    words = (QWEN, "--gpu", "NVIDIA A10", "--vllm", "0.14.1", "--concurrency", "16", "--context", "8192")
    assert run(*words)[0] == 1
    found = answer(*words)
    assert [card.count for card in found.cards] == [2]
    again = answer(QWEN, "--gpu", "NVIDIA A10 x2", *words[3:])
    assert again.relief.served


def test_ranks_that_do_not_divide_are_said_beside_the_memory(run, answer):
    found = answer("Qwen/Qwen3-8B", "--gpu", "H20 x8", "--vllm", "0.19.1", "--tensor-parallel-size", "3")
    assert [finding.code for finding in found.findings] == ["parallel-size-invalid"]
    assert "--tensor-parallel-size 8" in run("Qwen/Qwen3-8B", "--gpu", "H20 x8", "--vllm", "0.19.1", "--tensor-parallel-size", "3")[1]


def test_a_card_without_code_is_said_beside_the_memory(answer):
    found = answer("Qwen/Qwen3-8B", "--gpu", "Tesla P100-PCIE-16GB", "--vllm", "0.19.1")
    assert {finding.code for finding in found.findings} & {"gpu-too-old", "gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build"}


def test_an_unchecked_catalogue_entry_is_called_so(run):
    assert "NOT checked" in run("Qwen/QwQ-32B", "--gpu", "H20", "--vllm", "0.19.1")[1]
    assert "NOT checked" not in run(QWEN, "--gpu", "H20", "--vllm", "0.19.1")[1]


@pytest.mark.parametrize(
    "words",
    [
        ("--max-model-len", "abc"),
        ("--max-model-len", "0"),
        ("--gpu-memory-utilization", "5"),
        ("--gpu-memory-utilization", "0"),
        ("--gpu-memory-utilization", "much"),
        ("--max-num-seqs", "x"),
        ("--max-num-seqs", "1.5"),
        ("--tensor-parallel-size", "two"),
        ("--cpu-offload-gb", "ten"),
        ("--context", "abc"),
        ("--context", "400K"),
    ],
)
def test_a_number_that_is_none_is_a_usage_error(run, words):
    status, out, err = run(QWEN, "--gpu", "H20", *words)
    assert (status, out) == (2, "")
    assert words[0] in err


@pytest.mark.parametrize("words", [("--max-model-len", "8k"), ("--max-model-len", "auto"), ("--max-model-len", "-1")])
def test_lengths_as_vllm_takes_them(run, words):
    assert run(QWEN, "--gpu", "H20", "--vllm", "0.19.1", *words)[0] == 0


def test_which_card_names_cards_that_the_sizer_agrees_with(run, answer):
    words = (QWEN, "--vllm", "0.19.1", "--concurrency", "32", "--context", "8K")
    found = msgspec.json.decode(run(*words, "--which-card", "--json")[1], type=CardsOut)
    assert [card.count for card in found.cards] == sorted(card.count for card in found.cards)
    assert any(card.mainland_variant for card in found.cards)
    for card in found.cards[:3]:
        again = answer(*words, "--gpu", f"{card.name} x{card.count}")
        assert again.relief.served, card


def test_which_card_excludes_a_card(run):
    assert run(QWEN, "--which-card", "--gpu", "H20")[0] == 2


def test_the_json_has_a_schema(envcheck):
    for words in ((), ("--which-card",)):
        assert "properties" in json.dumps(json.loads(envcheck("size", "--schema", *words)[1]))


def test_who_else_holds_memory_is_named(run, tmp_path):
    host = {
        "gpus": [{"index": 0, "name": "NVIDIA GeForce RTX 3090", "memory_mib": 24576, "memory_free_mib": 20000}],
        "processes": [{"pid": 4711, "gpu": 0, "memory_mib": 4150, "name": "python"}],
    }
    path = tmp_path / "host.json"
    path.write_text(json.dumps(host), encoding="utf-8")
    out = run(QWEN, "--host", str(path), "--vllm", "0.14.1")[1]
    assert "python (4711): 4150 MiB" in out
    share = float(out.split("--gpu-memory-utilization ")[1].split()[0])
    assert share * 23.56 * 1024 < 20000  # of 24 GiB, CUDA sees 23.56


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "words",
    [
        (QWEN, "--gpu", "NVIDIA A10", "--vllm", "0.14.1", "--concurrency", "16", "--context", "8192"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "--gpu", "NVIDIA A10", "--vllm", "0.23.0", "--concurrency", "8", "--context", "8K"),
        (QWEN, "--which-card", "--vllm", "0.19.1"),
        ("Qwen/Qwen3-32B", "--gpu", "NVIDIA L20", "--vllm", "0.19.1"),
    ],
)
def test_no_line_is_wider_than_a_terminal(envcheck, words, lang):
    out = envcheck("size", *words, "--offline", "--lang", lang)[1]
    assert max(cells(line) for line in out.splitlines() if "`" not in line) <= 80


@pytest.mark.parametrize(("vllm", "named"), [("0.9.2", True), ("0.19.1", False)])
def test_folklore_is_named_of_the_releases_it_is_about(answer, vllm, named):
    # V0, whose cache is said to grow on demand, went with 0.11.0.
    found = answer("meta-llama/Llama-3.1-8B-Instruct", "--gpu", "NVIDIA A10", "--vllm", vllm)
    assert found.failure.kind == "kv-too-small"
    assert ("v0-grows-kv" in [claim.id for claim in found.claims]) is named


def test_without_a_load_each_suggested_argument_says_what_it_frees(answer):
    found = answer("meta-llama/Llama-3.1-8B-Instruct", "--gpu", "NVIDIA A10", "--vllm", "0.19.1")
    (step,) = found.steps
    length = found.suggested.serve_args["max_model_len"]
    assert (step.argument, step.value, step.missing_gib) == ("max_model_len", length, 0)
    # 32 layers x 8 heads x 128 x 2 x 2 bytes a token, of the context of 131,072 tokens.
    assert step.frees_gib == pytest.approx((131072 - length) * 131072 / 2**30, abs=0.02)
    assert answer(QWEN, "--gpu", "NVIDIA H20", "--vllm", "0.19.1").steps == []
