"""Rules on GPUs, memory, disks and settings meet whatever a host document may hold, and none raises."""

from __future__ import annotations

import contextlib
import string
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envcheck.errors import EnvcheckError
from envcheck.matrix.load import Matrix
from envcheck.model.host import Gpu, HostReport
from envcheck.model.host_parts import GpuHealth, GpuPair, PcieLink
from envcheck.model.request import Request
from envcheck.rules.check import judge
from envcheck.rules.figures import figure

NAMES = st.sampled_from(
    ["NVIDIA A100-SXM4-40GB MIG 1g.5gb", "GRID T4-16Q", "NVIDIA GeForce RTX 3090", "Tesla V100", "NVIDIA GB10", "", "AMD Instinct MI300X"]
) | st.text(max_size=30)
FIGURES = st.none() | st.sampled_from([0.0, -1.0, 1e300, 64.0, 81920.0]) | st.floats(allow_nan=True, allow_infinity=True)
COUNTS = st.none() | st.sampled_from([0, 1, -1, 8, 10**12])
YES = st.none() | st.booleans()
WORDS = st.none() | st.sampled_from(["vgpu", "default", "prohibited", "exclusive-process", "GPU-1", "MIG-1", ""]) | st.text(max_size=8)
HEALTH = st.none() | st.builds(
    GpuHealth,
    uncorrected_errors=COUNTS,
    remap_pending=YES,
    remap_failed=YES,
    throttle=st.none() | st.lists(st.sampled_from(["hardware-thermal", "power-cap", "?"]), max_size=3),
)
GPUS = st.builds(
    Gpu,
    index=COUNTS,
    name=NAMES | st.none(),
    uuid=WORDS,
    compute_capability=st.none() | st.sampled_from(["7.0", "8.6", "x", "12.1"]),
    memory_mib=FIGURES,
    memory_free_mib=FIGURES,
    cuda_memory_mib=FIGURES,
    mig=YES | st.text(max_size=9),
    mig_pending=YES,
    virtualization=WORDS,
    compute_mode=WORDS,
    nvlinks=COUNTS,
    pcie=st.none() | st.builds(PcieLink, width=COUNTS, width_max=COUNTS),
    health=HEALTH,
    error=st.none() | st.text(max_size=5),
)
VARIABLES = st.dictionaries(
    st.sampled_from(["NCCL_BUFFSIZE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_HCA", "HF_ENDPOINT", "HF_HUB_OFFLINE"]),
    st.sampled_from(["1", "", "²", "9" * 5000, "^mlx5", "://"]) | st.text(string.printable, max_size=10),
    max_size=4,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["tensor_parallel_size", "data_parallel_size", "kv_cache_dtype", "dtype", "quantization", "gpu_memory_utilization"]),
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(["fp8", "half", "bfloat16"]),
    max_size=4,
)
CONFIGS = st.none() | st.dictionaries(
    st.sampled_from(["num_attention_heads", "intermediate_size", "model_type", "quantization_config", "text_config", "num_experts"]),
    st.none() | st.integers() | st.text(max_size=6) | st.fixed_dictionaries({"quant_method": st.sampled_from(["fp8", "awq", 7, None])}),
    max_size=5,
)
PLACES = st.fixed_dictionaries(
    {}, optional={"path": st.text(max_size=20) | st.none(), "free_mib": FIGURES, "purposes": st.none() | st.lists(st.just("environment"))}
)


MEMORY = st.fixed_dictionaries({}, optional={"ram_mib": FIGURES, "shm_mib": FIGURES, "cgroup_limit_mib": FIGURES})
PAIRS = st.lists(st.builds(GpuPair, a=st.integers(0, 3), b=st.integers(0, 3), link=WORDS, p2p=WORDS), max_size=3)


@st.composite
def hosts(draw: st.DrawFn) -> HostReport:
    """A host document with odd figures in the parts that these rules read."""
    rest = {
        "environment": draw(VARIABLES),
        "memory": draw(MEMORY),
        "disk": draw(st.lists(PLACES, max_size=3)),
        "network": {"model_hub": None, "registry": "refused"},
        "limits": {"memlock_mib": draw(FIGURES)},
        "interconnect": {"ports": [{"device": "mlx5_0"}]},
        "processes": [{"pid": 1, "gpu": 0, "memory_mib": draw(FIGURES)}],
    }
    host = msgspec.convert(rest, HostReport)
    return msgspec.structs.replace(host, gpus=draw(st.lists(GPUS, max_size=4)), topology=draw(PAIRS))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(host=hosts(), arguments=ARGUMENTS, config=CONFIGS)
def test_no_rule_raises(matrix: Matrix, host: HostReport, arguments: dict[str, Any], config: dict[str, Any] | None) -> None:
    with contextlib.suppress(EnvcheckError):
        judge(host, matrix, Request(model="a/b-FP8", model_config=config, serve_args=arguments))


@given(value=st.floats() | st.integers() | st.booleans() | st.none() | st.text(max_size=3))
def test_a_figure_can_be_reckoned_with_or_is_none(value: object) -> None:
    found = figure(value)
    assert found is None or 0 <= found < 2**40


def test_figures_that_are_fine_stay_what_they_are() -> None:
    assert (figure(0), figure(81920), figure(0.5)) == (0.0, 81920.0, 0.5)
    assert (figure(True), figure(-1), figure(float("nan"))) == (None, None, None)
