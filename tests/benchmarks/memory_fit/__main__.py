"""Fit the constants of the memory model to logged runs and say how it does on runs it has not seen, as one JSON object.

    python -m tests.benchmarks.memory_fit --configs FOLDER CASES.json [LEARNED.json ...]

CASES is a list of cases from public reports; LEARNED what `envcheck learn --output` wrote. FOLDER holds the models' `config.json`, each
named after its model with `__` for `/`. Nothing is written: a changed constant goes into `matrices/memory.json` by hand, with its source.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from envcheck.matrix.load import load
from envcheck.sizing.request import Sizer
from tests.benchmarks.memory_fit.constants import constants, fit
from tests.benchmarks.memory_fit.leave_out import Miss, left_out, misses, table, term_table, unmeasured
from tests.benchmarks.memory_fit.logged import logged_runs, ranges

STEPS = ("0.8.0", "0.11.0", "0.17.0", "0.18.0", "0.20.0", "0.27.0")  # where the account of memory, or a kernel, changed


def main() -> None:
    """Print the fitted constants with the runs they rest on, and the errors seen and left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="CASES.json")
    parser.add_argument("--configs", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--matrix-dir", metavar="DIR")
    parser.add_argument("--verbose", action="store_true", help="also every run outside its interval, and the constants' runs")
    asked = parser.parse_args()
    matrix = load(asked.matrix_dir)
    facts = matrix.memory
    runs = logged_runs(asked.files, asked.configs, Sizer(facts, matrix.gpu, matrix.capability_trait("bfloat16-min-capability")))
    everything = fit(facts, runs)
    families = [(name, [run for run in runs if run.family == name]) for name in sorted({run.family for run in runs})]
    by_family = left_out(facts, everything, runs, families)
    by_release = left_out(unmeasured(facts), everything, runs, list(ranges(runs, STEPS)))
    out: dict[str, Any] = {
        "runs": len(runs),
        "constants": [
            {"name": one.name, "releases": getattr(facts, one.records)[one.place].releases, "now": one.value}
            | {"fitted": round(everything.values.get(one.name, one.value), 3), "runs": len(everything.runs[one.name])}
            | ({"from": everything.runs[one.name]} if asked.verbose else {})
            for one in constants(facts)
        ],
        "as_it_is": figures(misses(facts, runs), asked.verbose),
        "families_left_out": figures(by_family, asked.verbose),
        "releases_left_out": figures(by_release, asked.verbose),
    }
    print(json.dumps(out, indent=1, ensure_ascii=False))


def figures(found: list[Miss], verbose: bool) -> dict[str, Any]:
    """A list of errors as rounded figures."""
    out: dict[str, Any] = {key: round(value, 5) for key, value in table(found).items()}
    out["terms"] = {term: {key: round(value, 4) for key, value in row.items()} for term, row in term_table(found).items()}
    if verbose:
        outside = sorted((miss for miss in found if not miss.inside), key=lambda miss: -miss.share)
        out["outside"] = [
            f"{miss.run} ({miss.fold}): {miss.predicted_gib:.2f} [{miss.low_gib:.2f}, {miss.high_gib:.2f}], logged {miss.logged_gib:.2f}"
            for miss in outside
        ]
    return out


if __name__ == "__main__":
    main()
