"""What the parsers' listings do not say of values: fields of JSON arguments, short numbers, and what numbers an argument takes.

Fields: vllm/config of the releases on both sides of each change. Numbers: the checks of vllm/config and vllm/engine/arg_utils.py.
"""

FIELDS = {
    "--eplb-log-balancedness": "log_balancedness",
    "--eplb-step-interval": "step_interval",
    "--eplb-window-size": "window_size",
    "--guided-decoding-backend": "backend",
    "--ngram-prompt-lookup-max": "prompt_lookup_max",
    "--ngram-prompt-lookup-min": "prompt_lookup_min",
    "--num-redundant-experts": "num_redundant_experts",
    "--num-speculative-tokens": "num_speculative_tokens",
    "--rope-scaling": "rope_scaling",
    "--rope-theta": "rope_theta",
    "--speculative-model": "model",
    "--structured-outputs-config": "backend",
}
SHORT_NUMBERS = {"--kv-cache-memory-bytes": [], "--max-model-len": [">=0.8.4"], "--max-num-batched-tokens": []}
NUMBERS = [
    {"name": "--block-size", "least": 1},
    {"name": "--cpu-offload-gb", "whole": False, "least": 0},
    {"name": "--data-parallel-size", "least": 1},
    {"name": "--gpu-memory-utilization", "whole": False, "above": 0, "most": 1},
    {"name": "--max-logprobs", "least": -1},
    {"name": "--max-lora-rank", "least": 1},
    {"name": "--max-loras", "least": 1},
    {"name": "--max-model-len", "least": 1, "words": {"auto": [">=0.14.0"], "-1": [">=0.14.0"]}},
    {"name": "--max-num-batched-tokens", "least": 1},
    {"name": "--max-num-seqs", "least": 1},
    {"name": "--num-gpu-blocks-override", "least": 0},
    {"name": "--port", "least": 0, "most": 65535},
    {"name": "--seed"},
    {"name": "--swap-space", "whole": False, "least": 0},
]
