"""The commands a plan gives: what an installer would really do with them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest

from envcheck.matrix.load import Matrix
from envcheck.planning.install import TORCH_PACKAGES

PlanFor = Callable[..., Any]
HostOf = Callable[..., dict[str, Any]]

A10 = ("NVIDIA A10", "8.6", "535.161.08")
MAINLAND = {"aliyun": "cn-hangzhou", "tencent": "ap-guangzhou", "huawei": "cn-north-4", "volcengine": "cn-beijing"}
ABROAD = {"aliyun": "us-west-1", "tencent": "na-siliconvalley", "huawei": "eu-west-101"}
HOSTILE_PATHS = [
    "/opt/my env/bin/python3.12",
    "/tmp/$(reboot)/python",
    "/tmp/a;rm -rf ~/python",
    "/tmp/'\"`/python\n--upgrade",
    "/opt/--index-url=http:/evil/python",
]


def arm(**more: Any) -> dict[str, Any]:
    return {"os": {"arch": "aarch64", "glibc": "2.35"}, **more}


def cloud(provider: str, region: str | None) -> dict[str, Any]:
    return {"cloud": {"provider": provider, "region": region}}


def install_line(planned: Any, tool: str) -> tuple[str, ...]:
    """The command that installs vLLM."""
    found: tuple[str, ...] = next(argv for argv in planned.argv(tool) if any(re.match("vllm( @|==)", argument) for argument in argv))
    return found


def urls(planned: Any) -> list[str]:
    texts = [argument for tool in ("uv", "pip") for argv in planned.argv(tool) for argument in argv]
    texts += [mirror.url for mirror in planned.plan.mirrors]
    return [text[text.index("http") :] for text in texts if "http" in text]


def test_commands_are_lists_and_begin_with_what_is_run(plan_for: PlanFor, host_of: HostOf) -> None:
    planned = plan_for(host_of(*A10))
    for tool, first in (("uv", {"uv", "vllm-env/bin/python"}), ("pip", {"/usr/bin/python3.12", "vllm-env/bin/python"})):
        assert {argv[0] for argv in planned.argv(tool)} == first
        for argv in planned.argv(tool):
            assert all(isinstance(argument, str) and argument for argument in argv)


def test_a_fresh_environment_comes_first_and_a_look_at_the_gpu_last(plan_for: PlanFor, host_of: HostOf) -> None:
    planned = plan_for(host_of(*A10))
    assert planned.argv("uv")[0] == ("uv", "venv", "--allow-existing", "--python", "3.12", "vllm-env")
    assert planned.argv("pip")[0] == ("/usr/bin/python3.12", "-m", "venv", "vllm-env")
    for tool in ("uv", "pip"):
        assert planned.argv(tool)[-1][:2] == ("vllm-env/bin/python", "-c")
        compile(planned.argv(tool)[-1][2], "check", "exec")


def test_the_index_wheel_is_asked_for_by_its_version_alone(plan_for: PlanFor, host_of: HostOf) -> None:
    planned = plan_for(host_of("NVIDIA H200", "9.0", "580.95.05"))
    assert planned.argv("uv")[1] == ("uv", "pip", "install", "--python", "vllm-env/bin/python", "vllm==0.33.0")
    assert planned.argv("pip")[2] == ("vllm-env/bin/python", "-m", "pip", "install", "vllm==0.33.0")


def test_bounds_that_the_metadata_lacks_are_added(plan_for: PlanFor, host_of: HostOf, matrix: Matrix) -> None:
    # 0.11.0 asks for transformers >=4.55.2 only; transformers 5 came later and it does not run with it
    release = matrix.release("0.11.0")
    assert release is not None
    assert release.record.requires["transformers"] == ">=4.55.2"
    for tool in ("uv", "pip"):
        assert "transformers<5" in install_line(plan_for(host_of(*A10), vllm="0.11.0"), tool)


CASES: list[tuple[tuple[str, str, str], dict[str, Any], str | None]] = [
    (A10, {}, None),
    (A10, cloud("aliyun", "cn-hangzhou"), None),
    (A10, {}, "0.32.0+cu129"),
    (A10, cloud("aliyun", "cn-hangzhou"), "0.32.0+cu129"),
    (("Tesla T4", "7.5", "470.161.03"), {}, None),
    (("Tesla T4", "7.5", "470.161.03"), cloud("tencent", None), None),
    (("NVIDIA GH200 480GB", "9.0", "550.54.15"), arm(), "0.19.1"),
    (("NVIDIA GH200 480GB", "9.0", "550.54.15"), arm(**cloud("huawei", "cn-north-4")), "0.19.1"),
    (("NVIDIA GeForce RTX 5090", "12.0", "570.144"), {}, "0.10.1.1"),
    (("NVIDIA H200", "9.0", "580.95.05"), {}, None),
]


@pytest.mark.parametrize(("card", "more", "release"), CASES)
def test_a_command_never_mixes_cuda_majors(
    plan_for: PlanFor, host_of: HostOf, matrix: Matrix, card: tuple[str, str, str], more: dict[str, Any], release: str | None
) -> None:
    planned = plan_for(host_of(*card, **more), vllm=release)
    stack = planned.plan.stack or planned.plan.ways_out[0]
    pinned = matrix.torch(stack.torch)
    assert pinned is not None
    torch = pinned.build(stack.arch, stack.torch_variant)
    assert torch is not None
    assert torch.cuda is not None, "torch without CUDA"
    assert torch.cuda[0] == stack.cuda_major
    labels = {
        word for tool in ("uv", "pip") for argv in planned.argv(tool) for word in " ".join(argv).replace("/", " ").replace("+", " ").split()
    }
    majors = {label[2:4] for label in labels if label[:2] == "cu" and label[2:5].isdigit()}
    assert majors <= {str(stack.cuda_major)}


@pytest.mark.parametrize(("card", "more", "release"), CASES)
def test_a_torch_backend_is_named_only_for_a_variant_and_beside_no_mirror(
    plan_for: PlanFor, host_of: HostOf, card: tuple[str, str, str], more: dict[str, Any], release: str | None
) -> None:
    planned = plan_for(host_of(*card, **more), vllm=release)
    stack = planned.plan.stack or planned.plan.ways_out[0]
    mirrored = any(mirror.kind == "torch-wheels" for mirror in planned.plan.mirrors)
    backends = [argument for argument in install_line(planned, "uv") if "torch-backend" in argument]
    expected = [f"--torch-backend={stack.torch_variant}"] if stack.torch_variant and not mirrored else []
    assert backends == expected
    assert not any("torch-backend" in argument for argv in planned.argv("pip") for argument in argv)


def test_beside_a_mirror_labels_choose_torch(plan_for: PlanFor, host_of: HostOf) -> None:
    line = install_line(plan_for(host_of(*A10, **cloud("aliyun", "cn-hangzhou")), vllm="0.32.0+cu129"), "uv")
    assert "torch==2.13.0+cu129" in line
    assert line[line.index("--find-links") + 1] == "https://mirrors.aliyun.com/pytorch-wheels/cu129"  # a flat listing is no index


def test_beside_a_mirror_with_an_index_torch_comes_first_from_there_alone(plan_for: PlanFor, host_of: HostOf) -> None:
    # uv takes a package from the first index that has it; torch's index has old releases of much that vLLM needs newer
    planned = plan_for(host_of("NVIDIA GH200 480GB", "9.0", "550.54.15", **arm(**cloud("huawei", None))), vllm="0.19.1")
    torch, vllm = [argv for argv in planned.argv("uv") if "install" in argv]
    mirror = next(mirror.url for mirror in planned.plan.mirrors if mirror.kind == "torch-wheels")
    assert torch[torch.index("--default-index") + 1] == mirror
    assert {"torch==2.10.0+cu128", "torchvision==0.25.0+cu128", "torchaudio==2.10.0+cu128"} < set(torch)
    assert mirror not in vllm
    assert "vllm==0.19.1" in vllm


def test_pip_takes_a_variant_of_torch_in_a_step_of_its_own(plan_for: PlanFor, host_of: HostOf) -> None:
    # pip merges indexes and takes the highest version, so vLLM's own index must not be asked in the same step
    planned = plan_for(host_of(*A10), vllm="0.32.0+cu129")
    steps = [argv for argv in planned.argv("pip") if "install" in argv and "--upgrade" not in argv]
    assert len(steps) == 2
    torch, vllm = steps
    assert torch[torch.index("--index-url") + 1].endswith("/whl/cu129")
    assert {argument.split("==")[0] for argument in torch if "==" in argument} <= set(TORCH_PACKAGES)
    assert not any(argument.startswith("vllm") for argument in torch[1:])
    assert "--index-url" not in vllm
    assert not any("extra-index-url" in argument for argv in planned.argv("pip") for argument in argv)


def test_a_wheel_of_the_release_page_is_taken_by_its_address(plan_for: PlanFor, host_of: HostOf) -> None:
    for tool in ("uv", "pip"):
        (wheel,) = [
            argument for argument in install_line(plan_for(host_of(*A10), vllm="0.32.0+cu129"), tool) if argument.startswith("vllm @")
        ]
        assert wheel.startswith("vllm @ https://github.com/vllm-project/vllm/releases/download/v0.32.0/vllm-0.32.0+cu129-")
        assert wheel.endswith("x86_64.whl")


@pytest.mark.parametrize(("provider", "region"), MAINLAND.items())
@pytest.mark.parametrize("known", [True, False])
def test_mirrors_are_public_and_https(plan_for: PlanFor, host_of: HostOf, matrix: Matrix, provider: str, region: str, known: bool) -> None:
    for release in (None, "0.32.0+cu129"):
        planned = plan_for(host_of(*A10, python="3.8.10", **cloud(provider, region if known else None)), vllm=release)
        assert {mirror.kind for mirror in planned.plan.mirrors} >= {"python-index", "python-builds", "model-hub"}
        own = {urlsplit(mirror.url).hostname for mirror in matrix.mirrors() if mirror.scope == "vpc"}
        assert own, "no in-cloud mirror to compare with"
        for url in urls(planned):
            assert url.startswith("https://")
            assert urlsplit(url).hostname not in own
            assert "@" not in urlsplit(url).netloc


@pytest.mark.parametrize(("provider", "region"), ABROAD.items())
def test_abroad_nothing_is_mirrored(plan_for: PlanFor, host_of: HostOf, provider: str, region: str) -> None:
    planned = plan_for(host_of(*A10, **cloud(provider, region)))
    assert planned.plan.mirrors == ()
    assert urls(planned) == []


@pytest.mark.parametrize("provider", ["aws", "gcp", "azure", "nobody's", "", None])
def test_other_clouds_are_not_mirrored(plan_for: PlanFor, host_of: HostOf, provider: str | None) -> None:
    assert plan_for(host_of(*A10, cloud={"provider": provider})).plan.mirrors == ()


def test_an_interpreter_too_old_is_replaced_in_the_environment(plan_for: PlanFor, host_of: HostOf) -> None:
    planned = plan_for(host_of(*A10, python="3.8.10"))
    assert (planned.plan.stack.python, planned.plan.stack.new_python) == ("3.12", True)
    assert planned.argv("uv")[0] == ("uv", "venv", "--allow-existing", "--python", "3.12", "vllm-env")
    assert planned.argv("pip")[0][0] == "python3.12"  # not the host's 3.8
    (why,) = [step.why.key for step in planned.recipe("pip").steps if "venv" in step.argv]
    assert why == "plan.step.venv-needs-python"  # pip brings no interpreter, and the plan says so


def test_behind_a_mirror_the_interpreter_comes_from_one_too(plan_for: PlanFor, host_of: HostOf) -> None:
    planned = plan_for(host_of(*A10, python="3.8.10", **cloud("tencent", None)))
    first = planned.argv("uv")[0]
    assert first[:4] == ("uv", "python", "install", "--mirror")
    assert first[4].startswith("https://")
    assert first[5] == "3.12"


@pytest.mark.parametrize("path", HOSTILE_PATHS)
def test_a_hostile_path_stays_one_argument(plan_for: PlanFor, host_of: HostOf, path: str) -> None:
    planned = plan_for({**host_of(*A10), "python": {"version": "3.12.3", "executable": path}})
    assert planned.argv("pip")[0] == (path, "-m", "venv", "vllm-env")
    assert all(path not in argument for argv in (*planned.argv("uv"), *planned.argv("pip")[1:]) for argument in argv)


def test_nothing_secret_of_the_host_is_written_down(plan_for: PlanFor, host_of: HostOf) -> None:
    secrets = {"HF_TOKEN": "hf_secret", "PIP_INDEX_URL": "https://me:hunter2@example.com/simple", "VLLM_API_KEY": "sk-secret"}
    planned = plan_for(host_of(*A10, environment=secrets, container={"environment": secrets}, **cloud("aliyun", None)))
    written = repr((planned.plan.install, planned.plan.mirrors, planned.plan.notes, planned.plan.findings))
    assert not any(word in written for word in ("hf_secret", "hunter2", "sk-secret"))


def test_what_is_installed_and_works_is_left_alone(plan_for: PlanFor, host_of: HostOf) -> None:
    host = host_of(*A10, packages={"vllm": "0.19.1"})
    planned = plan_for({**host, "torch": {"version": "2.10.0+cu128", "cuda": "12.8"}})
    assert planned.plan.install == ()
    assert [note.key for note in planned.plan.notes] == ["plan.note.installed"]


def test_what_is_installed_and_broken_is_installed_afresh(plan_for: PlanFor, host_of: HostOf) -> None:
    host = host_of(*A10, packages={"vllm": "0.19.1"})
    planned = plan_for({**host, "torch": {"version": "2.9.1+cu128", "cuda": "12.8"}})
    assert "vllm==0.19.1" in install_line(planned, "uv")


def test_without_a_gpu_there_is_nothing_to_install(plan_for: PlanFor, host_of: HostOf) -> None:
    planned = plan_for({**host_of(*A10), "gpus": []})
    assert planned.plan.stack is None
    assert planned.plan.install == ()
