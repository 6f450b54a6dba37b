"""Ways to confine a command, and the proof that one holds."""
