"""Every rule, in causal order: what stands first explains what stands below it.

The table in the documentation is made from this one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import cast

import msgspec

from envcheck.matrix.load import Matrix
from envcheck.model.finding import Finding
from envcheck.rules import conditions as when
from envcheck.rules.situation import Situation

Function = Callable[[Situation, Matrix], Iterable[Finding]]


class Rule(msgspec.Struct, frozen=True):
    """A rule: `module.function` of this package, when it can apply, the codes it may emit, the facts it reads (dotted path or part)."""

    name: str
    when: Callable[[Situation], bool]
    codes: tuple[str, ...]
    reads: tuple[str, ...]

    def run(self, situation: Situation, matrix: Matrix) -> Iterable[Finding]:
        """The findings on a host; its module is loaded now, and not at all where the rule cannot apply."""
        return function(self.name)(situation, matrix) if self.when(situation) else ()


@cache
def function(name: str) -> Function:
    """The rule of that name."""
    module, _, inner = name.rpartition(".")
    name = f"envcheck.rules.{module}"
    __import__(name)  # the package importlib, for its function alone, would have to be loaded too
    return cast("Function", getattr(sys.modules[name], inner))


# What is in the machine, its driver, its container: without these nothing starts, whatever is installed.
HOST_RULES = (
    Rule("system.not_linux", when.foreign, ("no-wheel-for-platform",), ("os.name", "container", "packages.vllm")),
    Rule(
        "injection.not_given",
        when.contained,
        ("container-gpu-not-injected", "cuda-init-failed"),
        ("container", "gpus", "driver", "libcuda.path", "pci.devices"),
    ),
    Rule(
        "presence.presence",
        when.no_gpu,
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
    Rule("presence.no_driver", when.without_driver, ("driver-not-loaded",), ("driver", "gpus")),
    Rule("gpus.kinds", when.accelerator, ("non-nvidia-accelerator", "jetson-needs-special-build"), ("gpus", "accelerators")),
    Rule("mixed.mixed", when.different_gpus, ("mixed-gpus",), ("gpus", "packages.vllm")),
    Rule(
        "nvml.nvml",
        when.driver,
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
        "module.wrong_module",
        when.quiet_driver,
        ("open-kernel-module-required", "device-not-detected"),
        ("driver.flavour", "kernel_modules.flavour_on_disk", "kernel_log.events", "gpus"),
    ),
    Rule("module.partly_unmapped", when.unlisted_gpus, ("pci-bar-not-mapped",), ("pci.devices", "gpus", "kernel_log.events")),
    Rule("hidden.hidden", when.chosen_devices, ("gpu-hidden",), ("environment.CUDA_VISIBLE_DEVICES", "container.environment", "gpus")),
    Rule("wsl.shadowed", when.wsl, ("wsl-driver-shadowed",), ("os.wsl", "libcuda")),
    Rule("health.faults", when.gpu, ("gpu-fault",), ("gpus",)),
    Rule("health.health", when.gpu, ("gpu-fault",), ("gpus",)),
    Rule("health.kernel_log", when.log, ("gpu-fault",), ("kernel_log", "gpus")),
    Rule("gpus.compute_mode", when.gpu, ("cuda-init-failed",), ("gpus", "processes")),
    Rule("mig.mig", when.slices, ("device-not-detected", "mig-device-selection", "mig-memory"), ("gpus", "environment", "packages.vllm")),
    Rule("fabric.fabric", when.fabric, ("fabric-manager-not-ready",), ("fabric", "gpus", "container.kind")),
    Rule("driver.older_than_gpu", when.gpu, ("driver-older-than-gpu",), ("driver", "gpus")),
    Rule("driver.dropped_gpu", when.gpu, ("device-not-detected",), ("driver", "gpus")),
    Rule(
        "image_tag.image_tag",
        when.named_image,
        ("vllm-extension-not-loaded", "no-wheel-for-platform", "wheel-url-missing"),
        ("container.image", "os.arch", "gpus", "driver.nvml"),
    ),
    Rule(
        "container.compat_shadowing",
        when.libraries,
        ("cuda-compat-shadowing",),
        ("libcuda", "driver", "gpus", "container.image", "environment.LD_LIBRARY_PATH"),
    ),
    Rule(
        "container.start_gate",
        when.contained,
        ("container-requires-newer-cuda",),
        ("container.image", "container.environment", "driver", "gpus"),
    ),
    Rule(
        "image_build.image_build",
        when.named_image,
        ("driver-too-old-for-cuda", "driver-too-old-for-ptx", "gpu-too-old", "gpu-arch-not-in-vllm-build", "gpu-arch-not-in-torch-build"),
        ("container.image", "driver", "gpus"),
    ),
    Rule("image_build.image_code", when.named_image, ("gpu-arch-not-in-vllm-build",), ("container.image", "gpus")),
    Rule(
        "injection.toolkit",
        when.container_engines,
        ("container-toolkit-missing", "container-toolkit-too-old"),
        ("container_runtime", "driver.version", "os.wsl"),
    ),
    Rule("initialisation.cuda", when.cuda_seen, ("cuda-init-failed",), ("libcuda", "observed.torch_cuda", "torch", "driver")),
    Rule("kernel.too_old", when.always, ("kernel-too-old",), ("os.kernel", "driver.version", "libcuda")),
    Rule("driver.known_bad", when.driver, ("driver-known-bad",), ("driver.version", "gpus")),
)
# What is installed in the target interpreter; of a fresh environment these are warnings.
ENVIRONMENT_RULES = (
    Rule(
        "interpreter_kind.kind",
        when.odd_interpreter,
        ("python-unsupported",),
        ("python.implementation", "python.free_threaded", "python.bits", "python.version"),
    ),
    Rule(
        "interpreter.wrong_environment",
        when.package_set,
        ("wrong-environment",),
        ("package_problems", "environment.PYTHONPATH", "python.version"),
    ),
    Rule(
        "loader.pollution",
        when.loader_paths,
        ("library-path-pollution",),
        ("loader_folders", "environment.LD_LIBRARY_PATH", "environment.LD_PRELOAD", "torch", "cudnn.copies", "nccl.copies"),
    ),
    Rule("installed.torch_build", when.environment, ("torch-cpu-build",), ("torch", "packages", "gpus")),
    Rule("installed.vllm_build", when.vllm, ("vllm-extension-not-loaded",), ("packages.vllm", "gpus")),
    Rule("packages.modules", when.vllm, ("python-module-missing", "known-bad-package"), ("packages",)),
    Rule("installed.cuda_majors", when.vllm, ("cuda-major-mismatch",), ("packages.vllm", "torch")),
    Rule("installed.torch_pin", when.vllm, ("torch-vllm-mismatch",), ("packages.vllm", "torch")),
    Rule("installed.mixed_wheels", when.environment, ("mixed-cuda-major-wheels",), ("packages",)),
    Rule("extensions.companions", when.environment, ("torchvision-mismatch",), ("packages", "torch")),
    Rule(
        "extensions.extensions",
        when.environment,
        ("flash-attn-mismatch", "flashinfer-mismatch", "cuda-major-mismatch"),
        ("packages", "package_origins", "torch", "gpus"),
    ),
    Rule("extensions.flashinfer", when.environment, ("flashinfer-mismatch",), ("packages",)),
    Rule(
        "installed.torch_driver", when.environment, ("driver-too-old-for-cuda", "gpu-arch-not-in-torch-build"), ("torch", "driver", "gpus")
    ),
    Rule(
        "extensions.assembler",
        when.environment,
        ("triton-ptxas-too-old",),
        ("packages.triton", "torch", "gpus", "environment.TRITON_PTXAS_PATH"),
    ),
    Rule("native.nccl", when.environment, ("nccl-mismatch",), ("nccl", "packages", "torch")),
    Rule("native.cudnn", when.environment, ("cudnn-mismatch",), ("cudnn", "packages", "torch")),
    Rule("native.libstdcxx", when.vllm, ("libstdcxx-too-old",), ("python.libstdcxx", "os.libstdcxx", "packages.vllm")),
    Rule("packages.needs", when.package_set, ("transformers-mismatch", "numpy-mismatch"), ("packages",)),
    Rule(
        "packages.faults",
        when.package_set,
        ("known-bad-package", "transformers-mismatch", "flash-attn-mismatch", "flashinfer-mismatch", "pynvml-shadowed"),
        ("packages",),
    ),
    Rule("interpreter.old_pynvml", when.package_set, ("pynvml-shadowed",), ("package_problems", "packages.pynvml")),
    Rule(
        "packages.requirements",
        when.vllm,
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
        "source_build.source_build",
        when.origins,
        ("source-build-cuda-mismatch",),
        ("package_origins", "toolkits", "torch", "environment.TORCH_CUDA_ARCH_LIST", "gpus"),
    ),
    Rule(
        "installed.wanted_backend",
        when.installer_settings,
        ("torch-backend-mismatch",),
        ("environment", "driver", "gpus", "packages.vllm", "torch"),
    ),
)
# What matters once the stack itself is right.
LAST_RULES = (
    Rule("serve_flags.arguments", when.request, ("flag-not-in-release", "flag-value-invalid"), ("packages.vllm",)),
    Rule("serve_flags.variables", when.own_variables, ("flag-not-in-release",), ("environment", "packages.vllm")),
    Rule("architecture.known_to_release", when.request, ("model-unsupported-by-release",), ("packages.vllm",)),
    Rule("parallel.parallel_size", when.request, ("parallel-size-invalid",), ("gpus",)),
    Rule("precision.number_formats", when.request, ("fp8-unsupported-gpu", "quantization-unsupported-gpu"), ("gpus", "packages.vllm")),
    Rule("precision.bfloat16", when.gpu, ("bf16-unsupported-gpu",), ("gpus", "packages.vllm")),
    Rule("busy.busy", when.gpu, ("gpu-memory-busy",), ("gpus", "processes", "packages.vllm")),
    Rule("gpus.virtual", when.gpu, ("vgpu-limits",), ("gpus",)),
    Rule("peers.shared_memory", when.several_gpus, ("shm-too-small",), ("memory.shm_mib", "container.kind", "gpus", "topology")),
    Rule("peers.peer_access", when.several_gpus, ("p2p-broken",), ("pci", "topology", "gpus")),
    Rule("nccl.settings", when.links_of_nodes, ("nccl-misconfigured",), ("environment", "interconnect", "limits.memlock_mib", "gpus")),
    Rule("wsl.limits", when.wsl, ("wsl-limits",), ("os.wsl", "gpus")),
    Rule("storage.space", when.disks, ("disk-full",), ("disk", "packages.vllm")),
    Rule("hub.model_hub", when.hub, ("model-hub-unreachable",), ("network", "environment")),
    Rule("hub.registry", when.network, ("registry-unreachable",), ("network",)),
    Rule("resources.killed", when.log, ("host-memory-too-small",), ("kernel_log.events",)),
    Rule("resources.system_memory", when.gpu, ("host-memory-too-small",), ("memory", "gpus")),
    Rule("busy.uneven", when.gpu, ("gpu-load-uneven",), ("gpus", "processes")),
    Rule("busy.unified", when.gpu, ("gpu-memory-busy",), ("gpus",)),
    Rule("health.links", when.gpu, ("gpu-fault",), ("gpus",)),
    Rule("driver.end_of_life", when.driver, ("driver-end-of-life",), ("driver.version",)),
    Rule("exposure.trust_remote_code", when.request, ("trust-remote-code",), ("packages.vllm",)),
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
