"""Every rule, in causal order: what stands first explains what stands below it.

The table in the documentation is made from this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules import (
    busy,
    container,
    driver,
    exposure,
    extensions,
    fabric,
    gpus,
    health,
    hidden,
    hub,
    initialisation,
    injection,
    installed,
    interpreter,
    kernel,
    loader,
    mig,
    mixed,
    module,
    native,
    nccl,
    nvml,
    packages,
    parallel,
    peers,
    precision,
    presence,
    resources,
    source_build,
    storage,
    wsl,
)
from envcheck.rules.situation import Situation


class Rule(msgspec.Struct, frozen=True):
    """A rule, the codes it may emit, and the facts of the host document it reads, by dotted path or part."""

    run: Callable[[Situation, Matrix], Iterator[Finding]]
    codes: tuple[str, ...]
    reads: tuple[str, ...]


# What is in the machine, its driver, its container: without these nothing starts, whatever is installed.
HOST_RULES = (
    Rule(
        injection.not_given,
        ("container-gpu-not-injected", "cuda-init-failed"),
        ("container", "gpus", "driver", "libcuda.path", "pci.devices"),
    ),
    Rule(
        presence.presence,
        (
            "no-gpu",
            "non-nvidia-accelerator",
            "driver-older-than-gpu",
            "nouveau-loaded",
            "secure-boot-blocks-module",
            "pci-bar-not-mapped",
            "open-kernel-module-required",
            "driver-not-loaded",
            "container-gpu-not-injected",
            "device-not-detected",
        ),
        ("gpus", "accelerators", "pci.devices", "kernel_modules", "kernel_log.events", "secure_boot", "driver", "container.kind"),
    ),
    Rule(gpus.kinds, ("non-nvidia-accelerator", "jetson-needs-special-build"), ("gpus", "accelerators")),
    Rule(mixed.mixed, ("mixed-gpus",), ("gpus", "packages.vllm")),
    Rule(
        nvml.nvml,
        (
            "nvml-driver-library-mismatch",
            "container-gpu-not-injected",
            "nvml-not-loadable",
            "driver-not-loaded",
            "gpu-fault",
            "container-device-access-lost",
            "device-not-detected",
        ),
        ("driver", "container.kind", "container.devices", "pci.devices", "kernel_log.events"),
    ),
    Rule(
        module.wrong_module,
        ("open-kernel-module-required", "device-not-detected"),
        ("driver.flavour", "kernel_modules.flavour_on_disk", "kernel_log.events", "gpus"),
    ),
    Rule(module.partly_unmapped, ("pci-bar-not-mapped",), ("pci.devices", "gpus", "kernel_log.events")),
    Rule(hidden.hidden, ("gpu-hidden",), ("environment.CUDA_VISIBLE_DEVICES", "container.environment", "gpus")),
    Rule(wsl.shadowed, ("wsl-driver-shadowed",), ("os.wsl", "libcuda")),
    Rule(health.faults, ("gpu-fault",), ("gpus",)),
    Rule(health.health, ("gpu-fault",), ("gpus",)),
    Rule(health.kernel_log, ("gpu-fault",), ("kernel_log", "gpus")),
    Rule(gpus.compute_mode, ("cuda-init-failed",), ("gpus", "processes")),
    Rule(mig.mig, ("device-not-detected", "mig-device-selection", "mig-memory"), ("gpus", "environment", "packages.vllm")),
    Rule(fabric.fabric, ("fabric-manager-not-ready",), ("fabric", "gpus", "container.kind")),
    Rule(driver.older_than_gpu, ("driver-older-than-gpu",), ("driver", "gpus")),
    Rule(driver.dropped_gpu, ("device-not-detected",), ("driver", "gpus")),
    Rule(
        container.compat_shadowing,
        ("cuda-compat-shadowing",),
        ("libcuda", "driver", "gpus", "container.image", "environment.LD_LIBRARY_PATH"),
    ),
    Rule(container.start_gate, ("container-requires-newer-cuda",), ("container.image", "container.environment", "driver", "gpus")),
    Rule(
        container.image_build,
        ("driver-too-old-for-cuda", "driver-too-old-for-ptx", "gpu-too-old", "gpu-arch-not-in-vllm-build"),
        ("container.image", "driver", "gpus"),
    ),
    Rule(container.image_code, ("gpu-arch-not-in-vllm-build",), ("container.image", "gpus")),
    Rule(injection.toolkit, ("container-toolkit-missing", "container-toolkit-too-old"), ("container_runtime", "driver.version", "os.wsl")),
    Rule(initialisation.cuda, ("cuda-init-failed",), ("libcuda", "observed.torch_cuda", "torch", "driver")),
    Rule(kernel.too_old, ("kernel-too-old",), ("os.kernel", "driver.version", "libcuda")),
    Rule(driver.known_bad, ("driver-known-bad",), ("driver.version", "gpus")),
)
# What is installed in the target interpreter; of a fresh environment these are warnings.
ENVIRONMENT_RULES = (
    Rule(interpreter.wrong_environment, ("wrong-environment",), ("package_problems", "environment.PYTHONPATH", "python.version")),
    Rule(
        loader.pollution,
        ("library-path-pollution",),
        ("loader_folders", "environment.LD_LIBRARY_PATH", "environment.LD_PRELOAD", "torch", "cudnn.copies", "nccl.copies"),
    ),
    Rule(installed.torch_build, ("torch-cpu-build",), ("torch", "packages", "gpus")),
    Rule(installed.vllm_build, ("vllm-extension-not-loaded",), ("packages.vllm", "gpus")),
    Rule(packages.modules, ("python-module-missing", "known-bad-package"), ("packages",)),
    Rule(installed.cuda_majors, ("cuda-major-mismatch",), ("packages.vllm", "torch")),
    Rule(installed.torch_pin, ("torch-vllm-mismatch",), ("packages.vllm", "torch")),
    Rule(installed.mixed_wheels, ("mixed-cuda-major-wheels",), ("packages",)),
    Rule(extensions.companions, ("torchvision-mismatch",), ("packages", "torch")),
    Rule(
        extensions.extensions,
        ("flash-attn-mismatch", "flashinfer-mismatch", "cuda-major-mismatch"),
        ("packages", "package_origins", "torch", "gpus"),
    ),
    Rule(extensions.flashinfer, ("flashinfer-mismatch",), ("packages",)),
    Rule(installed.torch_driver, ("driver-too-old-for-cuda", "gpu-arch-not-in-torch-build"), ("torch", "driver", "gpus")),
    Rule(extensions.assembler, ("triton-ptxas-too-old",), ("packages.triton", "torch", "gpus", "environment.TRITON_PTXAS_PATH")),
    Rule(native.nccl, ("nccl-mismatch",), ("nccl", "packages", "torch")),
    Rule(native.cudnn, ("cudnn-mismatch",), ("cudnn", "packages", "torch")),
    Rule(native.libstdcxx, ("libstdcxx-too-old",), ("python.libstdcxx", "os.libstdcxx", "packages.vllm")),
    Rule(packages.needs, ("transformers-mismatch", "numpy-mismatch"), ("packages",)),
    Rule(
        packages.faults,
        ("known-bad-package", "transformers-mismatch", "flash-attn-mismatch", "flashinfer-mismatch", "pynvml-shadowed"),
        ("packages",),
    ),
    Rule(interpreter.old_pynvml, ("pynvml-shadowed",), ("package_problems", "packages.pynvml")),
    Rule(
        packages.requirements,
        (
            "transformers-mismatch",
            "numpy-mismatch",
            "flash-attn-mismatch",
            "flashinfer-mismatch",
            "torch-vllm-mismatch",
            "dependency-conflict",
        ),
        ("packages",),
    ),
    Rule(
        source_build.source_build,
        ("source-build-cuda-mismatch",),
        ("package_origins", "toolkits", "torch", "environment.TORCH_CUDA_ARCH_LIST", "gpus"),
    ),
    Rule(installed.wanted_backend, ("torch-backend-mismatch",), ("environment", "driver", "gpus", "packages.vllm", "torch")),
)
# What matters once the stack itself is right.
LAST_RULES = (
    Rule(parallel.parallel_size, ("parallel-size-invalid",), ("gpus",)),
    Rule(precision.number_formats, ("fp8-unsupported-gpu", "quantization-unsupported-gpu"), ("gpus", "packages.vllm")),
    Rule(precision.bfloat16, ("bf16-unsupported-gpu",), ("gpus", "packages.vllm")),
    Rule(busy.busy, ("gpu-memory-busy",), ("gpus", "processes", "packages.vllm")),
    Rule(gpus.virtual, ("vgpu-limits",), ("gpus",)),
    Rule(peers.shared_memory, ("shm-too-small",), ("memory.shm_mib", "container.kind", "gpus", "topology")),
    Rule(peers.peer_access, ("p2p-broken",), ("pci", "topology", "gpus")),
    Rule(nccl.settings, ("nccl-misconfigured",), ("environment", "interconnect", "limits.memlock_mib", "gpus")),
    Rule(wsl.limits, ("wsl-limits",), ("os.wsl", "gpus")),
    Rule(storage.space, ("disk-full",), ("disk", "packages.vllm")),
    Rule(hub.model_hub, ("model-hub-unreachable",), ("network", "environment")),
    Rule(hub.registry, ("registry-unreachable",), ("network",)),
    Rule(resources.killed, ("host-memory-too-small",), ("kernel_log.events",)),
    Rule(resources.system_memory, ("host-memory-too-small",), ("memory", "gpus")),
    Rule(busy.uneven, ("gpu-load-uneven",), ("gpus", "processes")),
    Rule(busy.unified, ("gpu-memory-busy",), ("gpus",)),
    Rule(health.links, ("gpu-fault",), ("gpus",)),
    Rule(driver.end_of_life, ("driver-end-of-life",), ("driver.version",)),
    Rule(exposure.trust_remote_code, ("trust-remote-code",), ("packages.vllm",)),
)
# Codes that the judge itself, the survey of wheels, the engine's choice and the memory budget emit.
JUDGE_CODES: dict[str, tuple[str, ...]] = {
    "driver-too-old-for-cuda": ("driver", "libcuda"),
    "driver-too-old-for-ptx": ("driver", "gpus"),
    "driver-minor-compat": ("driver", "packages.vllm"),
    "gpu-too-old": ("gpus",),
    "gpu-arch-not-in-vllm-build": ("gpus", "packages.vllm"),
    "gpu-arch-not-in-torch-build": ("gpus",),
    "glibc-too-old": ("os.glibc",),
    "no-wheel-for-platform": ("os.arch", "os.glibc"),
    "python-unsupported": ("python.version",),
    "v1-unsupported-gpu": ("gpus", "environment"),
    "engine-choice-ignored": ("environment",),
    "compiler-missing-for-jit": ("python.compiler", "tools", "environment.CC", "packages.vllm"),
    "python-headers-missing": ("python.headers", "python.version", "packages.vllm"),
    "libcuda-symlink-missing": ("libcuda.path", "libcuda.development_link", "packages.triton", "torch.version"),
    "cuda-home-malformed": ("cuda_home", "environment.CUDA_HOME", "environment.CUDA_PATH"),
    "nvcc-missing-for-jit": ("toolkits", "tools", "packages", "gpus", "environment.VLLM_USE_FLASHINFER_SAMPLER"),
    "gcc-unsupported-by-nvcc": ("python.compiler", "toolkits"),
    "multiple-cuda-toolkits": ("toolkits", "torch.cuda"),
    "matrix-stale": ("packages.vllm",),
    "server-exposed": ("environment.VLLM_SERVER_DEV_MODE", "packages.vllm"),
    "release-vulnerable": ("packages.vllm", "torch.version", "driver.version", "container_runtime.toolkit"),
}


def rules() -> tuple[Rule, ...]:
    """Every rule, in order."""
    return (*HOST_RULES, *ENVIRONMENT_RULES, *LAST_RULES)


def reads_of(code: str) -> tuple[str, ...]:
    """The facts that a code rests on, by dotted path or part; empty for one of the memory budget."""
    paths = [path for rule in rules() if code in rule.codes for path in rule.reads]
    return tuple(dict.fromkeys((*paths, *JUDGE_CODES.get(code, ()))))
