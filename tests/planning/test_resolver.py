"""A plan's requirements against the package index that this machine is configured for: metadata only, no wheel is fetched."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from uv import find_uv_bin

from envcheck.matrix.load import Matrix

pytestmark = pytest.mark.resolver
UV = find_uv_bin()

# release, driver: the oldest maintained or most common branch that its CUDA major runs on
PLANS = {"0.8.5.post1": "535.183.01", "0.11.0": "535.183.01", "0.19.1": "535.183.01", "0.33.0": "580.95.05"}
# Brings its own libraries for both majors side by side, whichever is asked for: its base package requires one, its extra the other.
OF_BOTH_MAJORS = ("nvidia-cutlass-dsl-libs-",)

Resolved = dict[str, dict[str, Version]]


def resolve(requirements: tuple[str, ...], folder: Path) -> dict[str, Version]:
    """What uv would install; its index is that of the environment or of its own configuration."""
    command = [UV, "pip", "compile", "--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_35"]
    command += ["--no-header", "--no-annotate", "--no-python-downloads", "-"]
    asked = "\n".join(requirements) + "\n"
    done = subprocess.run(command, input=asked, cwd=folder, env=dict(os.environ), capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    pins = (line.split("==", 1) for line in done.stdout.splitlines() if "==" in line)
    return {canonicalize_name(name): Version(re.split(r"[ ;]", version, maxsplit=1)[0]) for name, version in pins}


@pytest.fixture(scope="module")
def asked(plan_for: Callable[..., Any], host_of: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """The requirements of each plan's uv command."""
    found = {}
    for release, driver in PLANS.items():
        planned = plan_for(host_of("NVIDIA A100-SXM4-80GB", "8.0", driver), vllm=release)
        (line,) = [argv for argv in planned.argv("uv") if argv[:3] == ("uv", "pip", "install")]
        assert line[3] == "--python"
        found[release] = line[5:]
        assert not [argument for argument in found[release] if argument.startswith("-")], "an option that this test does not hand on"
    return found


@pytest.fixture(scope="module")
def resolved(asked: dict[str, tuple[str, ...]], tmp_path_factory: pytest.TempPathFactory) -> Resolved:
    """All plans resolved, side by side, since the index takes most of the time."""
    folder = tmp_path_factory.mktemp("resolver")
    with ThreadPoolExecutor(len(asked)) as pool:
        return dict(zip(asked, pool.map(lambda wanted: resolve(wanted, folder), asked.values()), strict=True))


def majors(packages: dict[str, Version]) -> set[int]:
    """The CUDA majors of the library wheels: CUDA 12's carry it in their names, CUDA 13's runtime in its version."""
    named = [re.search(r"-cu(\d\d)$", name) for name in packages if name.startswith("nvidia-") and not name.startswith(OF_BOTH_MAJORS)]
    found = {int(match[1]) for match in named if match}
    if "nvidia-cuda-runtime" in packages:
        found.add(packages["nvidia-cuda-runtime"].major)
    return found


@pytest.mark.parametrize("release", PLANS)
def test_torch_is_exactly_the_pin(resolved: Resolved, matrix: Matrix, release: str) -> None:
    record = matrix.release(release)
    assert record is not None
    assert record.torch_pin is not None
    assert resolved[release]["vllm"] == Version(release)
    assert resolved[release]["torch"] == Version(record.torch_pin)


@pytest.mark.parametrize("release", PLANS)
def test_cuda_libraries_are_of_the_one_major_of_the_wheel(resolved: Resolved, matrix: Matrix, release: str) -> None:
    record = matrix.release(release)
    build = record.build("x86_64") if record else None
    assert build is not None
    assert majors(resolved[release]) == {build.cuda_major}


@pytest.mark.parametrize("release", PLANS)
def test_bounds_of_the_plan_and_of_the_metadata_are_obeyed(
    resolved: Resolved, asked: dict[str, tuple[str, ...]], matrix: Matrix, release: str
) -> None:
    record = matrix.release(release)
    assert record is not None
    bounds = {**record.record.requires, **record.record.constraints}
    assert all(f"{package}{bound}" in asked[release] for package, bound in record.record.constraints.items())
    wanted = SpecifierSet(f"{record.record.requires['transformers']},{bounds['transformers']}")
    assert wanted.contains(resolved[release]["transformers"])
    for package, bound in record.record.requires.items():
        if package in resolved[release]:  # some are wanted only on another machine
            assert SpecifierSet(bound, prereleases=True).contains(resolved[release][package]), package


@pytest.mark.parametrize("release", ["0.8.5.post1", "0.11.0"])
def test_without_its_bound_transformers_5_would_come(asked: dict[str, tuple[str, ...]], tmp_path: Path, release: str) -> None:
    # the reason why the bound is there: if this fails, the record can go
    bare = tuple(requirement for requirement in asked[release] if not requirement.startswith("transformers"))
    assert len(bare) < len(asked[release])
    assert resolve(bare, tmp_path)["transformers"].major >= 5
