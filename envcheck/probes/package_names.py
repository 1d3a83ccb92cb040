"""Which distributions decide what runs, and the names of their metadata folders."""

from __future__ import annotations

import re

_PREFIXES = (
    *("torch", "pytorch-triton", "vllm", "triton", "transformers", "tokenizers", "xgrammar", "outlines", "flashinfer", "opencv-python"),
    *("flash-attn", "flash-mla", "flashmla", "nvidia-", "cuda-", "cupy-", "deep-gemm", "deep-ep", "auto-gptq", "autoawq", "tensorflow"),
)
_NAMES = frozenset(
    (
        *("numpy", "numba", "llvmlite", "scipy", "xformers", "ray", "pynvml", "compressed-tensors", "bitsandbytes", "gptqmodel"),
        *("setuptools", "pip", "uv", "ninja", "cmake", "wheel", "packaging", "protobuf", "pydantic", "fastapi", "starlette", "uvicorn"),
        *("huggingface-hub", "hf-xet", "hf-transfer", "modelscope", "safetensors", "sentencepiece", "tiktoken", "mistral-common", "gguf"),
        *("llguidance", "lm-format-enforcer", "lark", "openai", "openai-harmony", "prometheus-client", "pyzmq", "msgspec", "cloudpickle"),
        *("prometheus-fastapi-instrumentator",),
        *("apex", "deepspeed", "accelerate", "peft", "timm", "einops", "mamba-ssm", "causal-conv1d", "tilelang", "apache-tvm-ffi"),
        *("sglang", "sgl-kernel", "lmdeploy", "lmcache", "nixl", "fastsafetensors", "runai-model-streamer", "tensorizer", "amdsmi"),
        *("jax", "jaxlib", "pillow", "librosa", "soundfile", "decord", "av", "qwen-vl-utils", "aiter", "intel-extension-for-pytorch"),
    )
)
# The first three letters of all of them: most distributions of an environment are told from these.
_HEADS = frozenset(f"{name}-"[:3] for name in (*_PREFIXES, *_NAMES))
_KINDS = ("dist-info", "egg-info", "egg")


def canonical(name: str) -> str:
    """A distribution's name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def split_folder(folder: str) -> tuple[str, str] | None:
    """(name, version) of `torch-2.4.0+cu121.dist-info`; None for other names, and for `~orch…`, what a broken install left behind."""
    stem, _, kind = folder[:300].rpartition(".")
    parts = stem.split("-")
    place = next((place for place, part in enumerate(parts) if place and part[:1].isdigit()), 0)
    if kind not in _KINDS or not place or not parts[0][:1].isalnum():
        return None
    return canonical("-".join(parts[:place])), parts[place]


def decides(name: str) -> bool:
    """Whether a package can change what runs here; ours does not, although it is called like those that do."""
    return name in _NAMES or (name.startswith(_PREFIXES) and name != "vllm-envcheck")


def may_decide(folder: str) -> bool:
    """Whether a folder's name is worth taking apart."""
    return folder[:3].lower().replace("_", "-").replace(".", "-") in _HEADS


def restored(name: str, others: frozenset[str]) -> str | None:
    """The package that pip had renamed to `~orch` or `~-rch` before it was interrupted: its first letters are gone."""
    plain = canonical(name.lstrip("~-.=%0123456789"))
    lost = len(name) - len(name.lstrip("~-.=%0123456789"))
    known = (*others, *_NAMES, "torch", "vllm", "triton", "transformers", "tokenizers")
    return next((full for full in sorted(set(known)) if plain and len(full) == len(plain) + lost and full.endswith(plain)), None)
