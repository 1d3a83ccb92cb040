"""What root is told to type: by distribution, version, machine and GPUs; never where driver and kernel belong to somebody else."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
import pytest

from envcheck.matrix.load import Matrix
from envcheck.matrix.root_steps import System
from envcheck.model.host import HostReport
from envcheck.model.request import Request
from envcheck.rules.driver_branch import cards_of, flavour_of, known_release, serving_branches
from envcheck.rules.driver_install import (
    driver_commands,
    fabric_commands,
    headers_commands,
    planned_branch,
    system_of,
    toolkit_commands,
)
from envcheck.rules.situation import Situation, read_situation

LISTED = (("deb", "stable"), ("#deb", "experimental"))
A10, V100, B200, RTX = "NVIDIA A10", "Tesla V100-SXM2-32GB", "NVIDIA B200", "NVIDIA GeForce RTX 4090"


def host(matrix: Matrix, distribution: str, version: str, *gpus: str, **more: Any) -> Situation:
    """A host of a distribution with some GPUs."""
    os = {"id": distribution, "version": version, "arch": "x86_64", **more.pop("os", {})}
    document = {"os": os, "gpus": [{"name": name, "index": place} for place, name in enumerate(gpus)], **more}
    return read_situation(msgspec.convert(document, HostReport, strict=False), matrix, Request())


def systems(matrix: Matrix) -> Iterator[tuple[str, str]]:
    """Every distribution and version that has a record."""
    for record in matrix.root_steps.file.systems:
        yield from ((record.distribution, version) for version in record.versions or ["1"])


def every_line(matrix: Matrix) -> Iterator[str]:
    """Every line of every record, as shown."""
    for (distribution, version), machine, mainland in product(systems(matrix), ("x86_64", "aarch64"), (False, True)):
        system = matrix.root_steps.system(distribution, version, machine, mainland=mainland)
        assert system is not None, (distribution, version)
        yield from _of(system)


def _of(system: System) -> Iterator[str]:
    for branch, flavour, server, fabric in product((580, 595), ("open", "proprietary"), (True, False), (True, False)):
        yield from system.driver(branch, flavour=flavour, server=server, fabric=fabric, kernel="6.12.0-100.el9uek.x86_64")
    yield from (*system.compat("13.0"), *system.toolkit(), *system.compiler(), *system.repository(), *system.headers("5.15.0-91-generic"))
    yield from (*system.python_headers("3.12", default=False), *system.python_headers("3.12", default=True))
    yield from system.fabric_manager(580)


def test_every_line_is_shell_without_a_gap(matrix: Matrix, processes: None) -> None:
    lines = list(dict.fromkeys(every_line(matrix)))
    assert len(lines) > 100
    assert [line for line in lines if re.search(r"\{[a-z_]+\}|\{\}|None|\s$|\t", line)] == []
    done = subprocess.run(["bash", "-n"], input="\n".join(lines), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_line_changes_the_system_by_sudo_or_fetches(matrix: Matrix) -> None:
    others = {line.split()[0] for line in every_line(matrix)} - {"sudo"}
    assert others == {"curl", "wget"}
    assert [line for line in every_line(matrix) if "http://" in line or "--insecure" in line or "trusted=yes" in line] == []


@pytest.mark.parametrize(
    ("distribution", "version", "gpu", "expected"),
    [  # Ubuntu's own packages: packages.ubuntu.com; the others: NVIDIA's driver installation guide, by distribution
        ("ubuntu", "22.04", A10, ["sudo apt-get install -y nvidia-driver-580-server-open"]),
        ("ubuntu", "24.04", RTX, ["sudo apt-get install -y nvidia-driver-580-open"]),
        ("ubuntu", "24.04", V100, ["sudo apt-get install -y nvidia-driver-580-server"]),
        ("debian", "12", A10, ["sudo apt-get install -y nvidia-driver-pinning-580", "sudo apt-get install -y nvidia-open"]),
        ("debian", "12", V100, ["sudo apt-get install -y nvidia-driver-pinning-580", "sudo apt-get install -y cuda-drivers"]),
        ("rocky", "9.4", A10, ["sudo dnf module enable -y nvidia-driver:580-open", "sudo dnf install -y --allowerasing nvidia-open"]),
        ("rhel", "8.10", V100, ["sudo dnf module enable -y nvidia-driver:580-dkms", "sudo dnf install -y --allowerasing cuda-drivers"]),
        ("almalinux", "10.1", A10, ["sudo dnf versionlock add '*nvidia*580*'", "sudo dnf install -y --allowerasing nvidia-open"]),
        ("amzn", "2023", A10, ["sudo dnf module enable -y nvidia-driver:580-open"]),
        ("fedora", "44", RTX, ["sudo dnf versionlock add '*nvidia*580*'"]),
    ],
)
def test_the_driver_of_a_branch(matrix: Matrix, distribution: str, version: str, gpu: str, expected: list[str]) -> None:
    lines = driver_commands(host(matrix, distribution, version, gpu), matrix, 580)
    assert [line for line in lines if line in expected] == expected
    assert lines[-1] == "sudo reboot"


def test_nvidias_repository_is_set_up_first_and_headers_before_that(matrix: Matrix) -> None:
    lines = driver_commands(host(matrix, "rocky", "9.4", A10), matrix, 580)
    folder = "https://developer.download.nvidia.com/compute/cuda/repos/rhel9/x86_64/cuda-rhel9.repo"
    order = [
        next(place for place, line in enumerate(lines) if part in line)
        for part in ("kernel-devel-matched", "epel-release", folder, "module enable", "nvidia-open", "reboot")
    ]
    assert order == sorted(order)


def test_arm_servers_have_their_own_folder(matrix: Matrix) -> None:
    lines = driver_commands(host(matrix, "rocky", "9.4", "NVIDIA GH200 480GB", os={"arch": "aarch64"}), matrix, 580)
    assert any("/rhel9/sbsa/cuda-rhel9.repo" in line for line in lines)


def test_mainland_hosts_take_the_copies_within_reach(matrix: Matrix) -> None:
    inside = host(matrix, "rhel", "9.4", A10, cloud={"provider": "aliyun", "region": "cn-hangzhou"})
    abroad = host(matrix, "rhel", "9.4", A10, cloud={"provider": "aliyun", "region": "ap-southeast-1"})
    lines = " ".join((*driver_commands(inside, matrix, 580), *toolkit_commands(inside, matrix, "docker")))
    assert "developer.download.nvidia.cn" in lines
    assert "mirrors.aliyun.com/epel" in lines
    assert "mirrors.ustc.edu.cn" in lines
    assert "nvidia.com" not in lines
    assert "github.io" not in lines
    lines = " ".join((*driver_commands(abroad, matrix, 580), *toolkit_commands(abroad, matrix, "docker")))
    assert "nvidia.cn" not in lines
    assert "aliyun" not in lines
    assert "ustc" not in lines


def test_nvswitch_hosts_get_the_fabric_manager_of_the_same_driver(matrix: Matrix) -> None:
    boards = host(matrix, "ubuntu", "22.04", *["NVIDIA H100 80GB HBM3"] * 8, fabric={"nvswitch": True})
    lines = driver_commands(boards, matrix, 580)
    # Ubuntu's fabric manager depends on the server driver of its own version
    assert "sudo apt-get install -y nvidia-driver-580-server-open" in lines
    assert "sudo apt-get install -y nvidia-fabricmanager-580" in lines
    assert "sudo systemctl enable nvidia-fabricmanager" in lines
    assert not any("fabric" in line for line in driver_commands(host(matrix, "ubuntu", "22.04", A10), matrix, 580))


def test_a_fabric_manager_that_is_absent_is_installed_before_it_is_started(matrix: Matrix) -> None:
    boards = host(matrix, "ubuntu", "22.04", *["NVIDIA H100 80GB HBM3"] * 8, driver={"version": "580.95.05"})
    assert fabric_commands(boards, matrix, absent=True) == (
        "sudo apt-get install -y nvidia-fabricmanager-580",
        "sudo systemctl enable --now nvidia-fabricmanager",
    )
    assert fabric_commands(boards, matrix, absent=False) == ("sudo systemctl enable --now nvidia-fabricmanager",)


def test_secure_boot_asks_for_the_key_before_the_restart(matrix: Matrix) -> None:
    lines = driver_commands(host(matrix, "debian", "12", A10, secure_boot=True), matrix, 580)
    assert lines[-2:] == ("sudo mokutil --import /var/lib/dkms/mok.pub", "sudo reboot")
    assert not any("mokutil" in line for line in driver_commands(host(matrix, "debian", "12", A10, secure_boot=False), matrix, 580))


def test_oracles_own_kernel_has_other_headers(matrix: Matrix) -> None:
    uek = host(matrix, "ol", "9.5", A10, os={"kernel": "6.12.0-100.28.2.2.el9uek.x86_64"})
    assert headers_commands(uek, matrix) == ("sudo dnf install -y kernel-uek-devel-$(uname -r) kernel-headers",)
    red_hat = host(matrix, "ol", "9.5", A10, os={"kernel": "5.14.0-570.el9.x86_64"})
    assert headers_commands(red_hat, matrix) == ("sudo dnf install -y kernel-devel-matched kernel-headers",)


@pytest.mark.parametrize(
    ("distribution", "version"),
    [("openeuler", "22.03"), ("centos", "7"), ("ubuntu", "18.04"), ("anolis", "23"), ("nixos", "25")],
)
def test_where_no_repository_serves_a_distribution_there_is_no_command(matrix: Matrix, distribution: str, version: str) -> None:
    situation = host(matrix, distribution, version, A10)
    assert driver_commands(situation, matrix, 580) == ()
    system = system_of(situation, matrix)
    assert system is None or system.record.page.startswith("https://")


@pytest.mark.parametrize(
    ("distribution", "expected"),
    [
        ("sles", "sudo zypper install -y gcc gcc-c++"),
        ("opensuse-leap", "sudo zypper install -y gcc gcc-c++"),
        ("arch", "sudo pacman -S --needed gcc"),
    ],
)
def test_compilers_of_sles_and_arch(matrix: Matrix, distribution: str, expected: str) -> None:
    system = matrix.root_steps.any_version(distribution, "x86_64")
    assert system is not None
    assert system.compiler() == (expected,)


@pytest.mark.parametrize("name", ["Red Hat Enterprise Linux 9.4 (Plow)", "Rocky Linux 9.4 (Blue Onyx)", "Oracle Linux Server 9.5"])
def test_a_name_alone_is_enough(matrix: Matrix, name: str) -> None:
    situation = host(matrix, "", "", A10, os={"name": name, "id": None, "version": None})
    assert any("cuda-rhel9.repo" in line for line in driver_commands(situation, matrix, 580))


def test_no_text_of_a_host_gets_into_a_line(matrix: Matrix) -> None:
    evil = "22.04$(touch /tmp/x);`id`"
    for os in (
        {"name": f"Ubuntu {evil}", "id": None, "version": None},
        {"id": f"ubuntu{evil}"},
        {"version": evil},
        {"kernel": f"5.15.0{evil}uek"},
    ):
        situation = host(matrix, "ubuntu", "22.04", A10, os=os, driver={"version": f"580.95.05{evil}"})
        lines = (
            *driver_commands(situation, matrix, 580),
            *toolkit_commands(situation, matrix, "docker"),
            *headers_commands(situation, matrix),
        )
        assert not any("touch" in line or "`" in line for line in (*lines, *fabric_commands(situation, matrix, absent=True)))


def test_unconfirmed_commands_are_for_those_who_say_so(matrix: Matrix) -> None:
    situation = host(matrix, "anolis", "8.8", A10)  # NVIDIA lists no repository for it
    assert driver_commands(situation, matrix, 580) == ()
    assert any("rhel8" in line for line in driver_commands(situation, matrix, 580, unconfirmed=True))


@pytest.mark.parametrize("where", [{"container": {"kind": "docker"}}, {"container": {"kind": "kubernetes"}}, {"os": {"wsl": True}}])
def test_containers_and_wsl_never_get_linux_driver_commands(matrix: Matrix, where: dict[str, Any]) -> None:
    for (distribution, version), gpu, root in product(systems(matrix), (A10, V100, B200, RTX), (True, False, None)):
        situation = host(matrix, distribution, version, gpu, limits={"root": root} if root is not None else {}, **dict(where))
        for branch in (580, 595):
            assert driver_commands(situation, matrix, branch, unconfirmed=True) == ()
        assert headers_commands(situation, matrix) == ()


def test_no_generation_gets_a_branch_or_a_module_that_is_not_for_it(matrix: Matrix) -> None:
    for gpu in matrix.gpus:
        if gpu.kind == "soc":
            continue
        situation = host(matrix, "rocky", "9.4", gpu.name)
        cards = cards_of(situation, matrix)
        branches = list(serving_branches(situation, matrix, cards))
        if gpu.architecture in ("Volta", "Pascal", "Maxwell"):
            assert branches == [580], gpu.name  # the last that serves them, with fixes until 2028-06
            assert flavour_of(cards, matrix) == "proprietary"
            assert any("580-dkms" in line for line in driver_commands(situation, matrix, 580))
        elif gpu.architecture.startswith("Blackwell"):
            assert flavour_of(cards, matrix) == "open"
            assert not any("-dkms" in line for branch in branches for line in driver_commands(situation, matrix, branch))
        assert all(matrix.branch(branch).ended is False for branch in branches if matrix.branch(branch))  # type: ignore[union-attr]
        assert planned_branch(situation, matrix) not in (535, 550, 570, 590, 610, 615)


def test_mixed_generations_take_what_drives_both(matrix: Matrix) -> None:
    both = host(matrix, "rocky", "9.4", V100, A10)
    assert list(serving_branches(both, matrix, cards_of(both, matrix))) == [580]
    assert flavour_of(cards_of(both, matrix), matrix) == "proprietary"
    impossible = host(matrix, "rocky", "9.4", V100, B200)
    assert flavour_of(cards_of(impossible, matrix), matrix) is None
    assert driver_commands(impossible, matrix, 580) == ()


def test_the_driver_of_a_board_comes_with_its_system(matrix: Matrix) -> None:
    for gpu in (gpu.name for gpu in matrix.gpus if gpu.kind == "soc"):
        situation = host(matrix, "ubuntu", "22.04", gpu, os={"arch": "aarch64"})
        assert list(serving_branches(situation, matrix, cards_of(situation, matrix))) == []
        assert driver_commands(situation, matrix, 580) == ()


def test_a_hidden_card_must_be_served_too(matrix: Matrix) -> None:
    hidden = host(matrix, "rocky", "9.4", A10, V100, environment={"CUDA_VISIBLE_DEVICES": "0"})
    assert list(serving_branches(hidden, matrix, cards_of(hidden, matrix))) == [580]


def test_known_releases_are_of_their_branch_and_newer_than_the_cards(matrix: Matrix) -> None:
    cards = cards_of(host(matrix, "rocky", "9.4", A10), matrix)
    found = known_release(matrix, 580, cards)
    assert found is not None
    assert found.branch == 580
    assert found.parsed >= (580, 95, 5)
    assert known_release(matrix, 999, cards) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Components: main non-free-firmware", "Components: main contrib non-free-firmware"),
        ("Components: main contrib", "Components: main contrib"),
        ("URIs: https://mirror.example/debian", "URIs: https://mirror.example/debian"),
    ],
)
def test_the_area_contrib_is_added_once(matrix: Matrix, processes: None, before: str, after: str) -> None:
    system = matrix.root_steps.system("debian", "13", "x86_64")
    assert system is not None
    script = re.search(r"-i '([^']+)'", system.repository()[0])
    assert script is not None
    done = subprocess.run(["sed", script[1]], input=before + "\n", capture_output=True, text=True, check=True)
    assert done.stdout == after + "\n"


@pytest.mark.parametrize("mainland", [False, True])
def test_the_toolkits_list_is_signed_and_points_where_it_was_fetched(matrix: Matrix, processes: None, mainland: bool) -> None:
    system = matrix.root_steps.system("ubuntu", "22.04", "x86_64", mainland=mainland)
    assert system is not None
    script = re.search(r"sed '([^']+)'", " ".join(system.toolkit()))
    assert script is not None
    # the list as NVIDIA publishes it
    lines = [f"{word} https://nvidia.github.io/libnvidia-container/{kind}/deb/$(ARCH) /" for word, kind in LISTED]
    lists = "\n".join(lines) + "\n"
    done = subprocess.run(["sed", script[1]], input=lists, capture_output=True, text=True, check=True)
    origin = "https://mirrors.ustc.edu.cn/libnvidia-container" if mainland else "https://nvidia.github.io/libnvidia-container"
    first, second = done.stdout.splitlines()
    assert first == f"deb [signed-by=/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg] {origin}/stable/deb/$(ARCH) /"
    assert second.startswith("#deb ")


def test_engines_are_configured_each_in_its_way(matrix: Matrix) -> None:
    situation = host(matrix, "ubuntu", "22.04", A10)
    assert toolkit_commands(situation, matrix, "docker")[-2:] == (
        "sudo nvidia-ctk runtime configure --runtime=docker",
        "sudo systemctl restart docker",
    )
    assert toolkit_commands(situation, matrix, "cri-o", install=False)[0] == "sudo nvidia-ctk runtime configure --runtime=crio"
    assert toolkit_commands(situation, matrix, "podman", install=False) == ("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",)


def test_forward_compatibility_serves_what_nvidias_table_lists(matrix: Matrix) -> None:
    # docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html: rows 12-9 and 13-0, columns 535, 570, 580
    serves = {entry.cuda: entry.serves for entry in matrix.root_steps.file.compat}
    assert {535, 570} <= set(serves["12.9"])
    assert {535, 570} <= set(serves["13.0"])
    assert 580 not in serves["12.9"]
    assert 580 not in serves["13.0"]
    assert 580 in serves["13.1"]
    assert [entry.cuda for entry in matrix.root_steps.compat(595)] == ["13.3", "13.4"]
    assert matrix.root_steps.compat(470) == []
