import msgspec
import pytest

from envcheck.probes import environment
from envcheck.probes.redact import redacted


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("HF_TOKEN", "hf_abc", "***"),
        ("VLLM_API_KEY", "12345", "***"),
        ("UV_INDEX_PRIVATE_PASSWORD", "p", "***"),
        ("VLLM_MAX_TOKENS_PER_EXPERT_FUSED_MOE", "16384", "16384"),
        ("VLLM_MAX_TOKENS_SECRET", "hunter2", "***"),
        ("PIP_INDEX_URL", "https://me:hunter2@mirror.example/simple?token=abc#frag", "https://***@mirror.example/simple?***"),
        ("PIP_EXTRA_INDEX_URL", "https://a.example/s https://u:p@b.example/s", "https://a.example/s https://***@b.example/s"),
        ("https_proxy", "user:pass@10.0.0.1:3128", "***@10.0.0.1:3128"),
        ("http_proxy", "http://10.0.0.1:3128", "http://10.0.0.1:3128"),
        ("HF_ENDPOINT", "https://hf-mirror.com", "https://hf-mirror.com"),
        ("HF_TOKEN", "", ""),
    ],
)
def test_secrets_stay_on_the_host(name, value, shown):
    assert redacted(name, value) == shown


@pytest.mark.parametrize("option", ["--api-key sk-1", "--api-key=sk-1", "--hf-token  sk-1"])
def test_a_secret_among_arguments_stays_on_the_host(option):
    assert "sk-1" not in redacted("VLLM_ARGS", f"{option} --port 80")
    assert redacted("VLLM_ARGS", f"{option} --port 80").endswith("*** --port 80")


def test_numbers_of_tokens_among_arguments_are_no_secrets():
    assert redacted("VLLM_ARGS", "--max-num-batched-tokens 8192") == "--max-num-batched-tokens 8192"


def test_only_variables_that_decide(look):
    env = {"CUDA_VISIBLE_DEVICES": "0,1", "no_proxy": "localhost", "AWS_SECRET_ACCESS_KEY": "x", "PS1": "$", "LD_LIBRARY_PATH": "/opt/lib"}
    assert environment.probe(look(env=env))["environment"].value == {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "LD_LIBRARY_PATH": "/opt/lib",
        "no_proxy": "localhost",
    }


@pytest.mark.parametrize(
    "name",
    [
        *("VLLM_USE_V1", "HF_ENDPOINT", "NCCL_DEBUG", "CUDA_HOME", "TORCH_CUDA_ARCH_LIST", "PYTORCH_CUDA_ALLOC_CONF", "RAY_ADDRESS"),
        *("TRITON_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "XDG_CACHE_HOME", "UV_DEFAULT_INDEX"),
        *("PIP_INDEX_URL", "CONDA_PREFIX", "MODELSCOPE_CACHE", "LD_PRELOAD", "PYTHONHOME", "SLURM_JOB_ID", "https_proxy", "ALL_PROXY"),
    ],
)
def test_variables_that_decide(name):
    assert environment.decides(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "USER", "HOME", "SLURM_JOB_USER", "SLURM_JOB_NODELIST", "XDG_SESSION_ID", "OLDPWD", "CUDAX", "VLLM_" + "x" * 200, "UV_\n"],
)
def test_variables_that_do_not(name):
    assert not environment.decides(name)


@pytest.mark.parametrize("name", ["KUBERNETES_SERVICE_HOST", "VLLM_HOST_IP", "RAY_ADDRESS", "NCCL_SOCKET_ADDR"])
def test_of_an_address_only_that_it_is_set(look, name):
    assert environment.probe(look(env={name: "10.96.0.1"}))["environment"].value == {name: "***"}
    assert environment.probe(look(env={}))["environment"].value == {}


def test_bytes_that_are_no_text_can_still_be_written_as_json(look):
    shown = environment.probe(look(env={"VLLM_X": "a\udcffb", "VLLM_Y": "y" * 5000}))["environment"].value
    assert b"VLLM_X" in msgspec.json.encode(shown)
    assert len(shown["VLLM_Y"]) <= 2000


def test_a_flood_of_variables_is_bounded(look):
    assert len(environment.probe(look(env={f"VLLM_{number}": "1" for number in range(5000)}))["environment"].value) == 300
