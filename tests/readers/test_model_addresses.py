"""A model given by the address of its page."""

from __future__ import annotations

import pytest

from envcheck.errors import UsageError
from envcheck.matrix.load import load
from envcheck.readers.model import Places, find_model
from envcheck.system.port import System
from envcheck.system.real import RealSystem

MATRIX = load()
PLACES = Places(
    "https://huggingface.co", True, None, None, None, ("https://huggingface.co", "https://hf-mirror.com", "https://modelscope.cn")
)
NAME = "Qwen/Qwen2.5-7B-Instruct"


@pytest.fixture
def system() -> System:
    return RealSystem(offline=True)


@pytest.mark.parametrize(
    "address",
    [
        f"https://huggingface.co/{NAME}",
        f"https://huggingface.co/{NAME}/",
        f"https://huggingface.co/{NAME}/tree/main",
        f"http://www.huggingface.co/{NAME}?library=vllm#files",
        f"https://hf-mirror.com/{NAME}",
        f"https://modelscope.cn/models/{NAME}/summary",
        f"https://www.modelscope.cn/models/{NAME}",
        f"{NAME}/",
    ],
)
def test_the_page_of_a_model_is_its_name(system: System, address: str) -> None:
    assert find_model(address, system, MATRIX.model, PLACES).name == NAME


@pytest.mark.parametrize(
    "address",
    [
        "https://example.org/a/b",
        "https://huggingface.co",
        "https://huggingface.co/Qwen",
        "https://huggingface.co/../..",
        "https://",
        "http:///a/b",
    ],
)
def test_other_addresses_are_refused(system: System, address: str) -> None:
    with pytest.raises(UsageError) as refused:
        find_model(address, system, MATRIX.model, PLACES)
    assert "error.model-url" in str(refused.value.args)
