"""Floor 3: pure arithmetic over a model's dimensions, a GPU and the settings of `vllm serve`. Nothing here reads the host."""
