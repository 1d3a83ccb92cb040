"""Asks more releases than the gate does and keeps what they said: `python tests/real/record.py RELEASE…` from the checkout.

Each release takes a minute or two and 0.5 to 0.9 GB of disk beside the CPU build of torch. `recorded.json` keeps earlier answers of
releases that are not asked again; a table of all is printed.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("recorded.json")
MORE_HOSTS = "a100x4_nvlink_pairs rtx5090_570 v100_550"
# What `envcheck defaults` tells of a release on a GPU, and the configuration holds.
DEFAULTS = (
    "max_num_seqs",
    "max_num_batched_tokens",
    "gpu_memory_utilization",
    "block_size",
    "prefix_caching",
    "kv_cache_dtype",
    "chunked_prefill",
    "async_scheduling",
    "cudagraph_mode",
    "cudagraph_max",
)
SHOWN = 200
SECONDS = 900


def result(wish: dict[str, Any]) -> str:
    """What became of a wish, in a word and the release's own words."""
    if "command" not in wish:
        return "not planned"
    if wish["stage"] == "accepted":
        return "configured" if wish["configured"] else "parsed"
    words = " ".join(wish["message"].split())[:SHOWN]
    return f"refused by the {'parser' if wish['stage'] == 'parse' else 'configuration'}: {words}"


def asked(release: str) -> dict[str, Any]:
    """What a release says of every wish, and which faults that has."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "told.json"
        here = {**os.environ, "ENVCHECK_REAL_RELEASES": release, "ENVCHECK_REAL_HOSTS": MORE_HOSTS, "ENVCHECK_REAL_RECORD": str(path)}
        argv = [sys.executable, "-m", "pytest", "-m", "real", "tests/real/test_real_releases.py"]
        done = subprocess.run(argv, cwd=TOP, env=here, timeout=SECONDS, capture_output=True, text=True, check=False)
        if not path.exists():
            sys.exit(done.stdout[-3000:])
        told = json.loads(path.read_text(encoding="utf-8"))[release]
    return entry(told)


def entry(told: dict[str, Any]) -> dict[str, Any]:
    """The part that is kept."""
    kept = ("host", "model", "arguments", "command", "codes", "faults", "written")
    wishes = [{**{key: wish[key] for key in kept if wish.get(key)}, "result": result(wish)} for wish in told["wishes"]]
    for wish in wishes:
        if "written" in wish:  # the parser's word on the arguments as the person wrote them
            wish["written"] = " ".join(wish["written"].split())[:SHOWN]
    defaults = {
        host: said[:SHOWN] if isinstance(said, str) else {name: said[name] for name in DEFAULTS if said[name] is not None}
        for host, said in told["defaults"].items()
    }
    return {"on": str(datetime.datetime.now(datetime.timezone.utc).date()), "flags": told["flags"], "defaults": defaults, "wishes": wishes}


def table(recorded: dict[str, Any]) -> str:
    """One line a release: what became of the wishes, and the faults."""
    heads = (("wishes", 8), ("commands", 10), ("configured", 12), ("parsed", 8), ("refused as written", 20), ("faults", 8), ("flags", 7))
    lines = [f"{'vLLM':10}" + "".join(f"{head:>{width}}" for head, width in heads)]
    for release, told in recorded.items():
        results = [wish["result"] for wish in told["wishes"]]
        faults = sum(bool(wish.get("faults")) for wish in told["wishes"])
        refused = sum("written" in wish for wish in told["wishes"])
        commands = len(results) - results.count("not planned")
        taken = (results.count("configured"), results.count("parsed"))
        counts = (len(results), commands, *taken, refused, faults, len(told["flags"]))
        lines.append(f"{release:10}" + "".join(f"{count:{width}}" for count, (_, width) in zip(counts, heads, strict=True)))
    return "\n".join(lines)


def main() -> int:
    """Ask the releases named; 1 = a fault or a difference is among what is kept."""
    document = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    for release in sys.argv[1:]:
        document[release] = asked(release)
        ordered = dict(sorted(document.items(), key=lambda item: [int(part) for part in item[0].split(".")]))
        RECORDED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(table(document))
    return int(any(told["flags"] or any(wish.get("faults") for wish in told["wishes"]) for told in document.values()))


if __name__ == "__main__":
    sys.exit(main())
