"""The memory model and peers' published rules on the same logged runs.

    python -m tests.benchmarks.memory_scoreboard --configs FOLDER [--docs DOCS] CASES.json [LEARNED.json ...]

CASES, LEARNED and FOLDER are those of `python -m tests.benchmarks.memory_fit`. Prints the figures as one JSON object; with `--docs` writes
`memory.md` and `memory.zh-CN.md` there. Peers are given the weights that the server logged; the rules are the published ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from packaging.version import Version

from envcheck.matrix.load import load
from envcheck.model.memoryfacts import MemoryFacts
from envcheck.model.units import GIB
from envcheck.sizing.budget import rank_budget
from envcheck.sizing.interval import model_kind
from envcheck.sizing.question import Question, ask
from envcheck.sizing.release import MemoryTable
from envcheck.sizing.request import Sizer
from tests.benchmarks.memory_fit.__main__ import STEPS, figures
from tests.benchmarks.memory_fit.constants import fit
from tests.benchmarks.memory_fit.leave_out import left_out, misses, unmeasured
from tests.benchmarks.memory_fit.logged import Logged, logged_runs, ranges
from tests.benchmarks.memory_page import page

Rule = Callable[[Question, float, float], float]  # (question, total GiB, weights GiB of a GPU) → KV memory GiB
OURS = "envcheck"
OURS_WITH_WEIGHTS = "envcheck, weights as logged"


def planner(question: Question, total: float, weights: float) -> float:
    """llm-d planner: a constant of activation for each kind of model, a constant outside torch (src/planner/capacity_planner.py)."""
    activation = {"multimodal": 2.5, "experts": 8.0}.get(model_kind(question), 5.5)
    return question.settings.utilization * total - weights - activation - (0.15 if question.settings.tensor_ranks == 1 else 0.6)


def gpustack(question: Question, total: float, weights: float) -> float:
    """GPUStack: the claim is 1.2 x the weights and 2 GiB (docstring of its vLLM selector)."""
    return question.settings.utilization * total - 1.2 * weights - 2.0


def env_doctor(question: Question, total: float, weights: float) -> float:
    """env-doctor: what 1.2 x the weights leave of the card (its `model` command)."""
    return total - 1.2 * weights


def weights_only(question: Question, total: float, weights: float) -> float:
    """The rule of thumb: utilization x total less the weights."""
    return question.settings.utilization * total - weights


PEERS: dict[str, Rule] = {"llm-d planner": planner, "GPUStack": gpustack, "env-doctor": env_doctor, "weights only": weights_only}


class Guess(msgspec.Struct, frozen=True):
    """A rule's KV memory of a run beside what was logged, GiB."""

    predicted: float
    logged: float
    total: float


def guesses(facts: MemoryFacts, runs: list[Logged]) -> dict[str, list[Guess]]:
    """By rule, for every run whose log tells its weights and its KV memory."""
    table = MemoryTable(facts)
    found: dict[str, list[Guess]] = {name: [] for name in (OURS, OURS_WITH_WEIGHTS, *PEERS)}
    for run in runs:
        weights, kv = run.run.weights_gib, run.seen.get("kv")
        if weights is None or kv is None:
            continue
        question = ask(run.inputs, table)
        told = ask(msgspec.structs.replace(run.inputs, weights_gib=weights), table)
        total = (question.total or 0.0) / GIB
        values = {OURS: _ours(question), OURS_WITH_WEIGHTS: _ours(told)}
        values |= {name: rule(question, total, weights) for name, rule in PEERS.items()}
        for name, value in values.items():
            found[name].append(Guess(value, kv, run.run.total_gib))
    return found


def _ours(question: Question) -> float:
    rank = rank_budget(question, question.stages[0])
    return rank.kv / GIB if rank else 0.0


def row(found: list[Guess]) -> dict[str, float]:
    """Errors as shares of the logged KV memory and of the GPU's; how many runs were promised over 2 % of the GPU too much."""
    of_kv = sorted(abs(guess.predicted - guess.logged) / guess.logged for guess in found)
    of_gpu = sorted(abs(guess.predicted - guess.logged) / guess.total for guess in found)
    ninth = round(0.9 * (len(found) - 1))
    return {
        "n": len(found),
        "median_of_kv": round(statistics.median(of_kv), 5),
        "p90_of_kv": round(of_kv[ninth], 5),
        "median_of_gpu": round(statistics.median(of_gpu), 5),
        "p90_of_gpu": round(of_gpu[ninth], 5),
        "over_promised": sum(guess.predicted - guess.logged > 0.02 * guess.total for guess in found),
    }


def span(runs: list[Logged]) -> dict[str, str | float]:
    """Oldest and newest release, smallest and largest card (GiB) of the runs whose KV memory counts, and how many are of one sweep."""
    counted = [run for run in runs if "kv" in run.seen]
    releases = sorted({run.release for run in counted}, key=Version)
    totals = [run.run.total_gib for run in counted]
    sweep = sum("sweep" in run.run.group for run in counted)
    return {"oldest": releases[0], "newest": releases[-1], "smallest_gib": min(totals), "largest_gib": max(totals), "sweep": sweep}


def main() -> None:
    """Print the board, and write the pages where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="CASES.json")
    parser.add_argument("--configs", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--docs", type=Path, metavar="DOCS")
    asked = parser.parse_args()
    matrix = load(None)
    facts = matrix.memory
    runs = logged_runs(asked.files, asked.configs, Sizer(facts, matrix.gpu, matrix.capability_trait("bfloat16-min-capability")))
    everything = fit(facts, runs)
    families = [(name, [run for run in runs if run.family == name]) for name in sorted({run.family for run in runs})]
    board: dict[str, Any] = {
        "rules": {name: row(found) for name, found in guesses(facts, runs).items()},
        "as_it_is": figures(misses(facts, runs), verbose=False),
        "families_left_out": figures(left_out(facts, everything, runs, families), verbose=False),
        "releases_left_out": figures(left_out(unmeasured(facts), everything, runs, list(ranges(runs, STEPS))), verbose=False),
        "span": span(runs),
        "families": len(families),
        "releases": [name for name, _ in ranges(runs, STEPS)],
    }
    print(json.dumps(board, indent=1, ensure_ascii=False))
    if asked.docs:
        for name, lang in (("memory.md", "en"), ("memory.zh-CN.md", "zh")):
            (asked.docs / name).write_text(page(board, lang), encoding="utf-8")


if __name__ == "__main__":
    main()
