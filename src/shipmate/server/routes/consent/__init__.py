"""Show what was asked, take decisions, and try rules out."""
