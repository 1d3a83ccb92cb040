"""Log lines to findings: what the first cause of a failure is."""
