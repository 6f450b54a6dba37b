"""Show what was asked and done, take decisions, and try rules out."""
