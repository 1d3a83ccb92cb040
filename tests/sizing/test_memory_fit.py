"""The fit of the memory model's constants to logged runs, on runs made so that the right constants are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import load
from envcheck.sizing.release import MemoryTable
from envcheck.sizing.request import Sizer
from tests.benchmarks.memory_fit.constants import constants, fit, median, predict, with_value
from tests.benchmarks.memory_fit.leave_out import left_out, misses, table, unmeasured
from tests.benchmarks.memory_fit.logged import Logged, logged_runs, ranges
from tests.benchmarks.memory_scoreboard import guesses, row

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}


def learned(name: str, release: str, **memory: float) -> dict[str, Any]:
    """A record as `envcheck learn` writes it, of a Llama of 8B on an H100."""
    run = {"log": name, "vllm": release, "engine": "v1", "model": "meta/llama", "gpu": "NVIDIA H100 80GB HBM3", "gpus": 1, "settings": {}}
    return run | {"memory": {"total_gib": 79.19, **memory}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "meta__llama.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return tmp_path


@pytest.fixture
def sizer() -> Sizer:
    matrix = load()
    return Sizer(matrix.memory, matrix.gpu)


def read(folder: Path, sizer: Sizer, *records: dict[str, Any]) -> list[Logged]:
    path = folder / "learned.json"
    path.write_text(json.dumps({"schema": "envcheck.learned/1", "runs": list(records)}), encoding="utf-8")
    return logged_runs([path], folder, sizer)


def test_a_constant_comes_back_from_runs_made_with_it(folder: Path, sizer: Sizer) -> None:
    facts = sizer.table.facts
    (blank,) = read(folder, sizer, learned("a", "0.19.0", kv_gib=1.0))
    one = next(c for c in constants(facts) if c.records == "non_torch" and c.value == predict(blank, sizer.table)["non_torch"])
    other = MemoryTable(with_value(facts, one, one.value + 0.4))
    made = predict(blank, other)["kv"]
    runs = read(folder, sizer, *(learned(name, "0.19.0", kv_gib=made) for name in "abc"))
    fitted = fit(facts, runs, {one.name}, always=True)
    assert fitted.values[one.name] == pytest.approx(one.value + 0.4, abs=1e-6)
    assert fitted.runs[one.name] == ["a", "b", "c"]
    assert misses(fitted.facts, runs)[0].predicted_gib == pytest.approx(made)


def test_a_change_that_gains_nothing_is_not_made(folder: Path, sizer: Sizer) -> None:
    facts = sizer.table.facts
    (blank,) = read(folder, sizer, learned("a", "0.19.0", kv_gib=1.0))
    runs = read(folder, sizer, learned("a", "0.19.0", kv_gib=predict(blank, sizer.table)["kv"]))
    fitted = fit(facts, runs)
    assert all(fitted.values.get(one.name, one.value) == one.value for one in constants(facts))


def test_what_only_the_runs_left_out_decide_is_borrowed(folder: Path, sizer: Sizer) -> None:
    facts = sizer.table.facts
    truth = {
        release: predict(run, sizer.table)["kv"]
        for release in ("0.15.0", "0.19.0")
        for run in read(folder, sizer, learned("x", release, kv_gib=1.0))
    }
    runs = read(folder, sizer, *(learned(release, release, kv_gib=kv) for release, kv in truth.items()))
    everything = fit(facts, runs)
    out = left_out(facts, everything, runs, list(ranges(runs, ("0.18.0",))))
    assert [miss.fold for miss in out] == ["<0.18.0", ">=0.18.0"]
    # Seen, both runs are exact; with the other release's constants neither can be: its sampler takes 38 bytes a logit in place of 15.
    assert table(misses(facts, runs))["worst_share"] == pytest.approx(0, abs=1e-9)
    assert all(abs(miss.predicted_gib - miss.logged_gib) > 1 for miss in out)


def test_a_release_without_a_log_gets_no_measured_spread(sizer: Sizer) -> None:
    spreads = unmeasured(sizer.table.facts).spreads
    assert spreads
    assert all(spread.releases == "" for spread in spreads)
    narrow = [spread for spread in sizer.table.facts.spreads if "<" in spread.releases]
    assert not {(spread.term, spread.gib, spread.share, tuple(spread.gpus)) for spread in narrow} & {
        (spread.term, spread.gib, spread.share, tuple(spread.gpus)) for spread in spreads
    }


def test_the_published_rules_of_others(folder: Path, sizer: Sizer) -> None:
    # 0.9 x 79.19 = 71.271 GiB of budget, 15 GiB of weights; a dense model on one rank.
    (run,) = read(folder, sizer, learned("a", "0.19.0", kv_gib=50.0, weights_gib=15.0))
    promised = {name: found[0].predicted for name, found in guesses(sizer.table.facts, [run]).items()}
    assert promised["weights only"] == pytest.approx(71.271 - 15, abs=0.01)
    assert promised["GPUStack"] == pytest.approx(71.271 - 18 - 2, abs=0.01)
    assert promised["env-doctor"] == pytest.approx(79.19 - 18, abs=0.01)
    assert promised["llm-d planner"] == pytest.approx(71.271 - 15 - 5.5 - 0.15, abs=0.01)
    assert row(guesses(sizer.table.facts, [run])["weights only"])["over_promised"] == 1


def test_the_median_gives_way_to_weight() -> None:
    assert median([(1.0, 1.0), (2.0, 1.0), (9.0, 1.0)]) == 2.0
    assert median([(1.0, 1.0), (2.0, 1.0), (9.0, 3.0)]) == 9.0
