"""Writes `raw_way_facts.json` beside it: which glibc each wheel asks for, and the CUDA release of each release's image.

`python tests/truth/take_way_facts.py FACTS`, as `take_facts.py`, whose facts are not repeated. It shares no line with the conversion that
makes `matrices/`, so that a fault there is seen.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]
MANYLINUX = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


def tagged(platform: str) -> str:
    """The glibc that a platform tag asks for; of several, the oldest."""
    newer = re.search(r"manylinux_(\d+)_(\d+)_", platform)
    return f"{newer[1]}.{newer[2]}" if newer else MANYLINUX[platform.partition("_")[0]]


def main() -> None:
    """Write the file."""
    folder = Path(sys.argv[1])
    rows = json.loads((folder / "vllm_matrix.json").read_text(encoding="utf-8"))["releases"]
    torches = json.loads((folder / "torch_releases.json").read_text(encoding="utf-8"))["releases"]
    releases = {
        row["version"]: {
            "tag": {wheel["arch"]: tagged(wheel["platform"]) for wheel in row["pypi_wheels"]},
            "needs": {arch: text.removeprefix("GLIBC_") for arch, text in (row["real_glibc"] or {}).items() if text},
            "image": row["docker_cuda"],
        }
        for row in rows
    }
    torch = {
        entry["version"]: {
            wheel["arch"]: tagged(wheel["platform_tag"]) for wheel in entry["wheels"] if "manylinux" in wheel["platform_tag"]
        }
        for entry in torches
    }
    parts = [
        f'"{name}": {{\n' + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in table.items()) + "\n}"
        for name, table in (("releases", releases), ("torch", torch))
    ]
    Path(__file__).with_name("raw_way_facts.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
