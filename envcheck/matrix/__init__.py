"""Floor 2: the border to the facts under `matrices/`: records, loading with error paths, look-ups."""
