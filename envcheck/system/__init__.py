"""Floor 1: the only door to the host."""
