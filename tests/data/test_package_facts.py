"""Facts about packages, held against what vLLM's own wheels pin together, and against the sentences that speak of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import envcheck
from envcheck.matrix.load import Matrix
from envcheck.matrix.packages import PackageFault
from envcheck.model.versions import compute_capability

TEXTS = Path(envcheck.__file__).parent / "render" / "texts"
MATRIX = Matrix(Path(__file__).parents[2] / "matrices")


def pinned(requires: dict[str, str], package: str) -> Version | None:
    found = re.fullmatch(r"==([\d.]+)", requires.get(package, ""))
    return Version(found[1]) if found else None


@pytest.mark.parametrize("package", ["torchvision", "torchaudio"])
def test_companions_of_torch_are_those_that_vllm_pins_together(package: str) -> None:
    seen = 0
    for release in MATRIX.releases:
        torch, other = pinned(release.record.requires, "torch"), pinned(release.record.requires, package)
        if torch and other:
            assert MATRIX.packages.companions[torch.major, torch.minor][package] == (other.major, other.minor), release.raw
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_effect_and_every_need_has_a_sentence(language: str) -> None:
    sentences = json.loads((TEXTS / f"{language}.json").read_text(encoding="utf-8"))
    file = MATRIX.packages.file
    wanted = {f"finding.{fault.code}.{fault.effect}" for fault in file.faults} | {f"finding.{need.code}.beside" for need in file.needs}
    wanted |= {f"finding.{entry.code}.{what}" for entry in file.extensions for what in entry.tells}
    wanted |= {f"finding.{entry.code}.unserved" for entry in file.extensions if entry.capability_from}
    assert wanted - sentences.keys() == set()


@pytest.mark.parametrize("fault", MATRIX.packages.file.faults, ids=lambda fault: str(fault.id))
def test_what_cures_a_fault_lies_outside_it(fault: PackageFault) -> None:
    # The cure either names releases of the package that the fault does not hold, or moves what stands beside it out of its range.
    for text in fault.install:
        name = re.match(r"[a-z0-9-]+", text)
        assert name
        broken = fault.beside.get(name[0], fault.versions)
        named = [part.version for part in SpecifierSet(text.removeprefix(name[0])) if part.operator in ("==", ">=")]
        assert all(not SpecifierSet(broken).contains(version.removesuffix(".*"), prereleases=True) for version in named), text


def test_no_release_asks_for_what_its_own_faults_name() -> None:
    # A pin that is itself said to be broken would make every right installation wrong.
    for release in MATRIX.releases:
        for fault in MATRIX.packages.file.faults:
            pin = pinned(release.record.requires, fault.package)
            concerned = fault.vllm is None or SpecifierSet(fault.vllm, prereleases=True).contains(release.version)
            assert not (pin and concerned and SpecifierSet(fault.versions, prereleases=True).contains(pin)), (release.raw, fault.id)


@pytest.mark.parametrize(
    ("triton", "capability", "known"),
    # triton-lang/triton issue 10331: what the ptxas of each wheel assembled; for 11.0 pull request 10462
    [("3.5.0", "12.1", False), ("3.6.0", "12.1", True), ("3.7.0", "12.1", True), ("3.6.0", "11.0", False), ("3.7.0", "11.0", True)],
)
def test_assemblers_know_what_was_tried(triton: str, capability: str, known: bool) -> None:
    parsed = compute_capability(capability)
    assert parsed
    assert (MATRIX.packages.assembler(Version(triton), parsed) is None) is known
