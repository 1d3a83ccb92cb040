"""Writes `raw_facts.json` beside it: what the truth table rests on, cut out of the collected facts and changed in nothing.

`python tests/truth/take_facts.py FACTS`, where FACTS is the folder with `vllm_matrix.json`, `torch_releases.json` and the others. It
shares no line with the conversion that makes `matrices/`, so that a fault there is seen.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

Record = dict[str, Any]
ARCHES = ("x86_64", "aarch64")


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def releases(folder: Path) -> list[Record]:
    """One entry a release: its wheels' machines, the CUDA runtime they link, the scan or the compilers' lists, and the torch it pins."""
    scans = {(entry["version"], entry["arch"]): entry["counts"] for entry in read(folder, "vllm_wheel_gpu_code")["entries"]}
    sources = {entry["version"]: entry for entry in read(folder, "vllm_builds")["releases"]}
    found = []
    for row in read(folder, "vllm_matrix")["releases"]:
        version, source = row["version"], sources.get(row["version"], {})
        entry = {
            "version": version,
            "upload": row["upload"],
            "yanked": row["yanked"],
            "archs": sorted({wheel["arch"] for wheel in row["pypi_wheels"]}),
            "pythons": row["cmake_python"],
            "requires_python": row["requires_python"],
            "cuda": row["main_cuda_version"],
            "cudart": row["pypi_cudart"],
            "torch": row["torch"],
            "scanned": {arch: scans[version, arch] for arch in ARCHES if (version, arch) in scans},
            "pipeline": row["release_wheels"],
            "cmake": source.get("cmake_cuda_supported_archs"),
            "setup": source.get("setup_supported_archs"),
        }
        found.append({key: value for key, value in entry.items() if value})
    return found


def torches(folder: Path) -> list[Record]:
    """One entry a release of torch: the index's builds as (CUDA, architectures), and by minor what the other builds list."""
    lists = {entry["torch"]: entry for entry in read(folder, "torch_cuda_variants")["releases"]}
    found = []
    for entry in read(folder, "torch_releases")["releases"]:
        minor = ".".join(entry["version"].split(".")[:2])
        index = {}
        for arch in ARCHES:
            build = entry.get(arch) or {}
            cuda = (build.get("version_py") or {}).get("cuda")
            index[arch] = {"cuda": cuda, "archs": build.get("arch_list_in_libtorch_python")} if cuda not in (None, "None") else None
        variants = {
            name: {"x86_64": listed["x86_64"], "aarch64": listed["aarch64"]}
            for name, listed in lists[minor]["arch_list_by_variant"].items()
        }
        offered = {"x86_64": lists[minor]["index_variants_x86_64"], "aarch64": lists[minor]["index_variants_aarch64_cuda"]}
        found.append({"version": entry["version"], "upload": entry["upload"], "index": index, "variants": variants, "offered": offered})
    return found


def main() -> None:
    """Write the file."""
    folder = Path(sys.argv[1])
    drivers = read(folder, "cuda_drivers")
    facts = {
        "collected": drivers["collected"],
        "releases": releases(folder),
        "torch": torches(folder),
        "floors": {entry["cuda_major"]: entry["min_driver_linux"] for entry in drivers["minor_version_compat"]},
        "shows": {entry["branch"]: entry["max_cuda_shown"] for entry in drivers["branch_to_nvidia_smi_cuda"]},
        "architectures": [{key: entry.get(key) for key in ("cc", "last_driver")} for entry in drivers["architecture_support"]],
        "isa": drivers["ptx_rule"]["ptx_isa_to_cuda"],
        "attention": [
            {key: entry[key] for key in ("version", "arch", "sass", "ptx")} for entry in read(folder, "vllm_wheel_gpu_code_fa2")["entries"]
        ],
    }
    lines = []
    for key, value in facts.items():
        if isinstance(value, list):
            rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in value)
            lines.append(f"{json.dumps(key)}: [\n{rows}\n]")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    Path(__file__).with_name("raw_facts.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
