"""Strangers' bytes, taken apart in a child process with limits of its own."""
