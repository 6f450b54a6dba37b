"""Finding files and passages, by patterns that cannot run away."""
