"""Decide who may come in and how a no is said: hosts, tokens, limits, errors."""
