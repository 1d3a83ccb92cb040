"""The install commands of plans over forty hosts, resolved by the real uv without fetching a wheel.

What comes from the package index is asked of the index that this machine is configured for. Torch's index, its mirrors and the project's
release page are played by the loopback index beside this file, which the commands' own options then name.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version
from uv import find_uv_bin

from envcheck.model.stack import Stack

pytestmark = pytest.mark.resolver
UV = find_uv_bin()
TORCHES = json.loads((Path(__file__).parents[2] / "truth" / "raw_facts.json").read_text(encoding="utf-8"))["torch"]
TORCH = ("torch", "torchvision", "torchaudio")
NEWEST_LIBC = 40  # minor of the newest glibc that this uv has a platform for; a newer one takes the same wheels
# Compilers of a kernel language, with tools of their own CUDA release whatever the rest is of: what comes through them alone is theirs.
OF_A_COMPILER = ("nvidia-cutlass-dsl-libs-", "cuda-tile")

# GPU, compute capability, driver, Python, glibc, machine, cloud, release asked for
HOSTS: tuple[tuple[str, str, str, str, str, str, str, str | None], ...] = (
    ("NVIDIA H100 80GB HBM3", "9.0", "580.95.05", "3.12.3", "2.39", "x86_64", "", None),
    ("NVIDIA H100 80GB HBM3", "9.0", "570.133.20", "3.12.3", "2.35", "x86_64", "", None),
    ("NVIDIA H100 80GB HBM3", "9.0", "550.144.03", "3.10.12", "2.35", "x86_64", "", None),
    ("NVIDIA H200", "9.0", "575.57.08", "3.11.9", "2.39", "x86_64", "", "0.32.0"),
    ("NVIDIA H20", "9.0", "570.133.20", "3.10.12", "2.35", "x86_64", "aliyun", "0.32.0"),
    ("NVIDIA H20", "9.0", "535.183.01", "3.10.12", "2.32", "x86_64", "aliyun", None),
    ("NVIDIA A100-SXM4-80GB", "8.0", "535.161.08", "3.12.3", "2.35", "x86_64", "", None),
    ("NVIDIA A100-SXM4-80GB", "8.0", "535.161.08", "3.12.3", "2.35", "x86_64", "", "0.32.0"),
    ("NVIDIA A100-SXM4-80GB", "8.0", "535.161.08", "3.12.3", "2.35", "x86_64", "", "0.20.0"),
    ("NVIDIA A100-SXM4-80GB", "8.0", "470.161.03", "3.12.3", "2.31", "x86_64", "", None),
    ("NVIDIA A100-SXM4-80GB", "8.0", "470.161.03", "3.8.10", "2.31", "x86_64", "", "0.9.2"),
    ("NVIDIA A100-SXM4-80GB", "8.0", "525.60.13", "3.6.8", "2.28", "x86_64", "", None),
    ("NVIDIA A100-SXM4-80GB", "8.0", "525.60.13", "3.9.18", "2.17", "x86_64", "", None),
    ("NVIDIA A10", "8.6", "535.161.08", "3.10.12", "2.35", "x86_64", "tencent", None),
    ("NVIDIA A10", "8.6", "535.161.08", "3.10.12", "2.35", "x86_64", "tencent", "0.32.0"),
    ("NVIDIA A10", "8.6", "470.161.03", "3.10.12", "2.35", "x86_64", "aliyun", None),
    ("NVIDIA A10", "8.6", "470.161.03", "3.10.12", "2.35", "x86_64", "tencent", "0.8.5"),
    ("NVIDIA GeForce RTX 4090", "8.9", "550.120", "3.12.3", "2.39", "x86_64", "autodl", None),
    ("NVIDIA GeForce RTX 4090", "8.9", "550.120", "3.12.3", "2.39", "x86_64", "autodl", "0.24.0"),
    ("NVIDIA GeForce RTX 4090", "8.9", "610.43.02", "3.13.5", "2.41", "x86_64", "", None),
    ("NVIDIA L20", "8.9", "570.133.20", "3.10.12", "2.35", "x86_64", "aliyun", "0.28.0"),
    ("NVIDIA GeForce RTX 3090", "8.6", "535.183.01", "3.13.5", "2.41", "x86_64", "", "0.10.0"),
    ("NVIDIA GeForce RTX 3090", "8.6", "570.144", "3.14.0", "2.39", "x86_64", "", None),
    ("Tesla T4", "7.5", "535.161.08", "3.10.12", "2.31", "x86_64", "", "0.11.0"),
    ("Tesla T4", "7.5", "470.182.03", "3.8.17", "2.28", "x86_64", "tencent", None),
    ("Tesla T4", "7.5", "580.95.05", "3.9.18", "2.34", "x86_64", "", None),
    ("Tesla V100-SXM2-32GB", "7.0", "535.183.01", "3.10.12", "2.35", "x86_64", "", None),
    ("Tesla V100-SXM2-32GB", "7.0", "580.95.05", "3.12.3", "2.28", "x86_64", "", None),
    ("Tesla V100-SXM2-32GB", "7.0", "470.161.03", "3.6.8", "2.17", "x86_64", "", None),
    ("NVIDIA GeForce RTX 5090", "12.0", "570.144", "3.12.3", "2.39", "x86_64", "", None),
    ("NVIDIA GeForce RTX 5090", "12.0", "575.57.08", "3.12.3", "2.39", "x86_64", "autodl", None),
    ("NVIDIA GeForce RTX 5090", "12.0", "595.84", "3.12.3", "2.39", "x86_64", "", "0.11.2"),
    ("NVIDIA B200", "10.0", "575.57.08", "3.12.3", "2.39", "x86_64", "", None),
    ("NVIDIA B200", "10.0", "580.95.05", "3.12.3", "2.39", "x86_64", "", "0.19.1"),
    ("NVIDIA GH200 480GB", "9.0", "570.124.06", "3.12.3", "2.35", "aarch64", "", None),
    ("NVIDIA GH200 480GB", "9.0", "580.95.05", "3.12.3", "2.35", "aarch64", "", None),
    ("NVIDIA GH200 480GB", "9.0", "550.144.03", "3.10.12", "2.35", "aarch64", "", "0.10.2"),
    ("NVIDIA GB10", "12.1", "580.95.05", "3.12.3", "2.39", "aarch64", "", None),
    ("NVIDIA GB10", "12.1", "580.95.05", "3.12.3", "2.39", "aarch64", "", "0.19.1"),
    ("NVIDIA A100-SXM4-80GB", "8.0", "560.35.03", "3.12.3", "2.34", "aarch64", "", "0.21.0"),
)
REGIONS = {"aliyun": "cn-hangzhou", "tencent": "ap-guangzhou"}


class Asked(NamedTuple):
    """One call of the resolver: equal ones are made once. `after` = what an earlier step of the same recipe installed."""

    python: str
    platform: str
    options: tuple[str, ...]
    wanted: tuple[str, ...]
    after: tuple[str, ...] = ()


class Package(NamedTuple):
    """One package of a resolved set: its version, and who asks for it."""

    version: Version
    via: tuple[str, ...]


Resolved = dict[str, Package]


def document(row: tuple[str, str, str, str, str, str, str, str | None]) -> dict[str, Any]:
    gpu, capability, driver, python, glibc, arch, cloud, _ = row
    host: dict[str, Any] = {
        "os": {"name": "some Linux", "arch": arch, "glibc": glibc, "wsl": False},
        "python": {"version": python},
        "driver": {"version": driver, "library_version": driver, "nvml": "ok"},
        "gpus": [{"index": 0, "name": gpu, "compute_capability": capability}],
        "torch": None,
        "packages": {},
        "container": None,
    }
    if cloud:
        host["cloud"] = {"provider": cloud, "region": REGIONS.get(cloud, "cn-beijing")}
    return host


def label_of(url: str) -> str | None:
    """The CUDA label that an address of torch's index or of a mirror of it ends with."""
    match = re.search(r"/(cu\d+)/?$", urlsplit(url).path)
    return match[1] if match else None


def translated(words: list[str], root: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Options and requirements of an install command with torch's hosts and the release page replaced; anything else fails."""
    options, wanted, rest = [], [], list(words)
    while rest:
        word = rest.pop(0)
        name, _, value = word.partition("=")
        if name == "--torch-backend":
            options += ["--index", f"{root}/backend/{value}"]
        elif word in ("--default-index", "--index-url"):
            label = label_of(rest.pop(0))
            options += ["--default-index", f"{root}/whl/{label}"] if label else []  # a mirror of the package index holds what that holds
        elif word == "--find-links":
            options += ["--find-links", f"{root}/flat/{label_of(rest.pop(0))}"]
        else:
            assert not word.startswith("-"), f"an option that this test does not hand on: {word}"
            wanted.append(re.sub(r"@ https://github\.com/", f"@ {root}/github/", word))
    return tuple(options), tuple(wanted)


def installs(argv: tuple[str, ...]) -> list[str] | None:
    """The words after `install` of a command that installs packages; None of any other."""
    words = list(argv)
    if words[:3] == ["uv", "pip", "install"]:
        assert words[3] == "--python"
        return words[5:]
    if words[1:4] == ["-m", "pip", "install"]:
        return None if words[-2:] == ["--upgrade", "pip"] else words[4:]
    return None


def questions(planned: Any, tool: str, stack: Stack, row: tuple[Any, ...], root: str) -> tuple[Asked, ...]:
    """What the recipe of one installer asks of indexes, in order."""
    platform = f"{row[5]}-manylinux_2_{min(int(row[4].removeprefix('2.')), NEWEST_LIBC)}"
    found: list[Asked] = []
    for argv in planned.argv(tool):
        words = installs(argv)
        if words is not None:
            options, wanted = translated(words, root)
            before = tuple(word for one in found for word in one.wanted)
            links = ("--find-links", f"{root}/flat/{stack.torch_variant}") if before else ()
            found.append(Asked(stack.python, platform, (*options, *links), wanted, before))
    return tuple(found)


def resolve(asked: Asked) -> Resolved | str:
    """What uv would install, or what it says; its package index is that of the environment or of its own configuration."""
    command = [UV, "pip", "compile", "--python-version", asked.python, "--python-platform", asked.platform, *asked.options]
    command += ["--no-header", "--annotation-style", "line", "--no-python-downloads", "-"]
    text = "\n".join((*asked.wanted, *asked.after)) + "\n"
    done = subprocess.run(command, input=text, env=dict(os.environ), capture_output=True, text=True, timeout=300, check=False)
    return done.stderr[-1500:] if done.returncode else dict(map(package_of, filter(str.strip, done.stdout.splitlines())))


def package_of(line: str) -> tuple[str, Package]:
    """A line such as `torch==2.13.0+cu129  # via vllm, torchvision`; of an address, the version is the file's."""
    asked, _, via = line.partition("# via ")
    name, at, address = asked.partition(" @ ")
    if not at:
        name, _, address = asked.partition("==")
    file = re.search(r"/vllm-(\d[^-/]*)-", address.replace("%2B", "+"))
    version = file[1] if at and file else re.split(r"[ ;]", address.strip(), maxsplit=1)[0]
    return canonicalize_name(name.strip()), Package(Version(version), tuple(via.strip().split(", ")) if via else ())


class Case(NamedTuple):
    """A host, the stack planned for it, and the calls of one installer's recipe."""

    name: str
    host: dict[str, Any]
    stack: Stack
    asked: tuple[Asked, ...]


@pytest.fixture(scope="module")
def cases(plan_for: Any, loopback: Any) -> list[Case]:
    """Both recipes of each host."""
    found = []
    for row in HOSTS:
        host = document(row)
        planned = plan_for(host, **({"vllm": row[7]} if row[7] else {}))
        plan = planned.plan
        first = plan.ways[0] if plan.ways else None
        stack = first.stack if first else plan.stack or next(iter(plan.ways_out), None)
        name = " ".join(str(part) for part in row if part)
        if stack is None:
            assert first is None or first.image or first.kind in ("driver", "hardware", "compat"), name
            continue
        found += [Case(f"{name}, {tool}", host, stack, questions(planned, tool, stack, row, loopback.url)) for tool in ("uv", "pip")]
    return found


@pytest.fixture(scope="module")
def answers(cases: list[Case]) -> dict[Asked, Resolved | str]:
    """Every distinct call, side by side, since the index takes most of the time."""
    distinct = list(dict.fromkeys(asked for case in cases for asked in case.asked))
    with ThreadPoolExecutor(6) as pool:
        return dict(zip(distinct, pool.map(resolve, distinct), strict=True))


def without_compilers(packages: Resolved) -> set[str]:
    """The names of what is asked for by something else than a compiler of a kernel language."""
    kept = {name for name, package in packages.items() if not package.via or name == "vllm"}
    while True:
        more = {name for name, package in packages.items() if name not in kept and any(by in kept for by in package.via)}
        more = {name for name in more if not name.startswith(OF_A_COMPILER)}
        if not more:
            return kept
        kept |= more


def majors(packages: Resolved) -> set[int]:
    """The CUDA majors of the library wheels: most carry it in their names, CUDA 13's runtime in its version."""
    names = [name for name in without_compilers(packages) if name.startswith("nvidia-")]
    found = {int(match[1]) for match in (re.search(r"-cu(\d\d)$", name) for name in names) if match}
    if "nvidia-cuda-runtime" in names:
        found.add(packages["nvidia-cuda-runtime"].version.major)
    return found


def wrong_with(case: Case, got: Resolved) -> list[str]:
    """What a resolved set has that the plan did not say."""
    stack, found = case.stack, []
    wheel = f"{stack.vllm}+{stack.variant}" if stack.variant else stack.vllm
    versions = {name: package.version for name, package in got.items()}
    if versions.get("vllm") != Version(wheel):
        found.append(f"vllm {versions.get('vllm')}, not {wheel}")
    torch = versions.get("torch")
    if torch is None or torch.public != Version(stack.torch).public:
        found.append(f"torch {torch}, not {stack.torch}")
    for package in TORCH:
        if stack.torch_variant and package in got and versions[package].local != stack.torch_variant:
            found.append(f"{package} {versions[package]}, not +{stack.torch_variant}")
    if majors(got) != {stack.cuda_major}:
        found.append(f"libraries of CUDA {sorted(majors(got))}, not {stack.cuda_major}")
    return found


def installed(case: Case, got: Resolved) -> dict[str, Any]:
    """The host with what was resolved in an environment that is activated."""
    torch, label = got["torch"].version, case.stack.torch_variant
    of_the_index = next((one["index"][case.stack.arch] for one in TORCHES if one["version"] == torch.public), None)
    cuda = f"{label[2:-1]}.{label[-1]}" if label else str((of_the_index or {}).get("cuda"))
    packages = {name: str(package.version) for name, package in got.items()}
    return {
        **case.host,
        "python": {"version": f"{case.stack.python}.3"},
        "packages": packages,
        "torch": {"version": f"{torch.public}+cu{cuda.replace('.', '')}", "cuda": cuda},
    }


def test_what_is_installed_then_is_judged_to_run(cases: list[Case], answers: dict[Asked, Resolved | str], plan_for: Any) -> None:
    wrong = set()
    for case in cases:
        got = answers[case.asked[-1]]
        # Of the release page's wheels the loopback index states a part of the requirements only.
        if isinstance(got, dict) and not case.stack.url:
            judgement = plan_for(installed(case, got)).judgement
            grave = [f"{found.code} {dict(found.detail.params)}" for found in judgement.findings if found.severity.value == "error"]
            if grave or judgement.verdict.value not in ("ready", "ready-with-warnings"):
                wrong.add(f"{case.name} → {case.stack.vllm}+{case.stack.variant}: {judgement.verdict.value} {grave} {judgement.undecided}")
    assert wrong == set()


def test_every_command_resolves_to_what_was_planned(cases: list[Case], answers: dict[Asked, Resolved | str], loopback: Any) -> None:
    wrong = []
    for case in cases:
        assert case.asked, case.name
        told = [answers[asked] for asked in case.asked]
        said = [answer.strip() for answer in told if isinstance(answer, str)]
        got = told[-1]
        found = said or (wrong_with(case, got) if isinstance(got, dict) else [])
        if found:
            wrong.append(
                f"{case.name} → {case.stack.vllm}+{case.stack.variant} torch {case.stack.torch}+{case.stack.torch_variant}: {found}"
            )
    assert wrong == [], "\n".join((*wrong, f"not on the loopback index: {sorted(set(loopback.missed))[:20]}"))


def test_without_its_option_the_command_would_bring_another_torch(cases: list[Case]) -> None:
    # what the check above rests on: a set of another label is told from the planned one
    case = next(case for case in cases if any("/backend/" in option for option in case.asked[0].options))
    got = resolve(case.asked[0]._replace(options=()))
    assert isinstance(got, str) or wrong_with(case, got)


def test_the_sample_asks_for_what_it_is_there_to_show(cases: list[Case]) -> None:
    hosts = {case.name.rpartition(", ")[0] for case in cases}
    assert len(HOSTS) == 40
    assert len(hosts) >= 30
    options = {option for case in cases for asked in case.asked for option in asked.options if option.startswith("http")}
    labels = {case.stack.torch_variant for case in cases}
    assert {"", "cu118", "cu129"} <= labels
    assert any("/backend/" in option for option in options)
    assert any("/flat/" in option for option in options)
    assert any("/whl/" in option for option in options)
    assert any("/github/" in word for case in cases for asked in case.asked for word in asked.wanted)
