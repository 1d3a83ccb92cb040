"""root_steps.json: distributions and versions looked up at the edges, and faults that validation must see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.matrix.validate import validate

Spoil = Callable[[str, Callable[[Any], None]], Path]


@pytest.mark.parametrize(
    ("distribution", "version", "folder"),
    [  # folders: codenames of NVIDIA's driver installation guide
        ("ubuntu", "22.04", "ubuntu2204"),
        ("Ubuntu", "24.04.1", "ubuntu2404"),
        ("rhel", "8.10", "rhel8"),
        ("rocky", "10.1", "rhel10"),
        ("ol", "9.5", "rhel9"),
        ("sles", "15.6", "sles15"),
        ("debian", "13", "debian13"),
        ("kylin", "V10", "kylin10"),
        ("amzn", "2023", "amzn2023"),
        ("fedora", "44", "fedora44"),
        ("fedora", "40", None),
        ("openeuler", "24.03", None),
        ("centos", "7", None),
        ("anolis", "23", None),
    ],
)
def test_the_folder_of_a_release(matrix: Matrix, distribution: str, version: str, folder: str | None) -> None:
    system = matrix.root_steps.system(distribution, version, "x86_64")
    assert system is not None
    assert system.record.folder == folder


@pytest.mark.parametrize(
    ("distribution", "version", "machine"),
    [
        ("ubuntu", "23.10", "x86_64"),
        ("ubuntu", "", "x86_64"),
        ("rhel", "80", "x86_64"),
        ("nixos", "25.05", "x86_64"),
        ("ubuntu", "22.04", "ppc64le"),
    ],
)
def test_what_has_no_record(matrix: Matrix, distribution: str, version: str, machine: str) -> None:
    assert matrix.root_steps.system(distribution, version, machine) is None


def test_a_machine_that_a_folder_is_not_for(matrix: Matrix) -> None:
    debian = matrix.root_steps.system("debian", "12", "aarch64")
    assert debian is not None
    assert debian.driver(580, flavour="open", server=True, fabric=False, kernel="") == ()
    assert debian.compat("13.0") == ()
    assert debian.compiler() != ()


def test_every_distribution_of_the_glibc_table_has_steps(matrix: Matrix) -> None:
    old = {("debian", "10"), ("fedora", "37")}  # without support for years
    named = [(entry.id, entry.version) for entry in matrix.distributions if (entry.id, entry.version) not in old]
    assert [pair for pair in named if matrix.root_steps.system(*pair, "x86_64") is None] == []


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("Red Hat Enterprise Linux 9.4 (Plow)", "rhel"),
        ("Oracle Linux Server 8.9", "ol"),
        ("Alibaba Cloud Linux 3 (Soaring Falcon)", "alinux"),
        ("Amazon Linux 2023.6.20241010", "amzn"),
        ("Ubuntu 22.04.5 LTS", "ubuntu"),
        ("", ""),
    ],
)
def test_what_a_systems_name_stands_for(matrix: Matrix, name: str, distribution: str) -> None:
    assert matrix.root_steps.named(name) == distribution


def _of(kind: str, place: int, **fields: Any) -> Callable[[Any], None]:
    return lambda value: value[kind][place].update(fields)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (_of("systems", 0, family="emerge"), "there is no family"),
        (_of("systems", 0, folder="rhel7"), "go together"),
        (_of("systems", 0, page="ftp://example"), "no plain URL"),
        (_of("systems", 1, versions=["2"]), "stands here already"),
        (_of("systems", 0, own_branches=[580]), "no packages of its own"),
        (_of("families", 0, compiler=["sudo apt-get install -y gcc-{gcc}"]), "nothing fills in"),
        (_of("families", 0, id="zz"), "out of order"),
        (_of("compat", 0, branch=551), "there is no branch 551"),
        (_of("compat", 0, serves=[580]), "not older"),
        (_of("compat", 0, cuda="99.0"), "out of order"),
    ],
)
def test_faults_are_found(spoil: Spoil, edit: Callable[[Any], None], said: str) -> None:
    found = [problem for problem in validate(spoil("root_steps.json", edit)) if problem.file.endswith("root_steps.json")]
    assert any(said in problem.what for problem in found), found
