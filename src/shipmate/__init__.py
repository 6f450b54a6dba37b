"""Run AI crew members that are defined in plain Markdown."""

__version__ = "0.1.0"
