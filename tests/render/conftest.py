"""Values as the floors below make them, for rendering."""

from __future__ import annotations

import msgspec
import pytest

from envcheck.model.budget import AccountLine, KvCache, PerGpu, SizeResult, Suggestion
from envcheck.model.finding import Finding, Remedy, Severity, Verdict
from envcheck.model.host import Cloud, Driver, Gpu, HostReport, Memory, OperatingSystem, Provenance, Python
from envcheck.model.plan import InstallRecipe, MirrorChoice, Plan, ServeConfig, Setting, Step
from envcheck.model.report import CHECK_SCHEMA, CheckReport
from envcheck.model.stack import Clash, Stack
from envcheck.model.text import Text

MIRROR = "https://mirrors.example.com/pypi/simple"


@pytest.fixture
def host() -> HostReport:
    return HostReport(
        os=OperatingSystem(name="Ubuntu 22.04.5 LTS", arch="x86_64", glibc="2.35"),
        python=Python(version="3.10.12"),
        driver=Driver(version="535.161.08", cuda="12.2"),
        gpus=[Gpu(index=0, name="NVIDIA A10", compute_capability="8.6", memory_mib=23028)],
        memory=Memory(ram_mib=61_440, cgroup_limit_mib=None),
        cloud=Cloud(provider="aliyun"),
        provenance={
            "driver.version": Provenance("found", source="/sys/module/nvidia/version"),
            "memory.cgroup_limit_mib": Provenance("absent", why="no limit"),
            "secure_boot": Provenance("unreadable", why="efivars: permission denied"),
        },
    )


@pytest.fixture
def stack() -> Stack:
    return Stack(
        vllm="0.19.1",
        variant="",
        arch="x86_64",
        cuda="12.9",
        cuda_major=12,
        torch="2.10.0",
        torch_variant="",
        python="3.10",
        new_python=False,
        engine="v1",
    )


@pytest.fixture
def clash() -> Clash:
    return Clash("driver-too-old-for-cuda", Text("no.such.sentence", {"release": "0.33.0"}), "580", "535.161.08")


@pytest.fixture
def size() -> SizeResult:
    return SizeResult(
        verdict="fits",
        engine="v1",
        per_gpu_gib=PerGpu(total=22.06, budget=19.85, weights=14.27, activation=1.42, sampler=0.6, non_torch=0.06, kv_cache=3.5),
        kv=KvCache(bytes_per_token=57344.0, tokens=65536, max_concurrency=8.0),
        failure=None,
        suggested=Suggestion({"max_model_len": 8192, "enforce_eager": True}, [Text("why.len", {"tokens": 8192}), Text("why.eager")]),
        confidence="derived",
        account=[
            AccountLine("weights", 14.27, True, Text("size.account.weights-computed")),
            AccountLine("sampler", 0.6, False, Text("size.account.sampler")),
            AccountLine("kv_cache", 3.5, True, Text("size.account.cache")),
        ],
    )


@pytest.fixture
def plan(stack: Stack, clash: Clash, size: SizeResult) -> Plan:
    uv = InstallRecipe(
        "uv",
        (
            Step(("uv", "venv", "--python", "3.10", "vllm-0.19.1"), Text("why.venv")),
            Step(("uv", "pip", "install", "--python", "vllm-0.19.1/bin/python", "--index-url", MIRROR, "vllm==0.19.1"), Text("why.vllm")),
        ),
    )
    pip = InstallRecipe("pip", (Step(("python3", "-m", "venv", "vllm-0.19.1"), Text("why.venv")),))
    later = msgspec.structs.replace(stack, vllm="0.32.0", variant="cu129", torch="2.13.0", torch_variant="cu129")
    return Plan(
        schema="envcheck.plan/1",
        stack=stack,
        alternatives=(later,),
        ways_out=(),
        not_possible={"0.33.0": (clash,)},
        mirrors=(MirrorChoice("python-index", "example", MIRROR, Text("why.mirror")),),
        install=(uv, pip),
        serve=ServeConfig(
            "Qwen/Qwen2.5-7B-Instruct",
            (Setting("--max-model-len", "8192", Text("why.len", {"tokens": 8192})), Setting("--enforce-eager", None, Text("why.eager"))),
            (Setting("HF_ENDPOINT", "https://hub.example.com", Text("why.hub")), Setting("HF_TOKEN", None, Text("why.token"))),
        ),
        size=size,
        findings=(),
        environment_dir="vllm-0.19.1",
    )


@pytest.fixture
def finding() -> Finding:
    return Finding(
        code="shm-too-small",
        severity=Severity.WARNING,
        detail=Text("no.such.sentence", {"size": "64 MiB"}),
        evidence={"shm_mib": 64},
        remedies=(Remedy("container", Text("why.shm"), ("docker run --shm-size=16g IMAGE",)),),
        sources=("https://example.com/shm",),
    )


@pytest.fixture
def report(host: HostReport, plan: Plan, clash: Clash, finding: Finding) -> CheckReport:
    return CheckReport(
        schema=CHECK_SCHEMA,
        verdict=Verdict.READY_WITH_WARNINGS,
        subject="any",
        vllm="0.19.1",
        newest="0.33.0",
        engine="v1",
        binding=clash,
        binding_release="0.33.0",
        findings=(finding,),
        host=host,
        plan=plan,
    )
