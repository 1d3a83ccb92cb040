"""Floor 2: one file a fact, from the port to a value that says where it came from. Probes never judge."""
