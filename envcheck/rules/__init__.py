"""Floor 4: what a host, the matrix and a request mean together. Rules return findings; they never print and never touch the host."""
