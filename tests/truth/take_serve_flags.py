"""Writes `raw_serve_flags.json` beside it: the arguments of `vllm serve` by release, cut out of the collected facts.

`python tests/truth/take_serve_flags.py FACTS`, where FACTS is the folder with `serve_flags_by_release.json` and `real_flags/`. It shares no
line with the conversion that makes `matrices/flags.json`, so that a fault there is seen.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

NAMES = "serve_flags_by_release.json"


def runs(values: list[Any]) -> list[list[Any]]:
    """Equal neighbours as [first, last, value], None left out."""
    found: list[list[Any]] = []
    for place, value in enumerate(values):
        if value is None:
            continue
        if found and found[-1][1] == place - 1 and found[-1][2] == value:
            found[-1][1] = place
        else:
            found.append([place, place, value])
    return found


def flags_of(path: Path) -> dict[str, Any]:
    """The arguments of a parser that was run."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["flags"]
    return found


def main() -> None:
    """Write the file."""
    folder = Path(sys.argv[1])
    source = json.loads((folder / NAMES).read_text(encoding="utf-8"))
    releases = list(source)
    names = sorted({flag for entry in source.values() for flag in entry["flags"]})
    variables = sorted({name for entry in source.values() for name in entry["env"]})
    parsers = {path.stem.removeprefix("flags-"): flags_of(path) for path in (folder / "real_flags").glob("flags-*.json")}
    order = [version for version in releases if version in parsers]
    typed = sorted({flag for flags in parsers.values() for flag in flags})

    def form(version: str, flag: str) -> dict[str, Any] | None:
        entry = parsers[version].get(flag)
        return {key: entry[key] for key in ("dest", "nargs", "choices") if entry[key] is not None} if entry else None

    facts = {
        "releases": releases,
        "registered": {flag: [r[:2] for r in runs([flag in source[v]["flags"] or None for v in releases])] for flag in names},
        "variables": {name: [r[:2] for r in runs([name in source[v]["env"] or None for v in releases])] for name in variables},
        "parsers": order,
        "forms": {flag: runs([form(version, flag) for version in order]) for flag in typed},
    }
    lines = []
    for key, value in facts.items():
        if isinstance(value, dict):
            rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in value.items())
            lines.append(f"{json.dumps(key)}: {{\n{rows}\n}}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    Path(__file__).with_name("raw_serve_flags.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
