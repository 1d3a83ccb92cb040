"""Logs of models that do not load, with all the lines around: the cause is named once, what follows from it is not."""

from __future__ import annotations

import pytest

from envcheck.diagnosis.diagnose import diagnose_text
from envcheck.matrix.load import Matrix, load

MATRIX: Matrix = load()
INSPECTED = "Value error, Model architectures ['X'] failed to be inspected. Please check the logs for more details. [type=value_error, x]"
HEADER = "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig"
LOGS = {
    "a package is missing below the inspection": (
        "ERROR 09-01 10:11:12 [registry.py:900] Error in inspecting model architecture 'X'",
        "ModuleNotFoundError: No module named 'timm'",
        HEADER,
        f"  {INSPECTED}",
        "python-module-missing",
    ),
    "nothing but the inspection": (HEADER, f"  {INSPECTED}", "model-inspection-failed"),
    "a value out of range": (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for CacheConfig",
        "gpu_memory_utilization",
        "  Input should be less than or equal to 1 [type=less_than_equal, input_value=1.5, input_type=float]",
        "    For further information visit https://errors.pydantic.dev/2.12/v/less_than_equal",
        "flag-value-invalid",
    ),
    "a refusal that no signature knows": (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for VllmConfig",
        "  Value error, Something new does not go with something else. [type=value_error, input_value=ArgsKwargs(())]",
        "flag-value-invalid",
    ),
    "a gated model": (
        "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-6)",
        "",
        "Cannot access gated repo for url https://huggingface.co/x/y/resolve/main/config.json.",
        "Access to model x/y is restricted. You must have access to it and be authenticated to access it. Please log in.",
        "OSError: You are trying to access a gated repo.",
        "weights-missing",
    ),
    "no way to the hub": (
        "ERROR 09-01 10:11:12 [repo_utils.py:40] Error retrieving file list: "
        "(MaxRetryError(\"HTTPSConnectionPool(host='huggingface.co', port=443): "
        'Max retries exceeded with url: /api/models/x (Caused by NewConnectionError("Network is unreachable"))"), retrying 1 of 2',
        "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.",
        HEADER,
        "  Value error, Invalid repository ID or local directory specified: 'x/y'.",
        "model-hub-unreachable",
    ),
    "a weight that the model does not know": (
        "    param = params_dict[name]",
        "            ~~~~~~~~~~~^^^^^^",
        "KeyError: 'decoder.block.w2_weight'",
        "weights-missing",
    ),
    "a weight of another shape": (
        '  File "/venv/vllm/model_executor/parameter.py", line 155, in load_column_parallel_weight',
        "    assert self.data.shape == loaded_weight.shape",
        "AssertionError",
        "weights-missing",
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_the_cause_is_named_alone(name: str) -> None:
    *lines, code = LOGS[name]
    found = diagnose_text("".join(f"(APIServer pid=1) {line}\n" for line in lines), MATRIX)
    assert [finding.code for finding in found.findings] == [code]


def test_a_key_or_an_assertion_alone_says_nothing() -> None:
    assert not diagnose_text("KeyError: 'decoder.block.w2_weight'\nAssertionError\n", MATRIX).findings
