"""Rehearse scripts: read what is expected, compare it with what was performed, and report."""
