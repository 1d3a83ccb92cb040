"""One and the same line, out of memory, means another thing in each phase of the start: the frames above it tell which."""

from __future__ import annotations

import pytest

from envcheck.diagnosis.diagnose import diagnose_text
from envcheck.matrix.load import Matrix, load

MATRIX: Matrix = load()
NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 298.00 MiB. "
    "GPU 0 has a total capacity of 23.65 GiB of which 98.19 MiB is free. "
    "Including non-PyTorch memory, this process has 23.54 GiB memory in use."
)
OLD = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 298.00 MiB "
    "(GPU 0; 23.65 GiB total capacity; 21.40 GiB already allocated; "
    "98.19 MiB free; 21.62 GiB reserved in total by PyTorch)"
)
BARE = "torch.AcceleratorError: CUDA error: out of memory"
PHASES = {
    ("__init__", "load_model", "initialize_model", "create_weights"): "oom-weights",
    ("_initialize_kv_caches", "determine_available_memory", "profile_run", "_dummy_run", "forward"): "oom-profile-run",
    ("determine_num_available_blocks", "profile_run", "execute_model", "forward"): "oom-profile-run",
    ("determine_available_memory", "profile_run", "embed_multimodal", "_process_image_input", "forward"): "oom-multimodal-profiling",
    ("determine_available_memory", "profile_run", "_dummy_sampler_run", "forward"): "oom-sampler-warmup",
    ("initialize_from_config", "compile_or_warm_up_model", "_dummy_sampler_run", "forward"): "oom-sampler-warmup",
    ("initialize_from_config", "compile_or_warm_up_model", "capture_model", "_capture_cudagraphs", "_dummy_run"): "oom-cuda-graphs",
    ("determine_available_memory", "profile_cudagraph_memory", "_dummy_run", "forward"): "oom-cuda-graphs",
    ("initialize_from_config", "initialize_kv_cache", "_allocate_kv_cache_tensors"): "gpu-memory-below-utilization",
    ("run_busy_loop", "step", "execute_model", "forward"): "oom-runtime",
}


def traceback(frames: tuple[str, ...], error: str, prefix: str = "") -> str:
    """A traceback as a process prints it, each line after the prefix of its log."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        lines += [
            f'  File "/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 50, in {frame}',
            "    return step(batch)",
        ]
    return "".join(f"{prefix}{line}\n" for line in (*lines, error))


def codes(log: str) -> list[str]:
    return [finding.code for finding in diagnose_text(log, MATRIX).findings]


@pytest.mark.parametrize("error", [NEW, OLD, BARE], ids=["new", "old", "bare"])
@pytest.mark.parametrize("frames", PHASES, ids=" ".join)
def test_the_phase_is_told_by_the_frames(frames: tuple[str, ...], error: str) -> None:
    prefix = "(EngineCore_0 pid=7) ERROR 09-01 10:11:12 [core.py:700] "
    assert codes(traceback(frames, error, prefix)) == [PHASES[frames]]


def test_the_figures_are_those_of_the_line() -> None:
    for error in (NEW, OLD):
        evidence = diagnose_text(traceback(("load_model",), error), MATRIX).findings[0].evidence
        assert (evidence["need"], evidence["total"], evidence["free"], evidence["free_unit"]) == (298.0, 23.65, 98.19, "MiB")


def test_a_warm_up_that_fails_is_said_once_and_the_engine_not_blamed() -> None:
    inner = traceback(("compile_or_warm_up_model", "_dummy_sampler_run", "forward"), NEW)
    outer = traceback(
        ("compile_or_warm_up_model", "_dummy_sampler_run"),
        "RuntimeError: CUDA out of memory occurred when warming up sampler with 256 dummy requests. Please try lowering `max_num_seqs`",
    )
    end = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_0': 1}\n"
    log = f"{inner}\nThe above exception was the direct cause of the following exception:\n\n{outer}{end}"
    assert codes(log) == ["oom-sampler-warmup"]


def test_an_engine_killed_from_outside_is_named_only_where_nothing_else_failed() -> None:
    killed = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': -9}\n"
    assert codes(killed) == ["host-memory-too-small"]
    assert codes(killed.replace("-9", "1")) == []
    assert codes(traceback(("load_model",), NEW) + killed) == ["oom-weights"]
