"""The settings that a start-up log shows."""

from __future__ import annotations

import json
from io import BytesIO

import pytest

from envcheck.matrix.load import load
from envcheck.model.learned import LearnedRun
from envcheck.readers.log_stream import log_chunks
from envcheck.readers.startup_log import read_startup_log

FACTS = load().log_lines


def only(text: str) -> LearnedRun:
    (found,) = read_startup_log(log_chunks(BytesIO(text.encode()).read), FACTS, "server.log").runs
    return found


ARGUMENTS = (
    "(APIServer pid=1) INFO 04-22 19:59:08 [entrypoints/utils.py:233] non-default args: {'model': '/home/alice/m', "
    "'api_key': ['sk-abcdefghijklmnop1234'], "
    "'max_model_len': 8192, 'gpu_memory_utilization': 0.95, 'enforce_eager': True, 'speculative_config': {'model': "
    "'/home/alice/d', 'num_speculative_tokens': 3}}\n"
)


def test_every_argument_of_an_older_server() -> None:
    # vllm-project/vllm issue 2778, cut to what matters.
    run = only(
        "INFO 02-06 01:02:56 api_server.py:209] args: Namespace(host=None, port=8000, allowed_origins=['*'], api_key='secret-of-mine', "
        "served_model_name=None, model='facebook/opt-125m', tokenizer=None, dtype='auto', kv_cache_dtype='fp8_e5m2', max_model_len=None, "
        "pipeline_parallel_size=1, tensor_parallel_size=1, block_size=16, swap_space=4, gpu_memory_utilization=0.9, "
        "max_num_batched_tokens=None, max_num_seqs=256, quantization=None)\n"
    )
    assert run.model == "facebook/opt-125m"
    assert run.settings == {
        "block_size": 16,
        "dtype": "auto",
        "gpu_memory_utilization": 0.9,
        "kv_cache_dtype": "fp8_e5m2",
        "max_num_seqs": 256,
        "pipeline_parallel_size": 1,
        "swap_space": 4,
        "tensor_parallel_size": 1,
    }
    assert "secret" not in str(run)


def test_of_the_settings_only_those_that_matter_to_memory_are_kept_and_nobody_is_named() -> None:
    run = only(ARGUMENTS)
    assert {name: value for name, value in run.settings.items() if name != "speculative_config"} == {
        "max_model_len": 8192,
        "gpu_memory_utilization": 0.95,
        "enforce_eager": True,
    }
    assert json.loads(str(run.settings["speculative_config"]))["num_speculative_tokens"] == 3
    assert "alice" not in str(run)
    assert "sk-" not in str(run)


def test_a_line_of_arguments_cut_short_tells_what_is_left_of_it() -> None:
    assert only(ARGUMENTS[:-80] + "\n").settings == {"max_model_len": 8192, "gpu_memory_utilization": 0.95, "enforce_eager": True}
    number = ARGUMENTS.index("8192")
    assert only("x vLLM API server version 0.19.0\n" + ARGUMENTS[: number + 2] + "\n").settings == {}


def test_what_stands_inside_another_setting_is_not_taken_for_it() -> None:
    run = only("x non-default args: {'speculative_config': {'max_model_len': 2048, 'method': 'a, b}'}, 'max_model_len': 8192}\n")
    assert run.settings["max_model_len"] == 8192


@pytest.mark.parametrize("value", ["-" * 60_000 + "1", "(" * 60_000, "1" + "+1" * 30_000, "[" * 900 + "]" * 900, "not " * 400 + "1"])
def test_a_value_that_would_exhaust_a_parser_is_left_out(value: str) -> None:
    assert "swap_space" not in only("x vLLM API server version 0.19.0\nx non-default args: {'swap_space': " + value + "}\n").settings


def test_the_engines_configuration_says_what_took_effect() -> None:
    run = only(
        "INFO [v1/engine/core.py:105] Initializing a V1 LLM engine (v0.19.0) with config: model='openai/gpt-oss-20b', "
        "speculative_config=None, "
        "dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, "
        "data_parallel_size=1, quantization=mxfp4, "
        "enforce_eager=False, kv_cache_dtype=auto, enable_prefix_caching=False, enable_chunked_prefill=True, pooler_config=None\n"
    )
    assert (run.model, run.vllm, run.engine, run.gpus) == ("openai/gpt-oss-20b", "0.19.0", "v1", 2)
    assert run.settings == {
        "data_parallel_size": 1,
        "dtype": "bfloat16",
        "enable_chunked_prefill": True,
        "enable_prefix_caching": False,
        "enforce_eager": False,
        "kv_cache_dtype": "auto",
        "max_model_len": 8192,
        "pipeline_parallel_size": 1,
        "quantization": "mxfp4",
        "tensor_parallel_size": 2,
    }
