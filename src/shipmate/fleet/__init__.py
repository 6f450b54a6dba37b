"""Many processes that work one workspace: queue, roles and live deltas over PostgreSQL."""
