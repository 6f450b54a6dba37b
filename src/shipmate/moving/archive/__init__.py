"""A whole workspace as one file without secrets, and back."""
