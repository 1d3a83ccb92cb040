"""Every index wheel on every kind of GPU, driver and machine: the judge against an expectation worked out anew from the raw fact files.

Nothing of `envcheck` takes part in the expectation: the files are read as plain JSON, and the conditions under which a wheel runs are
written down once more, shortly. A fact that is decoded wrongly, a rule that asks the wrong question or a verdict that does not follow
from its findings shows here as a release, a GPU, a driver and two verdicts.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.specifiers import SpecifierSet

from envcheck.matrix.load import Matrix
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.check import judge

FACTS = Path(__file__).parents[2] / "matrices"
CAPABILITIES = ("6.1", "7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")
DRIVERS = (
    "470.161.03",
    "525.60.12",
    "525.60.13",
    "535.161.08",
    "550.144.03",
    "570.144",
    "575.57.08",
    "580.95.05",
    "595.84",
    "610.43.02",
)
ARCHES = ("x86_64", "aarch64")
Numbers = tuple[int, ...]
Record = dict[str, Any]


def read(name: str) -> Any:
    return json.loads((FACTS / name).read_text(encoding="utf-8"))


def numbers(text: str) -> Numbers:
    return tuple(map(int, text.split(".")))


RELEASES: list[Record] = [record for path in sorted((FACTS / "vllm").glob("*.json")) for record in read(f"vllm/{path.name}")]
ON_INDEX = [record for record in RELEASES if any("variant" not in build for build in record["builds"])]
TORCH, CUDA, ENGINES = read("torch.json"), read("cuda.json"), read("engines.json")
TRAITS = {trait["id"]: numbers(trait["value"]) for trait in read("traits.json") if "value" in trait}
FLOOR = {entry["major"]: numbers(entry["min_driver"]) for entry in CUDA["majors"]}
SHOWS = {entry["branch"]: numbers(entry["max_cuda"]) for entry in CUDA["branches"] if "max_cuda" in entry}
LAST_BRANCH = {
    numbers(cc): entry["last_branch"] for entry in CUDA["architectures"] if "last_branch" in entry for cc in entry["capabilities"]
}
INTEGRATED = {numbers(cc) for entry in CUDA["architectures"] for cc in entry.get("integrated", [])}


def runs(gpu: Numbers, code: list[str] | None, ptx: list[str] | None = None) -> bool:
    """Machine code runs within its major on the same or a later minor, on systems on a chip only where made for it; PTX runs upward."""
    if code is None:
        return True
    if gpu in INTEGRATED:
        return gpu in map(numbers, code)
    made = [c for c in map(numbers, code) if c not in INTEGRATED and c[0] == gpu[0] and c[1] <= gpu[1]]
    return bool(made) or any(numbers(c) <= gpu for c in ptx or [])


def torch_runs(release: Record, build: Record, gpu: Numbers) -> bool:
    """Whether some torch that the release takes, of the wheel's CUDA major, has code for the GPU."""
    asked = SpecifierSet(",".join(filter(None, (release["requires"].get("torch", ""), release.get("constraints", {}).get("torch", "")))))
    arch = build["arch"]
    for torch in TORCH:
        if torch["version"] not in asked:
            continue
        kinds = [(torch["index_cuda"].get(arch), torch["index_gpu_code"].get(arch), None)]
        kinds += [(kind["cuda"], kind["gpu_code"].get(arch), kind.get("ptx")) for kind in torch["variants"] if arch in kind["archs"]]
        if any(cuda and numbers(cuda)[0] == build["cuda_major"] and runs(gpu, code, ptx) for cuda, code, ptx in kinds):
            return True
    return False


def engine_runs(release: Record, gpu: Numbers) -> bool:
    engine = next(entry for entry in ENGINES if release["version"] in SpecifierSet(entry["releases"], prereleases=True))
    return any(gpu >= numbers(engine.get(f"{name}_min_capability", "0")) for name in engine["available"])


def hardware_runs(release: Record, build: Record, gpu: Numbers) -> bool:
    return runs(gpu, build.get("gpu_code"), build.get("gpu_code_ptx")) and torch_runs(release, build, gpu) and engine_runs(release, gpu)


def expected(build: Record | None, fits: bool, gpu: Numbers, driver: str) -> str:
    """The verdict for one wheel: `fits` says whether wheel, torch and engine serve the GPU at all."""
    branch = numbers(driver)[0]
    if build is None or not fits or numbers(driver) < FLOOR[build["cuda_major"]] or branch > LAST_BRANCH.get(gpu, branch):
        return "blocked"
    kernels = build.get("ptx_kernels", [])
    translated = any(gpu >= numbers(kernel["needed_from"]) and SHOWS[branch] < numbers(kernel["cuda"]) for kernel in kernels)
    if translated and gpu >= TRAITS["translated-attention-is-default-from"]:
        return "blocked"
    return "ready-with-warnings" if translated or gpu < TRAITS["bfloat16-min-capability"] else "ready"


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix(FACTS)


def answered(matrix: Matrix, release: Record, gpu: str, driver: str, arch: str) -> str:
    host = {
        "os": {"name": "Ubuntu 24.04.1 LTS", "arch": arch, "glibc": "2.39", "wsl": False},
        "python": {"version": f"{release['pythons'][-1]}.1"},
        "driver": {"version": driver},
        "gpus": [{"index": 0, "compute_capability": gpu}],
        "torch": None,
        "packages": {},
        "container": None,
    }
    return judge(msgspec.convert(host, HostReport), matrix, Request(vllm=release["version"]), remedies=False).verdict.value


@pytest.mark.parametrize("release", ON_INDEX, ids=lambda release: release["version"])
def test_every_verdict_of_a_release_follows_from_the_facts(matrix: Matrix, release: Record) -> None:
    wrong = []
    for arch, gpu in product(ARCHES, CAPABILITIES):
        build = next((one for one in release["builds"] if one["arch"] == arch and "variant" not in one), None)
        fits = build is not None and hardware_runs(release, build, numbers(gpu))
        for driver in DRIVERS:
            wanted, given = expected(build, fits, numbers(gpu), driver), answered(matrix, release, gpu, driver, arch)
            if wanted != given:
                wrong.append(f"{arch} {gpu} {driver}: {given}, should be {wanted}")
    assert wrong == []


def test_the_table_is_large_and_holds_every_verdict() -> None:
    verdicts = set()
    for release, gpu, driver in product(ON_INDEX, CAPABILITIES, DRIVERS):
        build = next((one for one in release["builds"] if one["arch"] == "x86_64" and "variant" not in one), None)
        fits = build is not None and runs(numbers(gpu), build.get("gpu_code"))
        verdicts.add(expected(build, fits, numbers(gpu), driver))
    assert len(ON_INDEX) * len(CAPABILITIES) * len(DRIVERS) * len(ARCHES) > 20_000
    assert verdicts == {"ready", "ready-with-warnings", "blocked"}


# Rows of the reference that people ask about most, as plain verdicts: an anchor for the expectation itself.
@pytest.mark.parametrize(
    ("version", "arch", "gpu", "driver", "verdict"),
    [
        ("0.19.1", "x86_64", "8.6", "535.161.08", "ready"),
        ("0.19.1", "x86_64", "8.0", "525.60.12", "blocked"),  # the floor of CUDA 12, by one
        ("0.19.1", "x86_64", "8.0", "525.60.13", "ready"),
        ("0.20.0", "x86_64", "8.6", "575.57.08", "blocked"),  # the first index wheel of CUDA 13
        ("0.20.0", "x86_64", "8.6", "580.95.05", "ready"),
        ("0.19.1", "x86_64", "7.0", "550.144.03", "ready-with-warnings"),  # no bfloat16
        ("0.20.0", "x86_64", "7.0", "580.95.05", "blocked"),  # no code for Volta any more
        ("0.19.1", "x86_64", "7.0", "595.84", "blocked"),  # nor does this driver serve it
        ("0.19.1", "x86_64", "6.1", "550.144.03", "blocked"),
        ("0.11.2", "x86_64", "12.0", "570.144", "ready"),
        ("0.14.1", "x86_64", "12.0", "570.144", "blocked"),  # its attention is PTX of CUDA 12.9
        ("0.14.1", "x86_64", "9.0", "570.144", "ready-with-warnings"),  # which Hopper needs in part
        ("0.9.0", "x86_64", "12.0", "575.57.08", "blocked"),
        ("0.33.0", "aarch64", "12.1", "580.95.05", "ready"),
        ("0.11.0", "aarch64", "8.0", "580.95.05", "blocked"),  # compiled for 8.7 and not for 8.0
        ("0.10.1.1", "aarch64", "9.0", "580.95.05", "blocked"),  # no wheel yet
    ],
)
def test_rows_of_the_reference(matrix: Matrix, version: str, arch: str, gpu: str, driver: str, verdict: str) -> None:
    release = next(record for record in ON_INDEX if record["version"] == version)
    assert answered(matrix, release, gpu, driver, arch) == verdict
