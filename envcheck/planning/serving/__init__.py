"""The serve configuration: arguments as a release takes them, the model's own needs, GPUs, engine, tokens."""
