"""Start-up logs to measured records. The samples are lines of public logs, named where they stand; what they add up to is arithmetic."""

from __future__ import annotations

from io import BytesIO

import pytest

from envcheck.matrix.load import load
from envcheck.model.learned import LearnedRun
from envcheck.model.loglines import LogLinesFile
from envcheck.readers.log_stream import log_chunks
from envcheck.readers.startup_log import read_startup_log

FACTS = load().log_lines


def runs(text: str) -> list[LearnedRun]:
    return read_startup_log(log_chunks(BytesIO(text.encode()).read), FACTS, "server.log").runs


def only(text: str) -> LearnedRun:
    (found,) = runs(text)
    return found


# vllm-project/vllm issue 14452, two cards of 31.37 GiB under V0.
TWO_RANKS = """\
INFO 04-23 14:48:44 [worker.py:287] model weights take 10.80GiB; non_torch_memory takes 0.33GiB; \
PyTorch activation peak memory takes 1.01GiB; the rest of the memory reserved for KV Cache is 14.52GiB.
(VllmWorkerProcess pid=12897) INFO 04-23 14:48:44 [worker.py:287] Memory profiling takes 0.77 seconds
(VllmWorkerProcess pid=12897) INFO 04-23 14:48:44 [worker.py:287] the current vLLM instance can use total_gpu_memory (31.37GiB) x \
gpu_memory_utilization (0.85) = 26.66GiB
(VllmWorkerProcess pid=12897) INFO 04-23 14:48:44 [worker.py:287] model weights take 10.30GiB; non_torch_memory takes 0.33GiB; \
PyTorch activation peak memory takes 1.77GiB; the rest of the memory reserved for KV Cache is 14.26GiB.
INFO 04-23 14:48:44 [executor_base.py:112] # cuda blocks: 7299, # CPU blocks: 2048
INFO 04-23 14:48:44 [executor_base.py:117] Maximum concurrency for 50000 tokens per request: 2.34x
"""


def test_of_several_workers_the_one_with_the_least_cache_decides() -> None:
    run = only(TWO_RANKS)
    assert run.engine == "v0"
    memory = run.memory
    assert (memory.weights_gib, memory.non_torch_gib, memory.peak_activation_gib, memory.kv_gib) == (10.30, 0.33, 1.77, 14.26)
    assert (memory.total_gib, memory.utilization, memory.budget_gib) == (31.37, 0.85, 26.66)
    assert memory.unexplained_gib == pytest.approx(26.66 - 10.30 - 0.33 - 1.77 - 14.26, abs=0.006)
    assert (memory.kv_blocks, memory.max_concurrency, memory.concurrency_tokens) == (7299, 2.34, 50000)
    assert {rank.name: rank.memory.kv_gib for rank in run.ranks} == {"first": 14.52, "VllmWorkerProcess 12897": 14.26}
    assert "vllm" in run.missing
    assert "gpu" in run.missing


def test_the_debug_line_of_a_profile_run() -> None:
    # llm-d-planner, accuracy of its planner: vLLM 0.19.0 on H100.
    run = only(
        "(APIServer pid=1) INFO 04-22 19:59:08 [entrypoints/utils.py:299]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.19.0\n"
        "INFO [gpu_model_runner.py:4735] Model loading took 14.99 GiB memory and 14.429680 seconds\n"
        "DEBUG [gpu_worker.py:401] Memory profiling takes 17.96 seconds. Total non KV cache memory: 17.12GiB; torch peak memory increase: "
        "1.89GiB; non-torch forward increase memory: 0.25GiB; weights memory: 14.99GiB.\n"
        "INFO [gpu_worker.py:423] Available KV cache memory: 58.11 GiB\n"
        "INFO [kv_cache_utils.py:1319] GPU KV cache size: 476,016 tokens\n"
        "INFO [gpu_worker.py:617] CUDA graph pool memory: 0.91 GiB (actual), 0.84 GiB (estimated), difference: 0.07 GiB (7.7%).\n"
    )
    memory = run.memory
    assert (run.vllm, run.vllm_from, run.engine) == ("0.19.0", "log", "v1")
    assert (memory.weights_gib, memory.peak_activation_gib, memory.non_torch_gib, memory.kv_gib) == (14.99, 1.89, 0.25, 58.11)
    assert (memory.kv_tokens, memory.graphs_gib, memory.graphs_estimated_gib) == (476016, 0.91, 0.84)
    assert run.lines["peak_activation_gib"] == 3


def test_every_worker_of_two_prints_its_usage() -> None:
    # A public log of 0.11.0 on two H200.
    usage = (
        "Free memory on device (139.21/139.81 GiB) on startup. Desired GPU memory utilization is (0.9, 125.83 GiB). "
        "Actual usage is 74.28 GiB "
        "for weight, 5.58 GiB for peak activation, 1.38 GiB for non-torch memory, and 2.37 GiB for CUDAGraph memory. Replace "
        "gpu_memory_utilization config with `--kv-cache-memory=45175492096` to fit into requested memory, or "
        "`--kv-cache-memory=59540753920` "
        "to fully utilize gpu memory. Current kv cache memory in use is 47878721024 bytes."
    )
    run = only(
        f"(Worker_TP1 pid=1806414) INFO 10-23 15:14:56 [gpu_worker.py:391] {usage}\n"
        f"(Worker_TP0 pid=1806413) INFO 10-23 15:14:56 [gpu_worker.py:391] {usage}\n"
    )
    assert (run.memory.total_gib, run.memory.free_gib, run.memory.weights_gib, run.memory.graphs_gib) == (139.81, 139.21, 74.28, 2.37)
    assert [rank.name for rank in run.ranks] == ["Worker_TP0", "Worker_TP1"]


def test_replicas_are_told_apart_by_their_engines() -> None:
    run = only(
        "(EngineCore_DP0 pid=11) INFO [gpu_worker.py:298] Available KV cache memory: 17.33 GiB\n"
        "(EngineCore_DP1 pid=12) INFO [gpu_worker.py:298] Available KV cache memory: 17.21 GiB\n"
    )
    assert run.memory.kv_gib == 17.21
    assert [rank.name for rank in run.ranks] == ["EngineCore_DP0", "EngineCore_DP1"]


def test_newer_releases_print_weights_and_the_rest_as_one_and_the_estimate_within_the_peak() -> None:
    # A public log of 0.28.0: 73.6 - 51.66 - 2.4 = 19.54, so that the 1.55 GiB estimated for graphs are within the 2.4.
    run = only(
        "INFO vLLM API server version 0.28.0\n"
        "INFO [gpu_model_runner.py:5515] Model loading took 51.1 GiB memory and 41.914650 seconds\n"
        "INFO [gpu_worker.py:741] CUDA graph pool memory: 0.71 GiB (actual), 1.55 GiB (estimated), difference: 0.84 GiB (119.3%).\n"
        "INFO [gpu_worker.py:804] Free memory on device (79.99/80.0 GiB) on startup. Desired GPU memory utilization is (0.92, 73.6 GiB). "
        "Actual usage is 51.66 GiB for consumed memory (weights + non-torch), 2.4 GiB for peak activation, and 0.71 "
        "GiB for CUDAGraph memory.\n"
        "INFO [gpu_worker.py:573] Available KV cache memory: 19.54 GiB\n"
        "INFO [core.py:347] init engine (profile, create kv cache, warmup model) took 203.23 s (compilation: 52.75 s)\n"
    )
    memory = run.memory
    assert run.outcome == "starts"
    assert memory.consumed_gib == 51.66
    assert memory.non_torch_gib == pytest.approx(51.66 - 51.1)
    assert memory.peak_activation_gib == pytest.approx(2.4 - 1.55)
    assert memory.unexplained_gib == pytest.approx(1.55, abs=0.01)


def test_a_line_wrapped_by_whoever_pasted_it_still_tells() -> None:
    run = only(
        "INFO vLLM API server version 0.10.2\nActual usage is \n8.8 GiB for weight, \n1.4 GiB for peak "
        "activation,\n0.02 GiB for non-torch memory, and \n"
    )
    assert (run.memory.peak_activation_gib, run.memory.non_torch_gib, run.memory.weights_gib) == (1.4, 0.02, None)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-0a1b2c3d-0000-0000-0000-000000000000)", "NVIDIA GeForce RTX 3090"),
        ("GPU 0: Tesla T4", "Tesla T4"),
        (
            "WARNING [fused_moe.py:886] Config file not found at /x/E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json",
            "NVIDIA H100 80GB HBM3",
        ),
    ],
)
def test_the_card_where_something_names_it(line: str, name: str) -> None:
    assert only(f"x vLLM API server version 0.19.0\n{line}\n").gpu == name


def test_a_log_without_a_release_is_dated_by_the_places_of_its_lines() -> None:
    # A public log; these three statements stand on these lines in 0.10.2 alone.
    run = only(
        "INFO 09-30 17:23:19 [gpu_worker.py:298] Available KV cache memory: 17.33 GiB\n"
        "(EngineCore_DP0 pid=265514) INFO 09-30 17:23:19 [kv_cache_utils.py:864] GPU KV cache size: 324,496 tokens\n"
        "(EngineCore_DP0 pid=265514) INFO 09-30 17:23:19 [kv_cache_utils.py:868] Maximum concurrency for 32,768 tokens per request: 9.90x\n"
    )
    assert (run.vllm, run.vllm_from) == ("0.10.2", "line-numbers")
    assert run.ranks == []


# A public log of V0 whose lines name no release.
OLDER = """\
    INFO 08-06 01:39:21 model_runner.py:1115] Loading model weights took 7.1694 GB
    INFO 08-06 01:39:22 worker.py:267] the current vLLM instance can use total_gpu_memory (39.56GiB) x gpu_memory_utilization \
(0.90) = 35.60GiB
    INFO 08-06 01:39:22 worker.py:267] model weights take 7.17GiB; non_torch_memory takes 0.01GiB; PyTorch activation peak memory takes \
1.83GiB; the rest of the memory reserved for KV Cache is 26.60GiB.
    INFO 08-06 01:39:23 executor_base.py:111] # cuda blocks: 13618, # CPU blocks: 2048
    INFO 08-06 01:39:23 executor_base.py:116] Maximum concurrency for 2048 tokens per request: 106.39x
"""


def test_an_older_log_is_dated_and_read_too() -> None:
    run = only(OLDER)
    assert (run.vllm, run.vllm_from) == ("0.7.3", "line-numbers")
    assert run.engine == "v0"
    assert run.memory.unexplained_gib == pytest.approx(35.60 - 7.1694 - 0.01 - 1.83 - 26.60, abs=0.006)
    assert run.memory.kv_blocks == 13618


def test_the_summary_of_0_6_4_counts_the_weights_in_its_peak() -> None:
    # A public log: 0.9 x 7.92 - 3.12 - 0.47 = 3.54, so that the peak above 2.64 GiB of weights is 0.48.
    run = only(
        "INFO 12-06 11:39:34 model_runner.py:1077] Loading model weights took 2.6419 GB\n"
        "INFO 12-06 11:39:36 worker.py:232] Memory profiling results: total_gpu_memory=7.92GiB initial_memory_usage=3.09GiB "
        "peak_torch_memory=3.12GiB memory_usage_post_profile=3.12GiB non_torch_memory=0.47GiB kv_cache_size=3.54GiB "
        "gpu_memory_utilization=0.90\n"
        "INFO 12-06 11:39:36 gpu_executor.py:113] # GPU blocks: 1207, # CPU blocks: 1365\n"
    )
    assert (run.memory.peak_activation_gib, run.memory.non_torch_gib, run.memory.kv_gib) == (0.48, 0.47, 3.54)
    assert run.memory.unexplained_gib == pytest.approx(0, abs=0.02)
    assert (run.engine, run.memory.kv_blocks) == ("v0", 1207)


def test_a_worker_is_known_behind_what_a_wrapper_writes() -> None:
    # A model server's log, which writes a terminal's colours as text.
    run = only(
        "INFO ] PyProcess - W-210-model-stdout: #033[1;36m(VllmWorkerProcess pid=240)#033[0;0m INFO 02-14 08:23:15 worker.py:266] model "
        "weights take 3.97GiB; non_torch_memory takes 2.10GiB; PyTorch activation peak memory takes 0.36GiB; the rest of the memory "
        "reserved for KV Cache is 29.02GiB.\n"
        "(RayWorkerWrapper pid=7, ip=10.0.0.2) INFO 02-14 08:23:15 worker.py:266] model weights take 3.97GiB; non_torch_memory takes "
        "2.10GiB; PyTorch activation peak memory takes 0.36GiB; the rest of the memory reserved for KV Cache is 29.00GiB.\n"
    )
    assert [rank.name for rank in run.ranks] == ["RayWorkerWrapper 7", "VllmWorkerProcess 240"]
    assert run.memory.kv_gib == 29.00


# Of a real process of 0.28.0 that was asked for 10,000,000 tokens.
TOO_LONG = (
    "ValueError: To serve at least one request with the model's max seq len (10000000), (9.54 GiB KV cache is "
    "needed, which is larger than the "
    "available KV cache memory (1.0 GiB). Based on the available memory, the estimated maximum model length is "
    "1048576. Try increasing it.\n"
)


@pytest.mark.parametrize(
    ("line", "kind", "needed", "available", "longest"),
    [
        (TOO_LONG, "kv-too-small", 9.54, 1.0, 1048576),
        ("ValueError: No available memory for the cache blocks. Try increasing it\n", "no-kv-blocks", None, None, None),
        (
            "ValueError: Free memory on device cuda:0 (21.2/22.05 GiB) on startup is less than desired GPU memory "
            "utilization (0.97, 21.39 GiB).\n",
            "free-memory",
            21.39,
            21.2,
            None,
        ),
        (
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.\n",
            "sampler-warmup",
            None,
            None,
            None,
        ),
    ],
)
def test_the_line_that_says_why_it_failed(line: str, kind: str, needed: float | None, available: float | None, longest: int | None) -> None:
    run = only("INFO vLLM API server version 0.28.0\n" + line)
    assert run.outcome == "fails"
    assert run.failure is not None
    assert (run.failure.kind, run.failure.needed_gib, run.failure.available_gib) == (kind, needed, available)
    assert run.failure.max_model_len == longest


LOADED = "INFO vLLM API server version 0.19.0\nINFO x Model loading took 14.99 GiB memory and 1.0 seconds\n"
OUT = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        (LOADED, "profile-run"),
        (LOADED + "INFO x Available KV cache memory: 58.11 GiB\n", "cuda-graphs"),
        ("INFO Initializing a V1 LLM engine (v0.19.0) with config: model='m', enforce_eager=False, seed=0\n", "weights"),
    ],
)
def test_where_memory_ran_out_follows_from_what_was_told_before(before: str, kind: str) -> None:
    run = only(before + OUT)
    assert run.outcome == "fails"
    assert run.failure is not None
    assert run.failure.kind == kind


def test_what_fails_once_the_server_is_ready_is_no_start_up() -> None:
    run = only(LOADED + "INFO x Available KV cache memory: 58.11 GiB\nINFO:     Application startup complete.\n" + OUT)
    assert (run.outcome, run.failure) == ("starts", None)


def test_two_starts_in_one_log_are_two_records() -> None:
    found = runs(LOADED + OUT + LOADED.replace("0.19.0", "0.20.0") + "INFO:     Application startup complete.\n")
    assert [(run.vllm, run.outcome, run.line) for run in found] == [("0.19.0", "fails", 1), ("0.20.0", "starts", 4)]


def test_a_log_that_tells_of_no_start_yields_no_record() -> None:
    assert runs("vllm: error: unrecognized arguments: --no-such-flag\n") == []


def test_colours_of_a_terminal_hide_nothing() -> None:
    run = only("\x1b[0;36m(Worker_TP0 pid=5)\x1b[0;0m INFO x Available KV cache memory: 3.00 GiB\n")
    assert run.memory.kv_gib == 3.0


def test_every_place_in_the_source_belongs_to_a_line() -> None:
    facts: LogLinesFile = FACTS
    assert {place.line for place in facts.places} <= {line.id for line in facts.lines}
