"""Whole outputs of installers, compilers and the dynamic loader: several lines tell of one failure, and its first cause is named."""

from __future__ import annotations

import pytest

from envcheck.diagnosis.diagnose import diagnose_text
from envcheck.matrix.load import load

MATRIX = load()
LOGS = {
    "python refuses": (
        "python-unsupported",
        (
            "ERROR: Ignored the following versions that require a different python version: 0.10.0 Requires-Python >=3.9,<3.13",
            "ERROR: Could not find a version that satisfies the requirement vllm==0.10.0 (from versions: 0.1.4, 0.6.3.post1)",
            "ERROR: No matching distribution found for vllm==0.10.0",
        ),
    ),
    "no file fits": (
        "no-wheel-for-platform",
        (
            "ERROR: Could not find a version that satisfies the requirement vllm==0.10.0 (from versions: none)",
            "ERROR: No matching distribution found for vllm==0.10.0",
        ),
    ),
    "uv, wrapped": (
        "dependency-conflict",
        (
            "  × No solution found when resolving dependencies:",
            "  ╰─▶ Because vllm==0.10.0 depends on torch==2.7.1 and you require torch==2.8.0, we can conclude that",
            "      vllm==0.10.0 cannot be used.",
            "      And because you require vllm==0.10.0, we can conclude that your requirements are unsatisfiable.",
        ),
    ),
    "uv, one line": (
        "dependency-conflict",
        (
            "error: No solution found when resolving dependencies",
            "  cause: Because vllm==0.10.0 depends on torch==2.7.1 and you require vllm==0.10.0, so torch==2.7.1.",
            "         And because you require torch==2.8.0, we can conclude that your requirements are unsatisfiable.",
        ),
    ),
    "uv, python wrapped": (
        "python-unsupported",
        (
            "  × No solution found when resolving dependencies:",
            "  ╰─▶ Because the current Python version (3.8.18) does not satisfy",
            "      Python>=3.9 and vllm==0.10.0 depends on Python>=3.9, we can conclude",
            "      that vllm==0.10.0 cannot be used.",
        ),
    ),
    "colon in CUDA_HOME": (
        "cuda-home-malformed",
        (
            "[1/3] :/usr/local/cuda-12.8/bin/nvcc --generate-dependencies-with-compile --dependency-output a.d",
            "FAILED: a.cuda.o",
            "/bin/sh: 1: :/usr/local/cuda-12.8/bin/nvcc: not found",
            "ninja: build stopped: subcommand failed.",
            "subprocess.CalledProcessError: Command '['ninja', '-v', '-C', '/root/.cache/flashinfer']' returned non-zero exit status 1.",
            "RuntimeError: Ninja build failed. Ninja output:",
        ),
    ),
    "Python.h": (
        "python-headers-missing",
        (
            "/tmp/tmpx/main.c:4:10: fatal error: Python.h: No such file or directory",
            "compilation terminated.",
            "Traceback (most recent call last):",
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpx/main.c', '-lcuda']' returned non-zero exit status 1.",
            "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        ),
    ),
    "libcuda link": (
        "libcuda-symlink-missing",
        (
            "/usr/bin/ld: cannot find -lcuda: No such file or directory",
            "collect2: error: ld returned 1 exit status",
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc', '/tmp/tmpx/main.c', '-O3']' returned non-zero exit status 1.",
        ),
    ),
    "extension of another CUDA": (
        "cuda-major-mismatch",
        (
            "WARNING 01-01 01:01:01 Failed to import from vllm._C with ImportError('libcudart.so.12: cannot open shared object file')",
            "ERROR 01-01 01:01:01 [core.py:100] AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'",
            "RuntimeError: Engine core initialization failed. See root cause above.",
        ),
    ),
    "compiler killed": (
        "host-memory-too-small",
        (
            "[12/300] Building CUDA object",
            "FAILED: x.o",
            "g++: fatal error: Killed signal terminated program cc1plus",
            "compilation terminated.",
            "ninja: build stopped: subcommand failed.",
            "RuntimeError: Error compiling objects for extension",
            "ERROR: Failed building wheel for vllm",
        ),
    ),
    "gcc too new": (
        "gcc-unsupported-by-nvcc",
        (
            "FAILED: x.o",
            "host_config.h:143:2: error: #error -- unsupported GNU version! gcc versions later than 12 are not supported!",
            "ninja: build stopped: subcommand failed.",
            "RuntimeError: Error compiling objects for extension",
        ),
    ),
    "no compiler": (
        "compiler-missing-for-jit",
        (
            "ERROR 01-01 01:01:01 [core.py:1] EngineCore failed to start.",
            "ERROR 01-01 01:01:01 [core.py:1] torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:",
            "ERROR 01-01 01:01:01 [core.py:1] RuntimeError: Failed to find C compiler. Please specify via CC environment variable",
            "RuntimeError: Engine core initialization failed. See root cause above.",
        ),
    ),
    "no wheel, so source": (
        "no-wheel-for-platform",
        (
            "  × Getting requirements to build wheel did not run successfully.",
            "  │ exit code: 1",
            "  ╰─> [20 lines of output]",
            "      RuntimeError: Unknown runtime environment",
            "error: subprocess-exited-with-error",
        ),
    ),
    "build isolation": (
        "source-build-cuda-mismatch",
        (
            "  × Getting requirements to build wheel did not run successfully.",
            "  │ exit code: 1",
            "      ModuleNotFoundError: No module named 'torch'",
            "error: metadata-generation-failed",
        ),
    ),
    "transformers too old": (
        "transformers-mismatch",
        (
            "Traceback (most recent call last):",
            '  File "/x/vllm/transformers_utils/config.py", line 3',
            "ImportError: cannot import name 'Qwen3VLConfig' from 'transformers' (/x/transformers/__init__.py)",
            "The above exception was the direct cause of the following exception:",
            "RuntimeError: Failed to import transformers.models.qwen3_vl because of the following error (look up to see its traceback):",
        ),
    ),
    "torchvision of another torch": (
        "torchvision-mismatch",
        (
            "RuntimeError: operator torchvision::nms does not exist",
            "The above exception was the direct cause of the following exception:",
            "RuntimeError: Failed to import transformers.models.clip because of the following error (look up to see its traceback):",
            "ModuleNotFoundError: Could not import module 'PreTrainedModel'. Are this object's requirements defined correctly?",
        ),
    ),
    "disk full": (
        "disk-full",
        (
            "Downloading torch-2.7.1 (821.2 MB)",
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        ),
    ),
    "index not reached by pip": (
        "mirror-missing-package",
        (
            "Looking in indexes: https://mirror.example.com/simple",
            "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError: name resolution': /simple/vllm/",
            "ERROR: Could not find a version that satisfies the requirement vllm (from versions: none)",
            "ERROR: No matching distribution found for vllm",
        ),
    ),
    "index not reached by uv": (
        "mirror-missing-package",
        (
            "error: Request failed after 3 retries in 11.7s",
            "  cause: Failed to fetch: https://pypi.example.com/simple/vllm/",
            "  cause: error sending request for url (https://pypi.example.com/simple/vllm/)",
            "  cause: client error (Connect)",
            "  cause: dns error",
            "  cause: failed to lookup address information: Temporary failure in name resolution",
        ),
    ),
    "numpy": (
        "numpy-mismatch",
        (
            "A module that was compiled using NumPy 1.x cannot be run in",
            "NumPy 2.2.6 as it may crash. To support both 1.x and 2.x",
            "Traceback (most recent call last):",
            "AttributeError: _ARRAY_API not found",
            "ImportError: numpy.core.multiarray failed to import",
        ),
    ),
    "externally managed": (
        "wrong-environment",
        (
            "error: externally-managed-environment",
            "× This environment is externally managed",
            "╰─> To install Python packages system-wide, try apt install",
        ),
    ),
    "extension of another torch": (
        "torch-vllm-mismatch",
        (
            "Traceback (most recent call last):",
            '  File "/x/vllm/platforms/cuda.py", line 18, in <module>',
            "    import vllm._C  # noqa",
            "ImportError: /x/vllm/_C.abi3.so: undefined symbol: _ZN3c1013MessageLoggerC1EPKciib",
        ),
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_the_first_cause_is_named_and_what_follows_from_it_is_not(name: str) -> None:
    code, lines = LOGS[name]
    assert [finding.code for finding in diagnose_text("\n".join(lines) + "\n", MATRIX).findings] == [code]


QUIET = (
    "UserWarning: Failed to load image Python extension: 'libjpeg.so.8: cannot open shared object file: No such file or directory'",
    "UserWarning: The detected CUDA version (12.9) has a minor version mismatch with the version that was used to compile PyTorch (12.8).",
    "FutureWarning: The pynvml package is deprecated. Please install nvidia-ml-py instead.",
    "WARNING: Running pip as the 'root' user can result in broken permissions and conflicting behaviour with the system package manager.",
    "[1/20] /usr/local/cuda/bin/nvcc --generate-dependencies-with-compile --dependency-output x.cuda.o.d -c x.cu",
    "-- Could NOT find nvtx3 (missing: nvtx3_dir)",
    "Requirement already satisfied: numpy<2.0 in ./env/lib/python3.12/site-packages (1.26.4)",
)


@pytest.mark.parametrize("line", QUIET)
def test_what_sound_installations_print_is_no_cause(line: str) -> None:
    assert diagnose_text(line + "\n", MATRIX).findings == ()
