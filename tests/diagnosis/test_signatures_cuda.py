"""Whole logs of drivers, GPUs and containers: what is named first is what failed first, and what is no failure is not named."""

from __future__ import annotations

import pytest

from envcheck.diagnosis.diagnose import diagnose_text
from envcheck.matrix.load import Matrix, load

MATRIX: Matrix = load()


def told(log: str) -> list[str]:
    """The codes of the findings, the first cause first."""
    return [finding.code for finding in diagnose_text(log, MATRIX).findings]


BLACKWELL = """\
[    4.101] nvidia: loading out-of-tree module taints kernel.
[    4.202] nvidia: module verification failed: signature and/or required key missing - tainting kernel
[    4.311] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  575.57.08  Sat May 24 07:25:16 UTC 2025
[    4.402] NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)
[    4.402] NVRM: installed in this system requires use of the NVIDIA open kernel modules.
[    4.411] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)
[    4.412] NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0
[    4.420] nvidia: probe of 0000:01:00.0 failed with error -1
[    4.421] NVRM: The NVIDIA probe routine failed for 1 device(s).
[    4.421] NVRM: None of the NVIDIA devices were initialized.
"""
UNKNOWN_CARD = """\
NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2c02)
NVRM: installed in this system is not supported by the
NVRM: NVIDIA 550.54.14 driver release.
NVRM: Please see 'Appendix A - Supported NVIDIA GPU Products'
NVRM: in this release's README, available on the operating system
NVRM: None of the NVIDIA devices were initialized.
"""
FALLEN = """\
kernel: NVRM: GPU at PCI:0000:81:00: GPU-8f2a1c2d-5ad9-a5bd-1c2d-3e4f5a6b7c8d
kernel: NVRM: Xid (PCI:0000:81:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
vllm[2211]: (EngineCore_DP0 pid=2300) RuntimeError: CUDA error: unspecified launch failure
vllm[2211]: (EngineCore_DP0 pid=2300) Search for `cudaErrorLaunchFailure' in https://docs.nvidia.com/cuda/ for more information.
"""
TORCH_WARNS = """\
/opt/venv/lib/python3.12/site-packages/torch/cuda/__init__.py:235: UserWarning:
NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.
If you want to use the NVIDIA GeForce RTX 5090 GPU with PyTorch, please check the instructions at https://pytorch.org/get-started/locally/

  warnings.warn(
INFO 07-02 10:00:01 [cuda.py:275] Using FlashAttention backend.
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 141, in init_device
    torch.zeros(1, device=self.device)
RuntimeError: CUDA error: no kernel image is available for execution on the device
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.
"""
VLLM_KERNEL = """\
ERROR 07-02 10:00:01 [core.py:586]   File "/opt/venv/lib/python3.12/site-packages/vllm/_custom_ops.py", line 311, in rms_norm
ERROR 07-02 10:00:01 [core.py:586]     torch.ops._C.rms_norm(out, input_contiguous, weight, epsilon)
ERROR 07-02 10:00:01 [core.py:586] RuntimeError: CUDA error: no kernel image is available for execution on the device
"""
PLATFORM = """\
DEBUG 11-30 09:12:44 [__init__.py:35] Checking if CUDA platform is available.
DEBUG 11-30 09:12:44 [__init__.py:89] Exception happens when checking CUDA platform: RM has detected an NVML/RM version mismatch.
DEBUG 11-30 09:12:44 [__init__.py:106] CUDA platform is not available because: RM has detected an NVML/RM version mismatch.
INFO 11-30 09:12:44 [__init__.py:220] No platform detected, vLLM is running on UnspecifiedPlatform
RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG`
"""
DOCKER = """\
Unable to find image 'vllm/vllm-openai:v0.14.1' locally
v0.14.1: Pulling from vllm/vllm-openai
docker: Error response from daemon: failed to create task for container: failed to create shim task: OCI runtime create failed: \
runc create failed: unable to start container process: error during container init: error running prestart hook #0: exit status 1, \
stdout: , stderr: Auto-detected mode as 'legacy'
nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.9, please update your driver
"""
PEERS = """\
ERROR 05-01 [multiproc_executor.py:511]   File "/opt/venv/lib/python3.12/site-packages/vllm/_custom_ops.py", line 1744, in open_ipc_handles
Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:368 'invalid argument'
"""


@pytest.mark.parametrize(
    ("log", "first"),
    [
        (BLACKWELL, "open-kernel-module-required"),
        (UNKNOWN_CARD, "driver-older-than-gpu"),
        (FALLEN, "gpu-fault"),
        (TORCH_WARNS, "gpu-arch-not-in-torch-build"),
        (VLLM_KERNEL, "gpu-arch-not-in-vllm-build"),
        (PLATFORM, "nvml-driver-library-mismatch"),
        (DOCKER, "container-requires-newer-cuda"),
        (PEERS, "p2p-broken"),
    ],
)
def test_the_first_cause_of_a_whole_log(log: str, first: str) -> None:
    assert told(log)[:1] == [first]


@pytest.mark.parametrize("log", [FALLEN, TORCH_WARNS, VLLM_KERNEL, PLATFORM, DOCKER, PEERS])
def test_what_follows_from_it_is_not_told_too(log: str) -> None:
    assert len(told(log)) == 1


def test_what_a_card_without_nvlink_says_is_no_cause() -> None:
    log = """\
ERROR 05-01 12:00:00 [cuda.py:837] NVLink detection failed. This is normal if your machine has no NVLink equipped.
ERROR 05-01 12:00:00 [cuda.py:837] vllm.third_party.pynvml.NVMLError_NotSupported: Not Supported
INFO 05-01 12:00:09 [api_server.py:1219] Starting vLLM API server on http://127.0.0.1:8000
"""
    assert told(log) == []


def test_a_jetson_without_nvml_is_told_by_what_stands_before() -> None:
    line = "pynvml.NVMLError_NotSupported: Not Supported\n"
    assert told("Linux ubuntu 5.15.148-tegra aarch64\n" + line) == ["jetson-needs-special-build"]
    assert told("Linux ubuntu 5.15.0-91-generic x86_64\n" + line) == []


def test_an_application_s_xid_gives_way_to_the_application_s_own_error() -> None:
    xid = "kernel: NVRM: Xid (PCI:0000:81:00): 31, pid=9321, name=VLLM::EngineCor, Ch 0000000e, intr 00000000. MMU Fault\n"
    own = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    assert told(xid) == ["gpu-fault"]
    assert told(xid + own) == ["gpu-arch-not-in-torch-build"]


@pytest.mark.parametrize(
    "line",
    [
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.",
        "WARNING 05-01 12:00:00 [custom_all_reduce.py:137] Custom allreduce is disabled because your platform lacks GPU P2P capability.",
        "WARNING 05-01 12:00:00 [interface.py:391] Using 'pin_memory=False' as WSL is detected. This may slow down the performance.",
        "FutureWarning: The pynvml package is deprecated. Please install nvidia-ml-py instead.",
        "WARNING 05-01 12:00:00 [arg_utils.py:1658] Compute Capability < 8.0 is not supported by the V1 Engine. Falling back to V0.",
        "WARNING 05-01 12:00:00 [config.py:1] Your device 'Tesla T4' doesn't support torch.bfloat16. Falling back to torch.float16.",
        "WARNING 05-01 12:00:00 [marlin_utils_fp8.py:83] Your GPU does not have native support for FP8 computation.",
        "nvidia: module verification failed: signature and/or required key missing - tainting kernel",
        "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link",
    ],
)
def test_what_is_said_on_healthy_hosts_is_no_cause(line: str) -> None:
    assert told(line + "\n") == []
