"""Find what a request cost."""
