"""Commands: how they are started, kept and confined."""
