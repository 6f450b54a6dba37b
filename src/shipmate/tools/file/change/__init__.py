"""Changing files: exactly what was approved, all or none, and back again."""
