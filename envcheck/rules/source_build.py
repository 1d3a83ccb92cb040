"""Rules on a vLLM that was built on this host: the toolkit it is built with, and the GPUs it is built for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.model.host import known
from envcheck.model.versions import ComputeCapability, compute_capability
from envcheck.rules.build import dotted, runs_code
from envcheck.rules.make import remedy, warning
from envcheck.rules.nvcc import chosen_toolkit
from envcheck.rules.situation import Situation
from envcheck.rules.target_environment import built_from_source

_CODE = "source-build-cuda-mismatch"
_MOST = 32


def source_build(situation: Situation, matrix: Matrix) -> Iterator[Finding]:
    """The toolkit of another CUDA major than torch, and TORCH_CUDA_ARCH_LIST without the GPU; a finished build may be older than both."""
    if not built_from_source(situation):
        return
    vllm, torch = situation.installed_raw[:60], situation.torch.cuda if situation.torch else None
    used = chosen_toolkit(situation) if torch else None
    if torch and used is not None and used.cuda and used.cuda[0] != torch[0]:
        params = {"vllm": vllm, "present": dotted(used.cuda[:2]), "path": used.path or "nvcc", "torch": dotted(torch)}
        yield warning(_CODE, "toolkit", remedies=(remedy("setting", "toolkit-of-torch", torch=dotted(torch)),), **params)
        return
    listed = (known(situation.host.environment) or {}).get("TORCH_CUDA_ARCH_LIST", "")
    targets = _targets(listed) if listed else None
    if not targets:
        return
    code, ptx = targets
    for capability in situation.capabilities:
        if not runs_code(matrix, capability, code, ptx):
            wanted = " ".join(map(str, situation.capabilities))
            way = remedy("setting", "build-for-gpu", f"export TORCH_CUDA_ARCH_LIST={shlex.quote(wanted)}")
            yield warning(_CODE, "arch-list", remedies=(way,), vllm=vllm, listed=listed[:200], capability=str(capability))
            return


def _targets(listed: str) -> tuple[tuple[ComputeCapability, ...], tuple[ComputeCapability, ...]] | None:
    """Machine code and PTX that a list such as `8.0;9.0+PTX` asks for; None where it holds names or anything else."""
    code, ptx = [], []
    for word in re.split(r"[;,\s]+", listed.strip())[:_MOST]:
        found = compute_capability(word.removesuffix("+PTX"))
        if found is None:
            return None
        code.append(found)
        if word.endswith("+PTX"):
            ptx.append(found)
    return tuple(code), tuple(ptx)
