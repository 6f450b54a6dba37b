"""The terminal: what a person at it is shown, asked and may type."""
