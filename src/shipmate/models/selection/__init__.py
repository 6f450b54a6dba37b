"""Choosing a model: what providers offer, what a model answers and reads, and keeping the choice."""
