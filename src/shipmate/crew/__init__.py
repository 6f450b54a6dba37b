"""Members together, and members that are programs of others."""
