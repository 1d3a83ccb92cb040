"""The variables that decide, and no others; secrets are replaced."""

from __future__ import annotations

from envcheck.model.fact import Found
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look
from envcheck.probes.redact import redacted

FIELDS = ("environment",)
_PREFIXES = (
    *("CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "OMP_", "RAY_"),
    *("VLLM_", "TORCH_", "PYTORCH_", "TRITON_", "FLASHINFER_", "TRANSFORMERS_"),
    *("HF_", "MODELSCOPE_", "XDG_CACHE_", "PIP_", "UV_"),
)
_NAMES = frozenset({"LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CC", "CXX", "TMPDIR"})
_MOST = 300


def probe(look: Look) -> Facts:
    """The map under `environment`."""
    names = [name for name in sorted(look.env) if decides(name)]
    return {"environment": Found({name: redacted(name, look.env[name]) for name in names[:_MOST]}, "environment")}


def decides(name: str) -> bool:
    """Whether a variable can change what installing or serving does."""
    return name.startswith(_PREFIXES) or name in _NAMES or name.upper().endswith("_PROXY")
