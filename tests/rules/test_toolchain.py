"""Compilers, toolkits and loaders: what a remedy types on which host, what a plan asks, and text that no shell would take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules.check import Judgement
from envcheck.rules.nvcc import missing_nvcc

Ask = Callable[..., Judgement]
BARE = {"python.compiler": None, "os.id": "ubuntu", "os.version": "22.04"}
OLD_TRITON = {"packages": {"vllm": "0.15.1", "torch": "2.9.1"}, "torch": {"version": "2.9.1+cu128", "cuda": "12.8"}}
LINKLESS = {**OLD_TRITON, "libcuda": {"path": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05", "development_link": False}}
POLLUTED = {
    "packages": {"vllm": "0.7.3", "torch": "2.5.1"},
    "torch": {"version": "2.5.1+cu124", "cuda": "12.4"},
    "loader_folders": [{"path": "/opt/old dir/lib64", "named_by": "LD_LIBRARY_PATH", "libraries": ["libnvJitLink.so.12.2.140"]}],
}


def found(judgement: Judgement, code: str) -> Finding:
    everything = [inner for finding in judgement.findings for inner in (finding, *finding.consequences)]
    return next(finding for finding in everything if finding.code == code)


def commands(judgement: Judgement, code: str) -> list[str]:
    return [command for remedy in found(judgement, code).remedies for command in remedy.commands]


@pytest.mark.parametrize(
    ("system", "typed"),
    [
        ({"os.id": "ubuntu"}, "sudo apt-get install -y gcc g++ libc6-dev"),
        ({"os.id": "rocky", "os.version": "9.4"}, "sudo dnf install -y gcc gcc-c++"),
        ({"os.id": "ubuntu", "limits": {"root": True}}, "apt-get install -y gcc g++ libc6-dev"),
        ({"os.id": "debian", "container": {"kind": "docker"}}, "apt-get install -y gcc g++ libc6-dev"),
        ({"os.name": "Ubuntu 22.04.5 LTS"}, "sudo apt-get install -y gcc g++ libc6-dev"),
    ],
)
def test_a_compiler_comes_by_the_distributions_own_command(ask: Ask, system: dict[str, Any], typed: str) -> None:
    assert typed in commands(ask("installed", {"python.compiler": None, **system}), "compiler-missing-for-jit")


def test_an_unknown_distribution_is_told_no_command(ask: Ask) -> None:
    judgement = ask("installed", {"python.compiler": None, "os": {"name": "Gentoo", "arch": "x86_64", "glibc": "2.39"}})
    assert commands(judgement, "compiler-missing-for-jit") == []


def test_in_condas_environment_the_first_way_needs_no_root(ask: Ask) -> None:
    first = found(ask("installed", {**BARE, "python.environment": "conda"}), "compiler-missing-for-jit").remedies[0]
    assert not first.needs_root
    assert first.commands[0].startswith("conda install")


@pytest.mark.parametrize(
    ("python", "version", "typed"),
    [("3.10.12", "22.04", "sudo apt-get install -y python3-dev"), ("3.12.3", "22.04", "sudo apt-get install -y python3.12-dev")],
)
def test_headers_are_those_of_this_interpreter(ask: Ask, python: str, version: str, typed: str) -> None:
    # Ubuntu 22.04 has Python 3.10; another one keeps its minor release in the package's name.
    facts = {"python": {"version": python, "headers": False, "prefix": "/usr"}, "os.id": "ubuntu", "os.version": version}
    assert commands(ask("installed", facts), "python-headers-missing")[0] == typed


def test_an_interpreter_of_its_own_place_gets_no_package_of_the_distribution(ask: Ask) -> None:
    facts = {"python": {"version": "3.12.3", "headers": False, "prefix": "/opt/python"}, "os.id": "ubuntu", "os.version": "22.04"}
    assert commands(ask("installed", facts), "python-headers-missing") == ["uv venv --managed-python --python 3.12"]


def test_the_link_is_made_without_root_first(ask: Ask) -> None:
    typed = commands(ask("installed", LINKLESS), "libcuda-symlink-missing")
    assert "ln -sf /usr/lib/x86_64-linux-gnu/libcuda.so.1 ~/.cuda/libcuda.so" in typed
    assert typed[-1] == "sudo ln -s libcuda.so.1 /usr/lib/x86_64-linux-gnu/libcuda.so"


def test_under_wsl_nothing_is_written_into_the_folder_of_windows(ask: Ask) -> None:
    facts = {**LINKLESS, "os.wsl": True, "libcuda": {"path": "/usr/lib/wsl/lib/libcuda.so.1", "development_link": False}}
    assert not any(command.startswith("sudo") for command in commands(ask("installed", facts), "libcuda-symlink-missing"))


def test_what_follows_from_a_missing_compiler_is_said_under_it(ask: Ask) -> None:
    judgement = ask("installed", {**LINKLESS, "python.compiler": None, "python.headers": False})
    first = judgement.findings[0]
    assert first.code == "compiler-missing-for-jit"
    assert {inner.code for inner in first.consequences} == {"python-headers-missing", "libcuda-symlink-missing"}


def test_the_variable_keeps_what_else_is_in_it(ask: Ask) -> None:
    facts = {**POLLUTED, "environment": {"LD_LIBRARY_PATH": "/opt/mpi/lib:/opt/old dir/lib64/:/opt/x;y"}}
    assert commands(ask("installed", facts), "library-path-pollution") == ["export LD_LIBRARY_PATH='/opt/mpi/lib:/opt/x;y'"]


def test_a_variable_with_nothing_else_is_unset(ask: Ask) -> None:
    facts = {**POLLUTED, "environment": {"LD_LIBRARY_PATH": "/opt/old dir/lib64"}}
    assert commands(ask("installed", facts), "library-path-pollution") == ["unset LD_LIBRARY_PATH"]


def test_the_kernels_are_installed_for_torchs_cuda_and_of_the_pinned_release(ask: Ask, matrix: Matrix) -> None:
    typed = commands(ask("a100", {"toolkits": []}, vllm="0.21.0"), "nvcc-missing-for-jit")
    release = matrix.release("0.21.0")
    assert release is not None
    pin = release.record.requires["flashinfer-python"].removeprefix("==")
    assert typed[0] == "export VLLM_USE_FLASHINFER_SAMPLER=0"
    assert typed[1] == f"python -m pip install flashinfer-jit-cache=={pin} --index-url https://flashinfer.ai/whl/cu130"


def test_a_plan_learns_what_to_switch_off(ask: Ask, matrix: Matrix) -> None:
    without, beside = ask("a100", {"toolkits": []}), ask("a100", {"toolkits": [{"version": "13.0.1", "selected_by": ["PATH"]}]})
    newest = without.release
    assert newest is not None
    missing = missing_nvcc(without.situation, matrix, newest)
    assert [(entry.variable, entry.off) for entry in missing] == [("VLLM_USE_FLASHINFER_SAMPLER", "0")]
    assert missing_nvcc(beside.situation, matrix, newest) == ()
    assert missing_nvcc(ask("a100", {}).situation, matrix, newest) == ()


def test_all_that_would_be_compiled_is_switched_off(ask: Ask) -> None:
    gpu = [{"index": 0, "name": "NVIDIA H20", "compute_capability": "9.0", "memory_mib": 97871}]
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    typed = commands(ask("a100", {"gpus": gpu, "toolkits": []}, vllm="0.21.0", model_config=config), "nvcc-missing-for-jit")
    assert typed[:2] == ["export VLLM_USE_DEEP_GEMM=0", "export VLLM_USE_FLASHINFER_SAMPLER=0"]


HOSTILE = (
    "",
    ":",
    "::::",
    "/" * 5000,
    "\x00",
    "a" * 100_000,
    "12.4" * 1000,
    "/usr/local/cuda-99999999999.1/lib64",
    "'; rm -rf /",
    "é" * 300,
)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_host_breaks_a_rule(ask: Ask, text: str) -> None:
    facts = {
        **POLLUTED,
        "environment": {"LD_LIBRARY_PATH": text, "LD_PRELOAD": text, "CUDA_HOME": text, "CC": text, "TORCH_CUDA_ARCH_LIST": text},
        "python": {"version": "3.12.3", "compiler": text or None, "headers": False, "prefix": text},
        "libcuda": {"path": text, "development_link": False},
        "cuda_home": {"variable": text, "value": text, "exists": False},
        "toolkits": [{"version": text, "path": text, "selected_by": [text]}, {"version": "12.4", "path": text, "selected_by": ["PATH"]}],
        "package_origins": {"vllm": {"url": "file:///x", "editable": True}},
        "loader_folders": [{"path": text, "named_by": "LD_PRELOAD", "libraries": [text, f"libnccl.so.{text}", "libnccl.so.2.1"]}],
    }
    judgement = ask("installed", facts)
    for finding in judgement.findings:
        assert len(str(finding.detail.params)) < 4000
    assert found(judgement, "python-headers-missing").remedies


@pytest.mark.parametrize(
    ("cuda", "gcc"), [((11, 8), 11), ((12, 0), 12), ((12, 3), 12), ((12, 4), 13), ((12, 6), 13), ((12, 9), 14), ((13, 0), 15)]
)
def test_gcc_limits_are_those_of_nvidias_header(matrix: Matrix, cuda: tuple[int, int], gcc: int) -> None:
    # `#if __GNUC__ > N` of crt/host_config.h in the nvcc wheels of these releases
    assert matrix.toolchain.newest_gcc(cuda) == gcc


def test_toolkits_outside_the_records_have_no_limit(matrix: Matrix) -> None:
    assert matrix.toolchain.newest_gcc((10, 2)) is None
    assert matrix.toolchain.newest_gcc((14, 0)) is None


def test_a_variables_name_of_a_host_gets_into_no_command(ask: Ask) -> None:
    facts = {"cuda_home": {"variable": "X=1; rm -rf ~; Y", "value": "/no/such/place", "exists": False}}
    assert commands(ask("installed", facts), "cuda-home-malformed") == ["unset CUDA_HOME"]
