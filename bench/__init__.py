"""Measure what the documents promise."""
