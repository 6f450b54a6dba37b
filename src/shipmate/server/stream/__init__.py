"""Show messages to clients: as pages, and as streams that are projections of the stored message."""
