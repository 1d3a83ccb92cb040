"""The variables that decide, and no others; secrets and addresses are replaced."""

from __future__ import annotations

from envcheck.model.fact import Found
from envcheck.probes.facts import Facts
from envcheck.probes.look import Look

FIELDS = ("environment",)
# Whole families, each read by a program that an installation or a server starts.
_PREFIXES = (
    *("CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "UCX_", "FI_", "CUDNN_", "CUBLAS_", "NVSHMEM_", "NVTE_", "ROCM_", "HIP_"),
    *("OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS_", "NUMEXPR_", "MALLOC_"),
    *("VLLM_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "TRITON_", "FLASHINFER_", "TRANSFORMERS_", "SAFETENSORS_", "TOKENIZERS_", "RAY_"),
    *("HF_", "HUGGINGFACE_", "MODELSCOPE_", "LMCACHE_"),
    *("LD_", "PYTHON", "XDG_", "PIP_", "UV_", "CONDA_"),
)
_NAMES = frozenset(
    (
        *("VIRTUAL_ENV", "MAMBA_ROOT_PREFIX", "PYENV_VERSION"),
        *("CC", "CXX", "CUDAHOSTCXX", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "MAX_JOBS", "CPATH", "LIBRARY_PATH", "GLIBC_TUNABLES"),
        *("TMPDIR", "TEMP", "TMP", "LOCAL_RANK", "RANK", "WORLD_SIZE", "MASTER_PORT", "KUBERNETES_SERVICE_HOST"),
        *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
        *("SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"),
        *("SLURM_MEM_PER_NODE", "SLURM_NNODES", "SLURM_NTASKS"),
    )
)
# What merely names a host, an address or a person's session: that it is set is all that matters.
_ADDRESSES = ("_HOST", "_IP", "_ADDR", "_ADDRESS", "_HOSTS", "_HOSTNAME")
_NEVER = ("XDG_SESSION", "XDG_SEAT", "XDG_VTNR", "CONDA_PROMPT_MODIFIER")
_MOST = 300
_LONGEST_NAME = 100


def probe(look: Look) -> Facts:
    """The map under `environment`."""
    names = [name for name in sorted(look.env) if decides(name)]
    return {"environment": Found({name: shown(name, look.env[name]) for name in names[:_MOST]}, "environment")}


def decides(name: str) -> bool:
    """Whether a variable can change what installing or serving does."""
    if len(name) > _LONGEST_NAME or not name.isprintable() or name.startswith(_NEVER):
        return False
    return name.startswith(_PREFIXES) or name in _NAMES or name.upper().endswith("_PROXY")


def shown(name: str, value: str) -> str:
    """A value as it may be shown: no secret, no address, and nothing that is not text."""
    from envcheck.probes.redact import HIDDEN, redacted  # noqa: PLC0415  # most hosts set none of them

    if value and name.endswith(_ADDRESSES):
        return HIDDEN
    return redacted(name, value.encode("utf-8", "replace").decode())
