"""Makes a release choose its CUDA platform where no GPU is: runs in the release's environment, before anything of vLLM is imported.

What the platform asks NVML is answered by the stand-in on LD_LIBRARY_PATH. Compiled parts are empty modules, and a question to an operator
that is not there (does this GPU do cutlass FP8?) is answered yes. Good for arguments and the configuration; nothing can run.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

COMPILED = ("vllm._", "vllm.cumem_allocator", "vllm.vllm_flash_attn", "vllm.third_party.", "humming")
OTHER_PLATFORMS = ("rocm", "cpu", "xpu", "hpu")
OPERATORS = ("_C", "_moe_C", "_vllm_fa", "_qutlass", "_flashmla")
OF_TORCH = ("_cuda_getCurrentRawStream", "_cuda_getDevice", "_cuda_setDevice", "_cuda_exchangeDevice", "_cuda_maybeExchangeDevice")
OF_PROCESSORS = ("avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_fp16")  # as torch named its questions before 2.13


class Hollow(ModuleType):
    """A module that has everything: an attribute is an empty class or a function that does nothing, by its spelling."""

    def __getattr__(self, name: str) -> type | Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        found = type(name, (), {}) if name[:1].isupper() else lambda *args, **kwargs: None
        setattr(self, name, found)
        return found


class Finder:
    """Asked last, so only for what is not there: gives hollow modules in place of the compiled ones of a CUDA build."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for a compiled module's name; None for others."""
        if name.startswith(COMPILED) and not any(word in name for word in OTHER_PLATFORMS):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]  # a loader by its methods
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The hollow module."""
        return Hollow(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run; the file is one that is there."""
        module.__file__ = __file__


def _answer_operators() -> None:
    import torch._ops
    import torch.library

    names = torch._ops._OpNamespace
    real = names.__getattr__

    def answered(self: Any, name: str) -> Any:
        try:
            return real(self, name)
        except AttributeError:
            if name.startswith("__") or not self.name.startswith(OPERATORS):
                raise
            return lambda *args, **kwargs: True

    names.__getattr__ = answered
    register = torch.library.register_fake

    def registered(operator: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(operator, str) and operator.startswith(OPERATORS):
            return lambda function: function
        return register(operator, *args, **kwargs)

    torch.library.register_fake = registered


def _have_memory(ram_mib: int) -> None:
    """Old releases hold the swap space against the machine's memory, which is the host's only here."""
    import psutil

    real = psutil.virtual_memory
    psutil.virtual_memory = lambda: real()._replace(total=ram_mib << 20)


def pretend(ram_mib: int) -> None:
    """Everything at once; `ram_mib` = the memory of the host that is played."""
    import torch
    import torch._inductor.compile_fx  # before old releases put a stand-in of their own where triton is missing

    sys.meta_path.append(Finder())  # type: ignore[arg-type]  # a finder by its method
    for name in OF_TORCH:
        if not hasattr(torch._C, name):
            setattr(torch._C, name, lambda *args, **kwargs: 0)
    for name in OF_PROCESSORS:
        if not hasattr(torch._C._cpu, f"_is_{name}_supported"):
            setattr(torch._C._cpu, f"_is_{name}_supported", lambda: True)
    torch.cuda._is_compiled = lambda: True
    torch.cuda.device_count = torch.cuda._device_count_nvml
    torch.version.cuda = os.environ.get("ENVCHECK_REAL_CUDA", "12.9")
    _answer_operators()
    _have_memory(ram_mib)


def lend_triton(stand_in: ModuleType) -> None:
    """What a release puts in triton's place, for those of its modules that import triton itself."""
    if "triton" not in sys.modules:
        sys.modules.update({"triton": stand_in.triton, "triton.language": stand_in.tl})
