"""Hold figures against thresholds: `figures.py FILE NAME>=NUMBER…` with FILE a JSON object of figures; every one is printed.

Exit status 1 when a figure misses its threshold or is not there at all. Standard library only.
"""

from __future__ import annotations

import json
import operator
import re
import sys
from collections.abc import Callable
from pathlib import Path

COMPARE: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "==": operator.eq}


def flat(figures: dict[str, object], before: str = "") -> dict[str, float]:
    """Figures within figures by dotted names."""
    found: dict[str, float] = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            found |= flat(value, f"{before}{name}.")
        elif isinstance(value, (int, float)):
            found[before + name] = value
    return found


def misses(figures: dict[str, float], wanted: list[str]) -> list[str]:
    """Thresholds that do not hold, as written."""
    missed = []
    for text in wanted:
        found = re.fullmatch(r"([\w.]+)(>=|<=|==)([\d.]+)", text)
        if not found:
            sys.exit(f"no threshold: {text}")
        name, sign, number = found.groups()
        value = figures.get(name)
        holds = value is not None and COMPARE[sign](value, float(number))
        print(f"  {'ok  ' if holds else 'MISS'} {name} = {'nothing' if value is None else f'{value:g}'} (wanted {sign} {number})")
        missed += [] if holds else [text]
    return missed


def main() -> int:
    """Print the figures and say whether all thresholds hold."""
    figures = flat(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    named = {re.split(r"[<>=]=", text)[0] for text in sys.argv[2:]}
    for name in sorted(figures.keys() - named):
        print(f"       {name} = {figures[name]:g}")
    return 1 if misses(figures, sys.argv[2:]) else 0


if __name__ == "__main__":
    sys.exit(main())
