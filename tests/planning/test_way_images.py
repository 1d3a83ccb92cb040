"""Container images as ways: only tags that exist, proved by the judge, none newer that would do; commands that share nothing unasked."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Verdict
from envcheck.model.host import HostReport
from envcheck.model.request import Pins, Request
from envcheck.model.ways import ImageUse, Way
from envcheck.planning.stack import choose_stack
from envcheck.planning.ways.context import context_of
from envcheck.planning.ways.enumerate import ways_of
from envcheck.planning.ways.image_commands import Run, chosen_gpus, commands
from envcheck.planning.ways.images import images
from envcheck.planning.ways.patch import patched
from envcheck.rules.check import Judgement, judge

A100, H100, RTX, V100, T4 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA GeForce RTX 4090", "Tesla V100-SXM2-32GB", "Tesla T4"
GPUS = (
    *((A100, "8.0"), (H100, "9.0"), (RTX, "8.9"), (V100, "7.0"), (T4, "7.5"), ("NVIDIA A10", "8.6")),
    *(("NVIDIA GeForce RTX 5090", "12.0"), ("NVIDIA B200", "10.0"), ("NVIDIA H20", "9.0"), ("NVIDIA GeForce GTX 1080 Ti", "6.1")),
)
DRIVERS = (
    "470.161.03",
    "525.147.05",
    "530.30.02",
    "535.183.01",
    "550.163.01",
    "560.35.05",
    "570.144",
    "575.57.08",
    "580.95.05",
    "595.58.03",
)
# The first and last driver branch of a card, where the list above goes beyond it.
FIRST = {H100: 525, RTX: 525, "NVIDIA H20": 535, "NVIDIA B200": 570, "NVIDIA GeForce RTX 5090": 570}
LAST = {V100: 580, "NVIDIA GeForce GTX 1080 Ti": 580}
SWITCH = "VLLM_ENABLE_CUDA_COMPATIBILITY"
Document = dict[str, Any]


@pytest.fixture(scope="module")
def facts() -> Matrix:
    return Matrix(Path(__file__).parents[2] / "matrices")


def host(gpu: str, capability: str, driver: str, *, arch: str = "x86_64", count: int = 1, **more: Any) -> Document:
    return {
        "os": {
            "name": "CentOS Linux 7 (Core)",
            "id": "centos",
            "version": "7",
            "arch": arch,
            "glibc": "2.17",
            "kernel": "5.15.0-91-generic",
        },
        "python": {"version": "3.6.8"},
        "driver": {"version": driver, "nvml": "ok"},
        "gpus": [{"index": place, "name": gpu, "compute_capability": capability} for place in range(count)],
        "packages": {},
        "torch": None,
        **more,
    }


def judged(document: Document, matrix: Matrix, request: Request | None = None) -> Judgement:
    return judge(msgspec.convert(document, HostReport), matrix, request or Request())


def ways(document: Document, matrix: Matrix, **request: Any) -> list[Way]:
    asked = Request(**request)
    return list(images(context_of(judged(document, matrix, asked), matrix, asked)))


def changed(document: Document, after: dict[str, Any], matrix: Matrix, asks: str | None = None) -> Judgement:
    """The judgement on the host as a way leaves it."""
    return judge(patched(msgspec.convert(document, HostReport), after), matrix, Request(vllm=asks))


def references(found: list[Way]) -> list[tuple[str, bool]]:
    return [(way.image.reference.partition(":")[2], way.image.compat) for way in found if way.image]


@pytest.mark.parametrize(
    ("gpu", "capability", "driver", "asked", "expected"),
    [
        (A100, "8.0", "580.95.05", None, [("v0.33.0", False)]),
        # CUDA 13 on branch 535: by the image's own libcuda, as vLLM's documentation says; 0.32.0 is the last with a CUDA 12 image
        (A100, "8.0", "535.183.01", None, [("v0.33.0", True), ("v0.32.0-cu129", False)]),
        (A100, "8.0", "535.183.01", "0.33.0", [("v0.33.0", True)]),
        # the documentation names 535 and 570 only; on 550 the release asked for cannot be kept
        (A100, "8.0", "550.163.01", "0.33.0", [("v0.32.0-cu129", False)]),
        (A100, "8.0", "550.163.01", "0.26.0", [("v0.26.0-cu129", False)]),
        # GeForce takes no forward compatibility (804), and the gates of CUDA 12.8 and newer let it pass by no older branch;
        # the 12.4 gate does, after which its own libcuda is taken: the CUDA 12.1 images are the first that do not need it
        (RTX, "8.9", "535.183.01", "0.33.0", [("v0.7.3", False)]),
        # branch 530 is on no list but shows CUDA 12.1 itself
        (V100, "7.0", "530.30.02", None, [("v0.7.3", False)]),
        # Volta: the last release with sm_70, though the driver would take newer ones
        (V100, "7.0", "580.95.05", None, [("v0.19.1", False)]),
        # branch 570 of a Blackwell card of the consumer kind shows CUDA 12.8
        ("NVIDIA GeForce RTX 5090", "12.0", "570.144", None, [("v0.11.0", False)]),
        # Pascal has no code in any image
        ("NVIDIA GeForce GTX 1080 Ti", "6.1", "580.95.05", None, []),
        # PTX of CUDA 12.9 on Hopper: whole by the image's own libcuda, else in part
        (H100, "9.0", "535.183.01", "0.32.0+cu129", [("v0.32.0-cu129", True), ("v0.32.0-cu129", False)]),
    ],
)
def test_the_newest_image_that_runs(
    facts: Matrix, gpu: str, capability: str, driver: str, asked: str | None, expected: list[tuple[str, bool]]
) -> None:
    assert references(ways(host(gpu, capability, driver), facts, vllm=asked)) == expected


def test_a_release_that_cannot_be_kept_is_said_to_break_the_wish(facts: Matrix) -> None:
    found = ways(host(A100, "8.0", "550.163.01"), facts, vllm="0.33.0")
    assert [way.breaks for way in found] == [("vllm",)]
    assert [way.breaks for way in ways(host(A100, "8.0", "535.183.01"), facts, vllm="0.33.0")] == [()]


def test_machines_of_another_kind_have_images_from_0_10_2_on(facts: Matrix) -> None:
    gh200 = host("NVIDIA GH200 480GB", "9.0", "580.95.05", arch="aarch64")
    assert references(ways(gh200, facts, vllm="0.10.2")) == [("v0.10.2", False)]
    assert [way.breaks for way in ways(gh200, facts, vllm="0.9.2")] == [("vllm",)]
    assert ways(host("NVIDIA GH200 480GB", "9.0", "580.95.05", arch="ppc64le"), facts) == []


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_every_image_offered_runs_and_no_newer_one_would(facts: Matrix, arch: str) -> None:
    """Closed loop and brute force: the judge is asked about every image that a plan may name, with and without its own libcuda."""
    offered = 0
    for (gpu, capability), driver in product(GPUS, DRIVERS):
        document = host(gpu, capability, driver, arch=arch)
        found = ways(document, facts)
        if not FIRST.get(gpu, 0) <= int(driver[:3]) <= LAST.get(gpu, 999):
            continue  # such a host there is not: the driver does not list the card
        proofs = [changed(document, way.after, facts, way.asks) for way in found]
        assert [proof.verdict for proof in proofs if proof.verdict in (Verdict.BLOCKED, Verdict.UNKNOWN)] == [], (gpu, driver, found)
        assert [proof.release.raw if proof.release else None for proof in proofs] == [way.image.release for way in found if way.image]
        offered += len(found)
        newest = facts.release(found[-1].image.release) if found and found[-1].image else None
        for release in facts.releases:
            if newest is not None and release.version <= newest.version:
                break
            for tag in facts.images.table.tags(release.raw, arch):
                if tag.basis != "unverified":
                    inside = {"container": {"kind": "docker", "image": tag.reference}, "driver.nvml": None}
                    assert changed(document, inside, facts).verdict is Verdict.BLOCKED, (gpu, driver, tag.reference)
    assert offered >= 40


def test_nothing_but_tags_of_releases_is_named(facts: Matrix) -> None:
    for (gpu, capability), driver in product(GPUS, DRIVERS):
        for way in ways(host(gpu, capability, driver), facts):
            assert way.image is not None
            release = facts.release(way.image.release)
            assert release is not None
            assert way.image.reference.partition(":")[2] in facts.images.table.names(release.version)
            assert way.image.basis in ("pipeline", "neighbour")
            assert "ubuntu2404" not in way.image.reference


@pytest.mark.parametrize(
    ("driver", "gpu", "capability"), [("580.95.05", RTX, "8.9"), ("595.58.03", A100, "8.0"), ("535.183.01", RTX, "8.9")]
)
def test_its_own_libcuda_is_never_asked_for_where_803_or_804_follows(facts: Matrix, driver: str, gpu: str, capability: str) -> None:
    assert all(
        not way.image.compat and SWITCH not in way.image.environment for way in ways(host(gpu, capability, driver), facts) if way.image
    )


def test_wsl_has_no_libcuda_of_the_image(facts: Matrix) -> None:
    document = host(A100, "8.0", "535.183.01")
    document["os"] |= {"wsl": True}
    assert references(ways(document, facts)) == [("v0.32.0-cu129", False)]
    assert not any("sudo" in line for way in ways(document, facts) for line in way.commands)


@pytest.mark.parametrize("cloud", [{}, {"platform": "autodl"}, {"platform": "runpod"}])
def test_inside_a_container_the_image_is_only_named(facts: Matrix, cloud: dict[str, str]) -> None:
    document = host(A100, "8.0", "580.95.05", container={"kind": "docker"}, cloud=cloud)
    (way,) = ways(document, facts, vllm="0.33.0")
    assert (way.title.key, way.commands, way.first, way.cost.root) == ("way.image.inside", (), (), False)
    assert way.why[-1].key == ("way.why.image-platform" if cloud else "way.why.image-inside")


def test_what_a_user_keeps(facts: Matrix) -> None:
    document = host(A100, "8.0", "580.95.05", container_runtime={"engines": ["docker"], "toolkit": None})
    assert ways(document, facts, pins=Pins(container=False)) == []
    assert ways(document, facts, pins=Pins(root=False)) == []  # the toolkit is installed as root
    (way,) = ways(document, facts, pins=Pins(python="3.11", torch="2.10.0"))
    assert way.breaks == ("torch", "python")
    (way,) = ways(document, facts, pins=Pins(python="3.12", torch=">=2.14,<2.15"))
    assert way.breaks == ()


@pytest.mark.parametrize(
    ("runtime", "first"),
    [
        ({"engines": ["docker"], "toolkit": "1.17.8", "configured": ["docker"]}, []),
        ({"engines": ["docker"], "toolkit": "1.17.8", "configured": []}, ["remedy.configure-toolkit"]),
        ({"engines": ["docker"], "toolkit": None}, ["remedy.install-toolkit"]),
        ({"engines": ["docker"], "toolkit": None, "cdi": ["/etc/cdi/nvidia.yaml"]}, []),
        ({"engines": [], "toolkit": None}, ["remedy.install-engine", "remedy.install-toolkit"]),
        (None, []),
    ],
)
def test_what_must_be_there_first(facts: Matrix, runtime: dict[str, Any] | None, first: list[str]) -> None:
    document = host(A100, "8.0", "580.95.05", container_runtime=runtime)
    (way,) = ways(document, facts)
    assert [entry.note.key for entry in way.first] == first
    assert way.cost.root == bool(first)
    assert changed(document, way.after, facts, way.asks).verdict is Verdict.READY


def test_podman_where_docker_is_not(facts: Matrix) -> None:
    runtime = {"engines": ["podman"], "toolkit": "1.17.8", "configured": [], "cdi": ["/etc/cdi/nvidia.yaml"]}
    (way,) = ways(host(A100, "8.0", "580.95.05", container_runtime=runtime), facts)
    assert way.commands[0] == "podman pull docker.io/vllm/vllm-openai:v0.33.0"
    assert "--device nvidia.com/gpu=all" in way.commands[1]


def test_a_mainland_host_pulls_by_a_mirror_and_is_told_whose_it_is(facts: Matrix) -> None:
    cloud = {"provider": "aliyun", "region": "cn-hangzhou"}
    (way,) = ways(host(A100, "8.0", "580.95.05", cloud=cloud), facts, model="Qwen/Qwen3-8B")
    assert way.image is not None
    assert way.image.mirror == "docker.m.daocloud.io/vllm/vllm-openai:v0.33.0"
    assert way.commands[0] == "docker pull docker.m.daocloud.io/vllm/vllm-openai:v0.33.0"
    words = shlex.split(way.commands[1])
    assert "HF_ENDPOINT=https://hf-mirror.com" in words
    assert "HF_HUB_DISABLE_IMPLICIT_TOKEN=1" in words  # a token is for the official hub alone
    assert "way.why.image-mirror" in [why.key for why in way.why]
    (abroad,) = ways(host(A100, "8.0", "580.95.05", cloud={"provider": "aliyun", "region": "us-west-1"}), facts)
    assert abroad.image is not None
    assert abroad.image.mirror is None


def test_the_command_shares_a_loopback_port_and_the_cache_alone(facts: Matrix) -> None:
    (way,) = ways(host(A100, "8.0", "580.95.05", count=2), facts, model="Qwen/Qwen3-8B", serve_args={"tensor_parallel_size": 2, "port": 9})
    words = shlex.split(way.commands[1])
    assert words[:3] == ["docker", "run", "--rm"]
    assert words[words.index("-p") + 1] == "127.0.0.1:8000:8000"
    assert words[words.index("--shm-size") + 1] == "1024m"  # several GPUs, and an engine gives 64 MiB unasked
    assert words[words.index("vllm/vllm-openai:v0.33.0") :][1:] == ["serve", "Qwen/Qwen3-8B", "--tensor-parallel-size", "2"]
    assert not {"--privileged", "--ipc=host", "--net=host", "--network=host"} & set(words)
    assert words.count("-v") == 1
    (alone,) = ways(host(A100, "8.0", "580.95.05"), facts)
    assert "--shm-size" not in alone.commands[1]


def test_chosen_gpus_stay_chosen(facts: Matrix) -> None:
    document = host(A100, "8.0", "580.95.05", count=4, environment={"CUDA_VISIBLE_DEVICES": "0,2"})
    (way,) = ways(document, facts)
    assert shlex.split(way.commands[1])[shlex.split(way.commands[1]).index("--gpus") + 1] == '"device=0,2"'
    assert way.after["environment"] == {"CUDA_VISIBLE_DEVICES": "0,2"}
    assert chosen_gpus("GPU-4d0b") == chosen_gpus("") == chosen_gpus(None) == chosen_gpus("0,1;reboot") == ()


IMAGE = ImageUse(reference="vllm/vllm-openai:v0.33.0", release="0.33.0", cuda="13.0", environment={SWITCH: "1"})
HOSTILE = st.one_of(
    st.text(min_size=1, max_size=60),
    st.sampled_from(["$(touch x)", "`id`", "a'b\"c", "a\nb; reboot", "-rf", "--help", "/data/$(id)", "\\"]),
)


@settings(max_examples=120, deadline=None)
@given(model=HOSTILE.filter(lambda text: "\x00" not in text), value=HOSTILE.filter(lambda text: "\x00" not in text))
def test_what_a_user_wrote_stays_one_word(model: str, value: str) -> None:
    for engine in ("docker", "podman"):
        run = Run(engine=engine, model=model, environment={"HF_ENDPOINT": value}, arguments=("--served-model-name", value))
        words = shlex.split(commands(IMAGE, run)[1])
        assert f"HF_ENDPOINT={value}" in words
        assert words[-2:] == ["--served-model-name", value]
        served = words[words.index("serve") + 1]
        assert served == ("${MODEL:?}" if model.startswith("-") else model)


@pytest.mark.usefixtures("processes")
def test_the_commands_are_a_shells(facts: Matrix) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    lines = [line for gpu, capability in GPUS for way in ways(host(gpu, capability, "580.95.05"), facts) for line in way.commands]
    script = "\n".join([*lines, *commands(IMAGE, Run(model="a'$(reboot)\nb"))])
    assert subprocess.run([bash, "-n"], input=script, text=True, capture_output=True, check=False).stderr == ""


def test_a_plan_for_an_image_that_runs_by_its_own_libcuda_names_no_other_release(facts: Matrix) -> None:
    container = {"kind": "docker", "image": "vllm/vllm-openai:v0.26.0", "environment": {SWITCH: "1"}}
    document = host(A100, "8.0", "535.183.01", container=container)
    del document["packages"]
    judgement = judged(document, facts)
    choice = choose_stack(judgement, facts, Request())
    assert judgement.verdict in (Verdict.READY, Verdict.READY_WITH_WARNINGS)
    assert choice.installed
    assert choice.stack is not None
    assert choice.stack.vllm == "0.26.0"
    del document["container"]["environment"]  # without the variable the driver's own libcuda is too old
    assert judged(document, facts).verdict is Verdict.BLOCKED


# Branch 535 takes the libcuda of the image; under 550 the image of the release asked for needs another driver, and one of an older
# release, which gives the wish up, stands behind it.
@pytest.mark.parametrize(("driver", "kind"), [("550.163.01", "driver"), ("535.183.01", "image")])
def test_a_plan_offers_it_with_its_proof(facts: Matrix, driver: str, kind: str) -> None:
    document, request = host(A100, "8.0", driver), Request(vllm="0.33.0")
    found = ways_of(judged(document, facts, request), facts, request)
    first, *others = [(way.kind, way.image.release, way.proof, way.breaks) for way in found if way.image]
    assert first == (kind, "0.33.0", Verdict.READY, ())
    assert all(proof is Verdict.READY and (release == "0.33.0" or "vllm" in breaks) for _, release, proof, breaks in others)


def test_the_proof_asks_about_what_is_in_the_image(facts: Matrix) -> None:
    """An image of CUDA 13 without its own libcuda stays blocked on branch 535, though its very release is asked about."""
    inside = {"container": {"kind": "docker", "image": "vllm/vllm-openai:v0.33.0"}, "driver.nvml": None}
    assert changed(host(A100, "8.0", "535.183.01"), inside, facts, "0.33.0").verdict is Verdict.BLOCKED
    assert changed(host(A100, "8.0", "580.95.05"), inside, facts, "0.33.0").verdict is Verdict.READY
