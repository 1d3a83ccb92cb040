"""Count a pytest run from its JUnit file, as a JSON object of figures: all tests, skipped ones, and those of the marked kinds.

A kind is told by the files that hold it, so that a run which quietly left one out cannot look whole. Standard library only.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET  # the file was written by our own pytest a moment ago

KINDS = {
    "native": ("tests.system.test_nvml",),
    "resolver": ("tests.planning.test_resolver", "tests.planning.resolver."),
    "wheel": ("tests.packaging.test_wheel",),
    "real": ("tests.real.test_real_releases",),
}


def main() -> None:
    """Print the figures."""
    cases = list(ET.parse(sys.argv[1]).getroot().iter("testcase"))  # noqa: S314 (our own file)
    figures = {"tests.ran": len(cases), "tests.skipped": sum(case.find("skipped") is not None for case in cases)}
    for kind, prefixes in KINDS.items():
        figures[f"tests.{kind}"] = sum(case.get("classname", "").startswith(prefixes) for case in cases)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
