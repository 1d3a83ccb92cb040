"""envcheck: from a bare GPU host to a running `vllm serve` at the first attempt."""

__version__ = "0.1.0"
