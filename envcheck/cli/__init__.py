"""Floor 8: the command. Wires, prints, exits; decides nothing."""
