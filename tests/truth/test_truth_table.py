"""Every wheel on every kind of GPU, driver and machine: the judge against an expectation worked out anew from the artefact facts.

Nothing of `envcheck` and nothing of `matrices/` takes part in the expectation. `raw_facts.json` holds what was read in the published
artefacts; the conditions under which a wheel runs are written down here once more, shortly. A fact that is converted wrongly, a rule
that asks the wrong question or a verdict that does not follow from its findings shows as a wheel, a GPU, a driver and two verdicts.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

HERE = Path(__file__).parent
TOP = HERE.parents[1]
CAPABILITIES = ("6.1", "7.0", "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")
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
Question = tuple[str, str, str, str]  # wheel, machine, compute capability, driver

RAW: Record = json.loads((HERE / "raw_facts.json").read_text(encoding="utf-8"))
RELEASES: list[Record] = RAW["releases"]
BY_VERSION = {release["version"]: release for release in RELEASES}

# The systems on a chip: a desktop GPU's code does not run on them, nor theirs on it (binary rule of torch_cuda_variants.json).
ON_A_CHIP = {(5, 3), (6, 2), (7, 2), (8, 7), (11, 0)}
# Compiled for CUDA 11, never scanned, and setup.py and what the next release holds do not agree: nobody knows, and nothing is asked.
NOT_KNOWN = {"0.1.4", "0.1.5", "0.1.6", "0.1.7"}
# Built by the pipeline and never put on the release page: vllm-project/vllm #9021 and #10319 (+cu118), #37847 (+cu126 after 0.10.0).
NOT_PUBLISHED = {("0.6.2", "cu118"), ("0.6.3", "cu118"), ("0.6.3.post1", "cu118")} | {
    (version, "cu126") for version in ("0.10.1", "0.10.1.1", "0.10.2", "0.11.0")
}
# From 9.0 on FlashAttention 3 is there beside; from 10.0 on FlashAttention 2 is what attention runs on.
ATTENTION_FROM, ATTENTION_DEFAULT_FROM = (9, 0), (10, 0)
# The one warning that wheel, GPU and driver alone decide. Others (bfloat16 below 8.0, triton, ...) may stand beside it.
OF_THE_TABLE = {"driver-too-old-for-ptx"}


def numbers(text: str) -> Numbers:
    return tuple(map(int, re.findall(r"\d+", re.match(r"[\d.]+", text)[0])))  # type: ignore[index]


def capability(text: str) -> Numbers:
    """`75`, `sm_75` or `7.5` as (7, 5)."""
    digits = text.removeprefix("sm_").replace(".", "")
    return int(digits[:-1]), int(digits[-1])


def runs(gpu: Numbers, code: set[Numbers]) -> bool:
    if gpu in ON_A_CHIP:
        return gpu in code
    return any(made[0] == gpu[0] and made[1] <= gpu[1] for made in code - ON_A_CHIP)


def compiles(release: Record, cuda: str, made: Numbers) -> bool:
    """Whether this release's CMakeLists.txt keeps an architecture for this nvcc; without such a list all are kept."""
    for rule in release.get("cmake", []):
        if rule["if_nvcc_ge"] is None or numbers(cuda) >= numbers(rule["if_nvcc_ge"]):
            return made in map(capability, rule["archs"].split(";"))
    return True


def listed(release: Record, arch: str, label: str) -> tuple[str, set[Numbers]] | None:
    """nvcc and architectures of a wheel of the release pipeline."""
    for wheel in release.get("pipeline", {}).get(arch, []):
        if wheel["wheel_suffix"].lstrip("+") == label:
            words = re.findall(r"\d+\.\d+", wheel["arch_list"])
            return wheel["cuda"], {made for made in map(capability, words) if compiles(release, wheel["cuda"], made)}
    return None


def neighbours(release: Record, arch: str, label: str) -> Iterator[Record]:
    """Releases beside one that published no source: the nearest with this wheel, before it and after it."""
    place = RELEASES.index(release)
    for side in (reversed(RELEASES[:place]), RELEASES[place + 1 :]):
        yield next(one for one in side if arch in one.get("archs", ()) and (one.get("scanned") or one.get("pipeline") or one.get("cmake")))


@cache
def code_of(version: str, arch: str, label: str) -> frozenset[Numbers] | None:
    """Architectures of the machine code in a wheel: scanned, else what the pipeline, CMake or setup.py lists; None = not known."""
    release = BY_VERSION[version]
    if version in NOT_KNOWN:
        return None
    declared = listed(release, arch, label)
    counts = release.get("scanned", {}).get(arch) if not label else None
    if counts:
        held = {capability(key[5:].split("@")[0]) for key in counts if key.startswith("sass_")}
        # Some kernels were compiled without a list; their stray code (5.2, 8.7) is no more than they.
        return frozenset(made for made in held if declared is None or made in declared[1])
    if declared:
        return frozenset(declared[1])
    if not label and arch == "aarch64" and release.get("pipeline"):  # the index holds the pipeline's 12.9 build of 0.10.2 to 0.11.2
        built = listed(release, arch, "cu129")
        return frozenset(built[1]) if built else None
    lists = (release.get("cmake") or [{"archs": ";".join(release.get("setup", []))}])[-1]["archs"]
    if lists:
        return frozenset(map(capability, lists.split(";")))
    beside = {code_of(one["version"], arch, label) for one in neighbours(release, arch, label)}
    return beside.pop() if len(beside) == 1 else None


def pinned(release: Record) -> Record:
    """The torch that a release asks for; of a range, the newest there was on the day of the release."""
    exact = re.match(r"==([\d.]+)", release["torch"])
    if exact:
        return next(torch for torch in RAW["torch"] if torch["version"] == exact[1])
    there = [torch for torch in RAW["torch"] if torch["upload"][:10] <= release["upload"]]
    return max(there, key=lambda torch: Version(torch["version"]))


def torch_code(torch: Record, arch: str, major: int, only: str | None = None) -> list[set[Numbers] | None]:
    """The architectures of each torch build of this release and CUDA major; None = offered, and its list is not known."""
    found: list[set[Numbers] | None] = []
    index = torch["index"][arch]
    if index and numbers(index["cuda"])[0] == major and only in (None, "cu" + index["cuda"].replace(".", "")):
        found.append(set(map(capability, index["archs"][0].split())))
    for name in (word.split()[0] for word in torch["offered"][arch]):
        if name.startswith("cu") and int(name[2:-1]) == major and only in (None, name):
            text = (torch["variants"].get(name) or {}).get(arch)
            found.append(set(map(capability, re.findall(r"\d+\.\d", text))) if text else None)
    return found


def cuda_of(release: Record, arch: str, label: str) -> str | None:
    """nvcc of a wheel."""
    if label:
        return f"{label[2:-1]}.{label[-1]}"
    built = listed(release, arch, "") or (listed(release, arch, "cu129") if arch == "aarch64" else None)
    return built[0] if built else re.split(r"[ (]", release.get("cuda", ""))[0] or None


def attention_needs(version: str, cuda: str | None) -> Numbers:
    """The CUDA level of a driver that can translate FlashAttention 2; () where the wheel holds machine code, or nobody looked."""
    scanned = [entry for entry in RAW["attention"] if Version(entry["version"]) <= Version(version)]
    if cuda is None or numbers(cuda) < (12, 0) or not scanned or not max(scanned, key=lambda entry: Version(entry["version"]))["ptx"]:
        return ()
    # The instruction set of PTX follows nvcc; ISA 8.5 came with 12.5 and 12.6 kept it.
    levels = {word: text.split("/")[0] for text in RAW["isa"].values() for word in text.split("/")}
    return numbers(levels[cuda])


def served_by(gpu: Numbers, driver: Numbers) -> bool:
    """Whether this branch of the driver still serves the GPU's architecture."""
    for entry in RAW["architectures"]:
        if entry["last_driver"] and re.fullmatch(r"R\d+", entry["last_driver"]) and gpu in map(capability, entry["cc"].split(",")):
            return driver[0] <= int(entry["last_driver"][1:])
    return True


def expected(version: str, arch: str, label: str, gpu: Numbers, driver: Numbers, torch: str | None = None) -> str:
    """The verdict of a wheel; `torch` = the build that is installed beside it, None = whatever an installer may take."""
    release = BY_VERSION[version]
    if not label and arch not in release["archs"]:
        return "blocked"
    major = int(label[2:-1]) if label else int(release["cudart"].removeprefix("libcudart.so.").split(".")[0])
    if driver < numbers(RAW["floors"][str(major)]) or not served_by(gpu, driver):
        return "blocked"
    beside = torch_code(pinned(release), arch, major, torch)
    code = code_of(version, arch, label)
    if gpu < (7, 0) or (code is not None and not runs(gpu, set(code))) or not any(one is None or runs(gpu, one) for one in beside):
        return "blocked"
    needs = attention_needs(version, cuda_of(release, arch, label))
    translated = bool(needs) and gpu >= ATTENTION_FROM and numbers(RAW["shows"][str(driver[0])]) < needs
    if translated and gpu >= ATTENTION_DEFAULT_FROM:
        return "blocked"
    return "ready-with-warnings" if translated else "ready"


def host_of(version: str, arch: str, gpu: str, driver: str) -> Record:
    release = BY_VERSION[version]
    python = release["pythons"][-1] if release.get("pythons") else "3.11"
    return {
        "os": {"name": "Ubuntu 24.04.1 LTS", "arch": arch, "glibc": "2.39", "wsl": False},
        "python": {"version": f"{python}.1"},
        "driver": {"version": driver},
        "gpus": [{"index": 0, "compute_capability": gpu}],
        "torch": None,
        "packages": {},
        "container": None,
    }


def index_questions() -> Iterator[tuple[Question, str, Record]]:
    """Every release that has wheels: the index's default wheel is asked for, and nothing is installed."""
    for release in RELEASES:
        version = release["version"]
        if not release.get("archs") or version in NOT_KNOWN:
            continue
        for arch, gpu, driver in product(ARCHES, CAPABILITIES, DRIVERS):
            verdict = expected(version, arch, "", numbers(gpu), numbers(driver))
            yield (version, arch, gpu, driver), verdict, {"host": host_of(version, arch, gpu, driver), "request": {"vllm": version}}


def labelled() -> Iterator[tuple[str, str, str]]:
    """Version, machine and label of the release page's wheels."""
    for release in RELEASES:
        for arch, wheels in release.get("pipeline", {}).items():
            for wheel in wheels:
                label = wheel["wheel_suffix"].lstrip("+")
                on_index = arch == "aarch64" and label == "cu129" and release["version"].startswith(("0.10.", "0.11."))
                if label and not on_index and (release["version"], label) not in NOT_PUBLISHED:
                    yield release["version"], arch, label


def installed_questions() -> Iterator[tuple[Question, str, Record]]:
    """Wheels of the release page, installed with the torch of the same label."""
    for version, arch, label in labelled():
        pin = pinned(BY_VERSION[version])
        offered = {word.split()[0] for word in pin["offered"][arch]}
        if label not in offered:
            continue  # +cu121 of 0.8.x was built against a torch that has no such build
        for gpu, driver in product(CAPABILITIES, DRIVERS):
            if numbers(driver) < (520,) and numbers(gpu) >= (8, 9):
                continue  # no driver that old serves a GPU that new
            host = host_of(version, arch, gpu, driver)
            host["torch"] = {"version": f"{pin['version']}+{label}", "cuda": f"{label[2:-1]}.{label[-1]}"}
            host["packages"] = {"vllm": f"{version}+{label}", "torch": f"{pin['version']}+{label}"}
            verdict = expected(version, arch, label, numbers(gpu), numbers(driver), label)
            yield (f"{version}+{label}", arch, gpu, driver), verdict, {"host": host}


def answers(questions: list[Record], folder: Path) -> list[Record]:
    """What one call of `envcheck batch` says."""
    path = folder / "questions.ndjson"
    path.write_text("".join(json.dumps({"id": number, **one}) + "\n" for number, one in enumerate(questions)), encoding="utf-8")
    argv = [sys.executable, "-m", "envcheck", "batch", str(path), "--matrix-dir", str(TOP / "matrices")]
    done = subprocess.run(argv, cwd=TOP, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:].decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def told_of(answer: Record) -> str:
    """The verdict as far as wheel, GPU and driver decide it: warnings of other matters left out."""
    found = {(finding["severity"], finding["code"]) for finding in answer["findings"]}
    warned = {code for severity, code in found if severity == "warning"}
    verdict: str = answer["verdict"]
    if verdict in ("ready", "ready-with-warnings") and bool(warned) != (verdict == "ready-with-warnings"):
        return f"{verdict} with the warnings {sorted(warned)}"
    return "ready" if verdict == "ready-with-warnings" and not warned & OF_THE_TABLE else verdict


def compared(asked: list[tuple[Question, str, Record]], folder: Path) -> list[str]:
    """Where the product and the expectation differ."""
    told = answers([question for _, _, question in asked], folder)
    assert len(told) == len(asked)
    wrong = []
    for (name, verdict, _), answer in zip(asked, told, strict=True):
        given = told_of(answer) if "verdict" in answer else answer["error"]
        if given != verdict:
            codes = [finding["code"] for finding in answer.get("findings", [])]
            wrong.append(f"{' '.join(name)}: {given} {codes}, should be {verdict}")
    return wrong


def test_every_wheel_of_the_index(processes: None, tmp_path: Path) -> None:
    asked = list(index_questions())
    assert len(asked) > 20_000
    assert {verdict for _, verdict, _ in asked} == {"ready", "ready-with-warnings", "blocked"}
    assert compared(asked, tmp_path) == []


def test_every_wheel_of_the_release_page_installed(processes: None, tmp_path: Path) -> None:
    asked = list(installed_questions())
    assert {name[0].partition("+")[2] for name, _, _ in asked} == {"cu118", "cu126", "cu129", "cu130"}
    assert len(asked) > 10_000
    assert {verdict for _, verdict, _ in asked} == {"ready", "ready-with-warnings", "blocked"}
    assert compared(asked, tmp_path) == []


# Rows that people ask about most, as plain verdicts: an anchor for the expectation itself.
@pytest.mark.parametrize(
    ("wheel", "arch", "gpu", "driver", "verdict"),
    [
        ("0.19.1", "x86_64", "8.6", "535.161.08", "ready"),
        ("0.19.1", "x86_64", "8.0", "525.60.12", "blocked"),  # the floor of CUDA 12, by one
        ("0.19.1", "x86_64", "8.0", "525.60.13", "ready"),
        ("0.20.0", "x86_64", "8.6", "575.57.08", "blocked"),  # the first index wheel of CUDA 13
        ("0.20.0", "x86_64", "8.6", "580.95.05", "ready"),
        ("0.19.1", "x86_64", "7.0", "550.144.03", "ready"),
        ("0.20.0", "x86_64", "7.0", "580.95.05", "blocked"),  # no code for Volta any more
        ("0.19.1", "x86_64", "7.0", "595.84", "blocked"),  # nor does this driver serve it
        ("0.19.1", "x86_64", "6.1", "550.144.03", "blocked"),
        ("0.11.2", "x86_64", "12.0", "570.144", "ready"),
        ("0.14.1", "x86_64", "12.0", "570.144", "blocked"),  # its attention is PTX of CUDA 12.9
        ("0.14.1", "x86_64", "9.0", "570.144", "ready-with-warnings"),  # which Hopper needs in part
        ("0.9.0", "x86_64", "12.0", "575.57.08", "blocked"),
        ("0.33.0", "aarch64", "12.1", "580.95.05", "ready"),
        ("0.33.0", "aarch64", "11.0", "580.95.05", "ready"),  # Thor has code of its own from 0.20.0 on
        ("0.33.0", "aarch64", "8.7", "580.95.05", "blocked"),  # torch has none for Orin
        ("0.11.0", "aarch64", "8.0", "580.95.05", "blocked"),  # compiled for 8.7 and not for 8.0
        ("0.10.1.1", "aarch64", "9.0", "580.95.05", "blocked"),  # no wheel yet
        ("0.10.1.1+cu118", "x86_64", "7.5", "470.161.03", "ready"),
        ("0.32.0+cu129", "x86_64", "8.0", "535.161.08", "ready"),
        ("0.19.1+cu130", "x86_64", "7.0", "580.95.05", "blocked"),
    ],
)
def test_rows_of_the_reference(wheel: str, arch: str, gpu: str, driver: str, verdict: str) -> None:
    version, _, label = wheel.partition("+")
    assert expected(version, arch, label, numbers(gpu), numbers(driver), label or None) == verdict
