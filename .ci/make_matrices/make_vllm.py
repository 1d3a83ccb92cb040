"""matrices/vllm/<minor>.json."""

# ruff: noqa: D103  # a conversion script: its steps are small and named, and are called from one place

import re

from common import read, record, version_key, write
from packaging.requirements import Requirement
from packaging.version import Version
from vllm_builds import builds
from vllm_constraints import constraints
from vllm_page import SOURCE

from envcheck.matrix.records import VllmRelease

KEPT = re.compile(
    r"torch(vision|audio)?$|xformers$|transformers$|tokenizers$|numpy$|flashinfer|triton$|nvidia-|ray$|outlines|xgrammar$|"
    r"compressed-tensors$|openai$|pydantic$|cupy-cuda|vllm-flash-attn$|vllm-nccl"
)
LINUX = {"platform_system": "Linux", "sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.11", "extra": ""}


def requires(raw):
    """Package -> specifier that holds on Linux x86_64, CPython 3.11."""
    kept = {}
    for name, entries in sorted(raw.items()):
        if not KEPT.match(name):
            continue
        for entry in entries:
            wanted = Requirement(f"{name}{entry}")
            if wanted.marker is None or wanted.marker.evaluate(LINUX):
                kept[name] = str(wanted.specifier)
                break
    return kept


def pythons(row, raw):
    """CPython releases a release is built for: its own CMake list, else its wheels' tags."""
    if row["cmake_python"]:
        return row["cmake_python"]
    tags = {wheel["python_tag"] for wheel in raw["wheels"] if wheel["abi_tag"] != "abi3"}
    return sorted((f"3.{tag[3:]}" for tag in tags), key=lambda text: int(text[2:]))


def sources_of(row, raw, sdist):
    found = [f"{raw[arch]['wheel']}: METADATA, linked libraries, ELF symbol versions" for arch in ("x86_64", "aarch64") if raw.get(arch)]
    if row["sass_x86_64"] or row["sass_aarch64"] or row["fa2_sass_ptx"]:
        found.append("GPU code sections of the index wheel")
    if sdist:
        found.append(f"vllm-{row['version']}.tar.gz: CMakeLists.txt, setup.py, Dockerfile, release pipeline")
    elif raw["sdist"]:
        found.append(f"{raw['sdist']}: METADATA")
    return found or [f"the package index's listing of vllm {row['version']}"]


def page_sources(made):
    return [SOURCE] if any("url" in build for build in made) else []


def note_of(row, raw, sdist):
    notes = []
    if row["yanked"]:
        notes.append(f"Yanked: {row['yanked']}")
    if not raw["wheels"]:
        notes.append("No wheel on the package index: only a source distribution.")
    if not sdist:
        notes.append("No source distribution; what its pipeline says is taken from the neighbouring releases.")
    if any(re.match(r"vllm-[^-]+-\d", wheel["filename"]) for wheel in raw["wheels"]):
        notes.append("The index holds two builds; installers take the one with the build tag.")
    return " ".join(notes) or None


def make(target):
    rows = {row["version"]: row for row in read("vllm_matrix.json")["releases"]}
    raws = {row["version"]: row for row in read("vllm_releases.json")["releases"]}
    sdists = {row["version"]: row for row in read("vllm_builds.json")["releases"]}
    ordered = sorted(rows, key=version_key)
    filled_pythons, previous = {}, []
    for version in ordered:
        previous = pythons(rows[version], raws[version]) or (previous if raws[version]["wheels"] else [])
        filled_pythons[version] = previous
        rows[version]["pythons"] = previous
    all_builds = builds(ordered, rows, raws, sdists)
    minors = {}
    for version in ordered:
        row, raw = rows[version], raws[version]
        minor = ".".join(str(part) for part in Version(version).release[:2])
        wheel = raw.get("x86_64") or {}
        wanted = requires(wheel.get("requires", {}))
        added, why = constraints(version)
        minors.setdefault(minor, []).append(
            record(
                VllmRelease,
                sources=[*sources_of(row, raw, sdists.get(version)), *page_sources(all_builds[version]), *why],
                note=note_of(row, raw, sdists.get(version)),
                version=version,
                released=row["upload"][:10],
                yanked=bool(row["yanked"]),
                requires_python=row["requires_python"],
                pythons=filled_pythons[version],
                requires=wanted,
                constraints=added,
                builds=all_builds[version],
            )
        )
    for minor, records in minors.items():
        write(target / "vllm" / f"{minor}.json", records)
