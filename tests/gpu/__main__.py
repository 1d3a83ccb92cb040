"""Every NVML fact beside `nvidia-smi`, the cost of the commands, and a recording: `tests/gpu/run [--out DIR]` on a GPU host.

Needs no root, no network and nothing but the checkout and its environment; takes a minute or two. Prints a PASS, FAIL or SKIP line for
each fact and a JSON summary last, also into DIR/summary.json (DIR = $OUT, else a temporary folder). Exit status 0 only when nothing
failed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gpucheck_compare import Result, compare
from gpucheck_runs import costs, probed, recorded, run
from gpucheck_smi import everything


def ask(arguments: Sequence[str]) -> tuple[int, str]:
    """`nvidia-smi` with these arguments: exit status and output."""
    done = run([shutil.which("nvidia-smi") or "nvidia-smi", *arguments], {"LC_ALL": "C"})
    return done.returncode, done.stdout


def results(out: Path) -> list[Result]:
    """All comparisons; with no `nvidia-smi` or no document, one failure that says so."""
    if shutil.which("nvidia-smi") is None:
        return [Result("nvidia-smi", "FAIL", None, None, "not on PATH: this script is for a host with a GPU")]
    try:
        found = compare(probed(), everything(ask))
        if any(result.verdict == "FAIL" for result in found):
            # Clocks, heat and other people's processes move between two readings; a wrong reader is wrong twice.
            found = compare(probed(), everything(ask))
        return [*found, recorded(out / "recording")]
    except (RuntimeError, ValueError, OSError) as error:
        return [Result("envcheck probe", "FAIL", None, None, str(error))]


def main() -> int:
    """Compare, measure, print; 0 when nothing failed."""
    parser = argparse.ArgumentParser(prog="tests/gpu/run", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT") or tempfile.mkdtemp(prefix="envcheck-gpu-")))
    parser.add_argument("--no-timing", action="store_true", help="leave out the runs that only measure")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    found = results(options.out)
    for result in found:
        print(result.line())
    counts = {verdict: sum(result.verdict == verdict for result in found) for verdict in ("PASS", "FAIL", "SKIP")}
    summary = {
        "counts": counts,
        "folder": str(options.out),
        "failed": [result._asdict() for result in found if result.verdict == "FAIL"],
        "skipped": [result.fact for result in found if result.verdict == "SKIP"],
        "cost": {} if options.no_timing else costs(),
        "seconds": round(time.monotonic() - start, 1),
    }
    text = json.dumps(summary, indent=1, default=str)
    (options.out / "summary.json").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0 if counts["PASS"] and not counts["FAIL"] else 1


if __name__ == "__main__":
    sys.exit(main())
